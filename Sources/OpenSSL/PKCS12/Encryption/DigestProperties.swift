internal import COpenSSL

/// The properties of a digest that OpenSSL supports.
struct DigestProperties {
    /// OpenSSL's name, such as `SHA2-256`.
    let name: String
    /// The size of a digest, in octets.
    let size: Int
    /// The OpenSSL providers that have the digest.
    let context: LibraryContext

    /// Finds a digest by name or dotted identifier, first in the default provider and then in the legacy one.
    ///
    /// Nil if neither provider has the digest, or if it is an extendable-output function, which HMAC cannot use.
    init?(_ fetchName: String) {
        for context in [LibraryContext.standard, .legacy] {
            guard let digest = unsafe EVP_MD_fetch(context.pointer, fetchName, nil) else {
                OpenSSLError.discardQueue()
                continue
            }
            defer { unsafe EVP_MD_free(digest) }
            self.context = context
            name = unsafe EVP_MD_get0_name(digest).map { unsafe String(cString: $0) } ?? fetchName
            size = Int(unsafe EVP_MD_get_size(digest))
            guard unsafe EVP_MD_get_flags(digest) & UInt(EVP_MD_FLAG_XOF) == 0, size > 0 else { return nil }
            return
        }
        return nil
    }
}

/// Readable names of digests.
enum DigestName {
    /// The usual name of a digest: `SHA-256` for OpenSSL's `SHA256` or `SHA2-256`.
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
