package import KeyShareProtocol
package import KeySharing

/// The operations that an app may perform with a token's key, according to the certificate's key usage.
///
/// `TKTokenKeychainKey` sets these properties when it is created from a certificate. Apps find keys by them: the
/// queries of the sample consumer use `kSecAttrCanSign` and `kSecAttrCanDecrypt`.
package struct TokenKeyProperties: Sendable, Hashable {
    /// The rule that derives the properties from the key usage.
    package enum Rule: String, Sendable, Hashable, CaseIterable {
        /// Like `TKTokenKeychainKey`. Without the extension no operation is permitted, and keyAgreement permits
        /// decryption.
        case cryptoTokenKit = "crypto-token-kit"
        /// According to RFC 5280, 4.2.1.3. Without the extension the key is not restricted, and keyAgreement permits
        /// only key agreement.
        case rfc5280
    }

    /// Whether the key signs (`kSecAttrCanSign`).
    package let canSign: Bool
    /// Whether the key decrypts (`kSecAttrCanDecrypt`, `kSecAttrCanUnwrap`).
    package let canDecrypt: Bool
    /// Whether the key supports key agreement (`kSecAttrCanDerive`).
    package let canPerformKeyExchange: Bool

    /// Derives the properties of a key.
    ///
    /// - Parameters:
    ///   - usage: The certificate's key usage; nil if the extension is missing.
    ///   - family: The kind of key, which matters only for the rule `rfc5280`.
    ///   - rule: The rule to apply.
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

    /// Creates properties from values that another process has derived.
    package init(canSign: Bool, canDecrypt: Bool, canPerformKeyExchange: Bool) {
        self.canSign = canSign
        self.canDecrypt = canDecrypt
        self.canPerformKeyExchange = canPerformKeyExchange
    }

    /// Whether the key permits no operation.
    package var isEmpty: Bool { !TokenOperation.allCases.contains(where: allows) }

    /// Whether the key permits an operation.
    package func allows(_ operation: TokenOperation) -> Bool {
        switch operation {
        case .sign: canSign
        case .decrypt: canDecrypt
        case .keyExchange: canPerformKeyExchange
        }
    }
}
