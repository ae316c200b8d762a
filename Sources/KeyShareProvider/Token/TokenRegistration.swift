internal import KeySharing
package import OpenSSL
package import PersistentToken

/// A certificate that is registered as a token, with what an app learns about its key.
package struct TokenRegistration: Sendable {
    /// The label of the identity, which names the token's instance and both of its items.
    package let label: String
    /// The certificate.
    package let certificate: Certificate
    /// How the key's properties follow from the certificate.
    package let rule: TokenKeyProperties.Rule
    /// Whether the key is there. It goes with the device's passcode, and the certificate stays.
    package let hasKey: Bool
    /// The kind of the certificate's key.
    package let keyType: KeyType
    /// The size of the certificate's key in bits.
    package let keyBits: Int
    /// What an app may do with the key.
    package let properties: TokenKeyProperties

    /// Describes a registered certificate.
    init(label: String, certificate: Certificate, rule: TokenKeyProperties.Rule, hasKey: Bool) {
        self.label = label
        self.certificate = certificate
        self.rule = rule
        self.hasKey = hasKey
        keyType = certificate.publicKey.type
        keyBits = certificate.publicKey.bits
        let family: SecKeyAlgorithm.KeyFamily = keyType == .rsa ? .rsa : .ec
        properties = TokenKeyProperties(usage: certificate.keyUsage, family: family, rule: rule)
    }

    /// The token's identifier (`kSecAttrTokenID`).
    package var tokenIdentifier: String { TokenIdentifier.token(label) }
}
