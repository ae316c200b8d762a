internal import SecretMemory
internal import SwiftASN1

/// The result of decoding the octets of a private key.
enum DecodedKey {
    /// The key was loaded.
    case usable(PrivateKey)
    /// The key was not loaded. If loading would require too much work, `refusal` is the reason; if OpenSSL lacks the
    /// algorithm, `refusal` is nil. OpenSSL 3.0 does not read keys of version 1 (RFC 5958), which contain their public
    /// half; their name includes the version.
    case unusable(oid: String, name: String, refusal: String?, isVersion1: Bool)
    /// The octets are a PrivateKeyInfo of a supported algorithm, but its contents are invalid.
    case damaged

    /// Decodes a PrivateKeyInfo. Nil if the octets are not a PrivateKeyInfo, as after decryption with a wrong password,
    /// or if they consist of more than `PKCS12Limits.objects` objects.
    init?(_ info: SecretBytes) {
        let most = PKCS12Limits.objects
        guard unsafe info.withUnsafeBytes({ unsafe ObjectHeader.upperBound(in: $0, most: most) }) <= most
        else {
            return nil
        }
        do {
            self = .usable(try PrivateKey(pkcs8: info))
        } catch {
            guard let (version, oid) = info.withTransientArray({ Self.header(of: $0) }) else { return nil }
            let name = ObjectIdentifierName.name(of: oid)
            switch error.code {
            case .malformedKey: self = .damaged
            case .costlyKey:
                self = .unusable(oid: oid, name: name, refusal: error.reason, isVersion1: false)
            case .malformed where version == 1:
                let fullName = "\(name), OneAsymmetricKey version 1"
                self = .unusable(oid: oid, name: fullName, refusal: nil, isVersion1: true)
            default: self = .unusable(oid: oid, name: name, refusal: nil, isVersion1: false)
            }
        }
    }

    /// Returns the version of a PrivateKeyInfo (RFC 5208, 5) and the dotted identifier of its algorithm; nil if the octets
    /// are not a PrivateKeyInfo.
    private static func header(of info: [UInt8]) -> (version: Int?, oid: String)? {
        guard let root = try? BER.parse(info), var fields = try? root.children(at: ""),
            let version = fields.next(), version.identifier == .integer, let algorithm = fields.next(),
            fields.next()?.identifier == .octetString
        else { return nil }
        return (try? AlgorithmIdentifier(algorithm, at: "").oid).map { (try? version.integer(at: ""), $0) }
    }
}
