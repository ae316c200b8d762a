internal import KeySharing
package import OpenSSL
package import PersistentToken

/// A certificate that is registered as a token, with the properties of its key that apps can see.
package struct TokenRegistration: Sendable {
    /// The identity's label, which identifies the token and its certificate and key items.
    package let label: String
    /// The certificate.
    package let certificate: Certificate
    /// The rule that derives the key's properties from the certificate.
    package let rule: TokenKeyProperties.Rule
    /// Whether the key exists. When the device's passcode is removed, the key is deleted but the certificate remains.
    package let hasKey: Bool
    /// The key type of the certificate.
    package let keyType: KeyType
    /// The key size of the certificate, in bits.
    package let keyBits: Int
    /// The operations that apps may perform with the key.
    package let properties: TokenKeyProperties

    /// Creates the registration of a certificate.
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
