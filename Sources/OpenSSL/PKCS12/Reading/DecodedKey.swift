internal import SecretMemory
internal import SwiftASN1

/// The result of decoding the octets of a private key.
enum DecodedKey {
    /// The key was loaded.
    case usable(PrivateKey)
    /// The key was not loaded. If loading would require too much work, `refusal` is the reason; if OpenSSL lacks the
    /// algorithm, `refusal` is nil.
    case unusable(oid: String, name: String, refusal: String?)
    /// The octets are a PrivateKeyInfo of a supported algorithm, but its contents are invalid.
    case damaged

    /// Decodes a PrivateKeyInfo; nil if the octets are not a PrivateKeyInfo, as after decryption with a wrong password.
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

    /// Returns the algorithm of a PrivateKeyInfo (RFC 5208, 5) as a dotted identifier; nil if the octets are not a
    /// PrivateKeyInfo.
    private static func algorithm(of info: [UInt8]) -> String? {
        guard let root = try? BER.parse(info), var fields = try? root.children(at: ""),
            fields.next()?.identifier == .integer, let algorithm = fields.next(),
            fields.next()?.identifier == .octetString
        else { return nil }
        return try? AlgorithmIdentifier(algorithm, at: "").oid
    }
}
