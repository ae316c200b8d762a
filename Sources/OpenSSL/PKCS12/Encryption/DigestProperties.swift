internal import COpenSSL

/// What OpenSSL knows of a digest, by name or dotted identifier.
struct DigestProperties {
    let name: String
    let size: Int
    let context: LibraryContext

    init?(_ fetchName: String) {
        for context in [LibraryContext.standard, .legacy] {
            guard let digest = unsafe EVP_MD_fetch(context.pointer, fetchName, nil) else { continue }
            defer { unsafe EVP_MD_free(digest) }
            self.context = context
            name = unsafe EVP_MD_get0_name(digest).map { unsafe String(cString: $0) } ?? fetchName
            size = Int(unsafe EVP_MD_get_size(digest))
            // Extendable-output functions make no HMAC.
            guard unsafe EVP_MD_get_flags(digest) & UInt(EVP_MD_FLAG_XOF) == 0, size > 0 else { return nil }
            return
        }
        OpenSSLError.discardQueue()
        return nil
    }
}

/// Names of digests for people.
enum DigestName {
    /// `SHA-256` for OpenSSL's `SHA256` or `SHA2-256`.
    static func display(_ name: String) -> String {
        switch name.uppercased().replacing("SHA2-", with: "SHA") {
        case "SHA1", "SHA-1": "SHA-1"
        case "SHA512-224", "SHA512/224": "SHA-512/224"
        case "SHA512-256", "SHA512/256": "SHA-512/256"
        case let other where other.hasPrefix("SHA3-"): other
        case let other where other.hasPrefix("SHA"): "SHA-" + other.dropFirst(3)
        case let other: other
        }
    }
}
