package import KeySharing

/// What an app may do with a token's key, by the certificate's key usage.
///
/// `TKTokenKeychainKey` fills these in when it is made of a certificate. An app finds a key by them: the queries of the
/// sample consumer ask for `kSecAttrCanSign` and `kSecAttrCanDecrypt`.
package struct TokenKeyProperties: Sendable, Hashable {
    /// How the properties follow from the key usage.
    package enum Rule: String, Sendable, Hashable, CaseIterable {
        /// As `TKTokenKeychainKey` does. Without the extension a key can do nothing, and keyAgreement counts as
        /// decrypting.
        case cryptoTokenKit = "crypto-token-kit"
        /// As RFC 5280, 4.2.1.3 has it. Without the extension a key is not restricted, and keyAgreement is for
        /// key agreement alone.
        case rfc5280
    }

    /// Whether the key signs (`kSecAttrCanSign`).
    package let canSign: Bool
    /// Whether the key decrypts (`kSecAttrCanDecrypt`, `kSecAttrCanUnwrap`).
    package let canDecrypt: Bool
    /// Whether the key agrees on secrets (`kSecAttrCanDerive`).
    package let canPerformKeyExchange: Bool
    /// Whether the key is suitable for logging in (`TKTokenKeychainKey.suitableForLogin`).
    package var isSuitableForLogin: Bool { canSign }

    /// Finds the properties of a key.
    ///
    /// - Parameters:
    ///   - usage: the certificate's key usage; nil where it has none.
    ///   - family: the kind of key, by which alone `rfc5280` decides where there is no key usage.
    ///   - rule: how the properties follow.
    package init(usage: KeyUsage?, family: SecKeyAlgorithm.KeyFamily, rule: Rule) {
        let signing: KeyUsage = [.digitalSignature, .nonRepudiation, .keyCertSign, .cRLSign]
        let enciphering: KeyUsage = [.keyEncipherment, .dataEncipherment]
        switch rule {
        case .cryptoTokenKit:
            let usage = usage ?? []
            canSign = !usage.isDisjoint(with: signing)
            canDecrypt = !usage.isDisjoint(with: enciphering.union(.keyAgreement))
            canPerformKeyExchange = usage.contains(.keyAgreement)
        case .rfc5280:
            func allows(_ bits: KeyUsage) -> Bool { usage.map { !$0.isDisjoint(with: bits) } ?? true }
            canSign = allows(signing)
            canDecrypt = family == .rsa && allows(enciphering)
            canPerformKeyExchange = family == .ec && allows(.keyAgreement)
        }
    }

    /// Takes properties over that another process found.
    package init(canSign: Bool, canDecrypt: Bool, canPerformKeyExchange: Bool) {
        self.canSign = canSign
        self.canDecrypt = canDecrypt
        self.canPerformKeyExchange = canPerformKeyExchange
    }

    /// Whether the key may be used for an operation.
    package func allows(_ operation: TokenOperation) -> Bool {
        switch operation {
        case .sign: canSign
        case .decrypt: canDecrypt
        case .keyExchange: canPerformKeyExchange
        }
    }
}
