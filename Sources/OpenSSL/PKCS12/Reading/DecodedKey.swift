internal import SecretMemory
internal import SwiftASN1

/// What the octets of a private key turned out to be.
enum DecodedKey {
    case usable(PrivateKey)
    /// `refusal` says why a key that OpenSSL has was not loaded.
    case unusable(oid: String, name: String, refusal: String?)
    /// A PrivateKeyInfo of a known kind with wrong contents.
    case damaged

    /// nil where the octets are no PrivateKeyInfo at all, as after decrypting with a wrong password.
    init?(_ info: SecretBytes) {
        do {
            self = .usable(try PrivateKey(pkcs8: info))
        } catch {
            guard let oid = info.withTransientArray({ Self.algorithm(of: $0) }) else { return nil }
            let name = ObjectIdentifierName.name(of: oid)
            switch error.code {
            case .malformedKey: self = .damaged
            case .costlyKey: self = .unusable(oid: oid, name: name, refusal: error.reason)
            default: self = .unusable(oid: oid, name: name, refusal: nil)
            }
        }
    }

    /// The algorithm of a PrivateKeyInfo (RFC 5208, 5).
    private static func algorithm(of info: [UInt8]) -> String? {
        guard let root = try? BER.parse(info), var fields = try? root.children(at: ""),
            fields.next()?.identifier == .integer, let algorithm = fields.next(),
            fields.next()?.identifier == .octetString
        else { return nil }
        return try? AlgorithmIdentifier(algorithm, at: "").oid
    }
}
