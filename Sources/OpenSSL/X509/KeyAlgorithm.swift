internal import COpenSSL

/// A kind of key that can be made.
package enum KeyAlgorithm: Sendable, Hashable {
    /// RSA with a modulus of so many bits and the public exponent 65537.
    case rsa(bits: Int)
    /// Elliptic curve on P-256.
    case p256
    /// Elliptic curve on P-384.
    case p384
}

extension KeyAlgorithm: RawRepresentable, CaseIterable {
    /// What commands offer: `rsa2048`, `rsa3072`, `rsa4096`, `p256`, `p384`.
    package static let allCases: [KeyAlgorithm] = [
        .rsa(bits: 2048), .rsa(bits: 3072), .rsa(bits: 4096), .p256, .p384,
    ]

    /// The algorithm of a name that commands offer; nil for any other, other sizes of RSA included.
    package init?(rawValue: String) {
        guard let match = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = match
    }

    /// The name commands offer it under.
    package var rawValue: String {
        switch self {
        case .rsa(let bits): "rsa\(bits)"
        case .p256: "p256"
        case .p384: "p384"
        }
    }

    /// Tells a key-making context (`EVP_PKEY_CTX`) the size or the curve.
    func configure(_ context: OpaquePointer?) -> Bool {
        switch self {
        case .rsa(let bits):
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, CInt(clamping: bits)) == 1
        case .p256: unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
        case .p384: unsafe EVP_PKEY_CTX_set_group_name(context, "P-384") == 1
        }
    }
}
