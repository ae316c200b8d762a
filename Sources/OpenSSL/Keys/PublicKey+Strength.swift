extension PublicKey {
    /// Whether this is an RSA key whose public exponent is even or less than 65,537 (FIPS 186-5, A.1.1).
    ///
    /// With the exponent 1, anyone can compute a signature. The exponent is read without loading the key. An RSA key
    /// with a malformed encoding counts as weak. A key of a different type does not.
    package var hasWeakRSAExponent: Bool {
        switch type {
        case .rsa, .other(OID.rsaPSS): break
        default: return false
        }
        guard let exponent = RSANumbers(keyOctets)?.exponent, let last = exponent.last else { return true }
        let isSmall =
            exponent.count < 3 || (exponent.count == 3 && exponent.lexicographicallyPrecedes([1, 0, 1]))
        return isSmall || last.isMultiple(of: 2)
    }

    /// The reason why the exponent of an RSA key does not reach a security level; nil if it does, and for other keys.
    func exponentWeakness(below level: Int?) -> String? {
        guard let level, level >= 1, hasWeakRSAExponent else { return nil }
        return "the RSA exponent is even or less than 65,537 (FIPS 186-5, A.1.1)"
    }
}
