internal import OpenSSL

extension KeyAlgorithm {
    /// Returns the algorithm of `key`, or nil if provisioning cannot generate keys of this kind.
    init?(_ key: PublicKey) {
        switch key.type {
        case .rsa: self.init(rawValue: KeyAlgorithm.rsa(bits: key.bits).rawValue)
        case .ec("P-256"): self = .p256
        case .ec("P-384"): self = .p384
        default: return nil
        }
    }

    /// Whether the algorithm uses elliptic-curve keys, which are generated in less than a millisecond.
    var isEllipticCurve: Bool {
        if case .rsa = self { false } else { true }
    }
}
