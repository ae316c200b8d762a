internal import OpenSSL

extension KeyAlgorithm {
    /// The algorithm that made `key`; nil for a key of a kind that provisioning does not make.
    init?(_ key: PublicKey) {
        switch key.type {
        case .rsa: self.init(rawValue: KeyAlgorithm.rsa(bits: key.bits).rawValue)
        case .ec("P-256"): self = .p256
        case .ec("P-384"): self = .p384
        default: return nil
        }
    }

    /// Whether keys of the algorithm lie on an elliptic curve; they are made in less than a millisecond.
    var isEllipticCurve: Bool {
        if case .rsa = self { false } else { true }
    }
}
