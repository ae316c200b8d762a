internal import OpenSSL

extension KeyAlgorithm {
    /// The algorithm of `key`. Nil for a kind of key that provisioning cannot generate.
    init?(_ key: PublicKey) {
        switch key.type {
        case .rsa: self.init(rawValue: KeyAlgorithm.rsa(bits: key.bits).rawValue)
        case .ec("P-256"): self = .p256
        case .ec("P-384"): self = .p384
        default: return nil
        }
    }

    /// Whether the keys are elliptic-curve keys, which are generated in less than a millisecond.
    var isEllipticCurve: Bool {
        if case .rsa = self { false } else { true }
    }
}
