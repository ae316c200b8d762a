internal import COpenSSL

/// A kind of key that this module can generate.
package enum KeyAlgorithm: Sendable, Hashable {
    /// RSA with a modulus of `bits` bits and the public exponent 65537.
    case rsa(bits: Int)
    /// Elliptic curve, on P-256 (FIPS 186-4, D.1.2.3).
    case p256
    /// Elliptic curve, on P-384 (FIPS 186-4, D.1.2.4).
    case p384
}

extension KeyAlgorithm: RawRepresentable, CaseIterable {
    /// The algorithms that a user can choose. Only tests create RSA keys of other sizes.
    package static let allCases: [KeyAlgorithm] = [
        .rsa(bits: 2048), .rsa(bits: 3072), .rsa(bits: 4096), .p256, .p384,
    ]

    /// Finds the algorithm called `rawValue` among ``allCases``; nil if there is none.
    package init?(rawValue: String) {
        guard let match = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = match
    }

    /// The algorithm's name, such as `rsa2048` or `p256`, as users type it.
    package var rawValue: String {
        switch self {
        case .rsa(let bits): "rsa\(bits)"
        case .p256: "p256"
        case .p384: "p384"
        }
    }

    /// Sets the size or the curve in a context for generating a key (`EVP_PKEY_CTX`).
    ///
    /// - Returns: False if OpenSSL rejects it.
    func configure(_ context: OpaquePointer?) -> Bool {
        switch self {
        case .rsa(let bits):
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, CInt(clamping: bits)) == 1
        case .p256: unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
        case .p384: unsafe EVP_PKEY_CTX_set_group_name(context, "P-384") == 1
        }
    }
}
