internal import COpenSSL
internal import SwiftASN1
package import SecretMemory

/// A private key as files contain it, in any of the usual structures. It is described without its secret numbers.
package enum PrivateKeyFile: Sendable {
    /// A key in the clear: PKCS #8 (RFC 5958), PKCS #1 (RFC 8017, A.1.2) or SEC 1 (RFC 5915).
    case plain(PrivateKey)
    /// A key that a password encrypts (RFC 5958, 3), with the name and the parameters of the encryption scheme. They are
    /// nil if the scheme is unknown.
    case encrypted(scheme: String?, PKCS12Layer?)

    /// The labels of private keys in PEM (RFC 7468, 10 and 11; openssl-format-options(1)).
    package static let labels: Set<String> = [
        "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY",
    ]

    /// Reads a private key; nil if the structure is not that of a private key.
    ///
    /// - Throws: `malformed`, `malformedKey`, `unsupportedKey` or `costlyKey` if the structure fits but the key cannot be
    ///   used.
    package init?(der: SecretBytes) throws(CertificateError) {
        let outline = der.withTransientArray(Outline.init)
        switch outline {
        case .pkcs8: self = .plain(try PrivateKey(pkcs8: der))
        case .encrypted(let scheme, let layer): self = .encrypted(scheme: scheme, layer)
        case .rsa:
            self = .plain(try PrivateKey(pkcs8: try Self.wrapped(der, NID_rsaEncryption, curve: nil)))
        case .ec(let curve):
            self = .plain(
                try PrivateKey(pkcs8: try Self.wrapped(der, NID_X9_62_id_ecPublicKey, curve: curve)))
        case nil: return nil
        }
    }

    /// The structure of a key. It contains nothing secret.
    private enum Outline {
        case pkcs8
        case encrypted(scheme: String, PKCS12Layer?)
        case rsa
        case ec(curve: String)

        init?(_ der: [UInt8]) {
            guard let key = DERElement(der), key.tag == .sequence else { return nil }
            let fields = key.children
            let tags = fields.map(\.tag)
            if tags == [.sequence, .octetString] {
                guard let scheme = fields[0].children.first?.objectIdentifier else { return nil }
                self = .encrypted(
                    scheme: ObjectIdentifierName.name(of: scheme), Self.layer(fields[0].encoded))
            } else if tags.starts(with: [.integer, .sequence, .octetString]) {
                self = .pkcs8
            } else if tags.count >= 9, tags[..<9].allSatisfy({ $0 == .integer }) {
                self = .rsa
            } else if tags.starts(with: [.integer, .octetString]),
                let curve = fields.first(where: { $0.tag == .context(0) })?.children.first?.objectIdentifier
            {
                self = .ec(curve: curve)
            } else {
                return nil
            }
        }

        /// The parameters of an encryption scheme; nil if the scheme is not supported.
        private static func layer(_ algorithm: ArraySlice<UInt8>) -> PKCS12Layer? {
            let place = "the encrypted key"
            let scheme = try? EncryptionScheme(
                try ASN1Node.parse(algorithm, at: place), limits: .unlimitedWork, at: place)
            return scheme.map { PKCS12Layer($0, at: place) }
        }
    }

    /// The key as PKCS #8, with its algorithm around it.
    private static func wrapped(
        _ der: SecretBytes, _ algorithm: CInt, curve: String?
    ) throws(CertificateError) -> SecretBytes {
        guard let info = unsafe PKCS8_PRIV_KEY_INFO_new() else {
            throw .draining(.malformed, "decoding a private key")
        }
        // PKCS8_PRIV_KEY_INFO_free wipes the octets of the key.
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        let octets = unsafe der.withUnsafeBytes { bytes -> UnsafeMutablePointer<UInt8>? in
            guard let copy = unsafe CRYPTO_malloc(max(1, bytes.count), nil, 0) else { return nil }
            unsafe copy.copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(copy), byteCount: bytes.count)
            return unsafe copy.assumingMemoryBound(to: UInt8.self)
        }
        let count = der.count
        let object = unsafe try curve.map { (dotted: String) throws(CertificateError) in
            unsafe try OpenSSLASN1.object(dotted)
        }
        let added = unsafe PKCS8_pkey_set0(
            info, OBJ_nid2obj(algorithm), 0, object == nil ? V_ASN1_NULL : V_ASN1_OBJECT,
            object.map { unsafe UnsafeMutableRawPointer($0) }, octets, CInt(clamping: count))
        guard added == 1, let encoded = unsafe SecretBytes(encoding: info) else {
            throw .draining(.malformed, "decoding a private key")
        }
        return encoded
    }
}
