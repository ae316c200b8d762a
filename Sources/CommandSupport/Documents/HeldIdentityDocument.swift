internal import DeviceSimulation
package import Foundation
package import OpenSSL
package import PersistentToken
package import SimulatedKeychain
internal import StandardExtensions

/// The JSON document of `show`: the attributes of an identity and its key in a keychain (Apple's `kSecAttr…` constants,
/// without that prefix).
package struct HeldIdentityDocument: Codable, Sendable {
    /// The certificate of the identity.
    package let certificate: CertificateDocument
    /// The device states in which the key can be used (`kSecAttrAccessible`).
    package let accessible: String
    /// The keychain group that contains the identity.
    package let accessGroup: String
    /// The type and version of the certificate.
    package let certificateType: String
    /// The encoding of the certificate (`kSecAttrCertificateEncoding`).
    package let certificateEncoding: String
    /// The label of the identity.
    package let label: String
    /// The serial number of the certificate in hexadecimal digits.
    package let serialNumber: String
    /// The subject key identifier (RFC 5280, 4.2.1.2) in hexadecimal digits; nil if the extension is absent.
    package let subjectKeyID: String?
    /// The hash of the public key in hexadecimal digits.
    package let publicKeyHash: String
    /// The class of the key: `private`.
    package let keyClass: String
    /// The keychain's name for the key: the hash of the public key.
    package let applicationLabel: String
    /// Whether the key is stored in the keychain.
    package let isPermanent: Bool
    /// The kind of the key, such as `RSA`.
    package let keyType: String
    /// The length of the key in bits.
    package let keySizeInBits: Int
    /// The part of the key length that contributes to the strength, in bits.
    package let effectiveKeySize: Int
    /// Whether the key may encrypt.
    package let canEncrypt: Bool
    /// Whether the key may decrypt.
    package let canDecrypt: Bool
    /// Whether the key may be used for key derivation.
    package let canDerive: Bool
    /// Whether the key may sign.
    package let canSign: Bool
    /// Whether the key may verify signatures.
    package let canVerify: Bool
    /// Whether the key may wrap other keys.
    package let canWrap: Bool
    /// Whether the key may unwrap other keys.
    package let canUnwrap: Bool
    /// The time of the certificate's revocation; omitted if the certificate is not revoked, or if this keychain does
    /// not contain its issuer.
    package let revoked: Date?
    /// The reason for the revocation, by its name in RFC 5280, 5.3.1; omitted together with `revoked`.
    package let revocationReason: String?
    /// The identifier of the identity's token (`kSecAttrTokenID`); omitted if the identity is not registered as a
    /// token.
    package let tokenID: String?
    /// Whether the identity is available only as a token: key sharing never lists it, and no export includes it.
    /// Omitted if false or unknown.
    package let tokenOnly: Bool?
    /// Whether the key exists; omitted if `tokenID` is. The key is deleted with the device's passcode.
    package let keyPresent: Bool?

    /// The properties of a registered token that the document contains.
    package struct TokenKey: Sendable {
        let properties: TokenKeyProperties
        let isPresent: Bool
        let isAlone: Bool

        /// Creates the properties of a registered token.
        ///
        /// - Parameters:
        ///   - properties: The operations that an app may perform with the key.
        ///   - isPresent: Whether the key exists.
        ///   - isAlone: Whether it is known that key sharing does not publish the identity.
        package init(_ properties: TokenKeyProperties, isPresent: Bool, isAlone: Bool) {
            self.properties = properties
            self.isPresent = isPresent
            self.isAlone = isAlone
        }
    }

    /// Creates the document of an identity in a keychain.
    ///
    /// - Parameters:
    ///   - certificate: The identity's certificate.
    ///   - key: The identity's private key; nil for the key of a token, which cannot be read.
    ///   - accessibility: The device states in which the keychain returns the identity.
    ///   - accessGroup: The identity's access group.
    ///   - token: The properties of the identity's token; nil if it is not registered.
    ///   - revoked: The time and reason of the certificate's revocation; nil if the certificate is not revoked, or if
    ///     this is unknown.
    package init(
        _ certificate: Certificate, _ key: PrivateKey?, accessibility: Accessibility, accessGroup: String,
        token: TokenKey? = nil, revoked: (date: Date, reason: String)? = nil
    ) {
        let publicKey = certificate.publicKey
        let capabilities = certificate.capabilities(of: .private)
        // If the key can only be used through the token, its permitted operations are those of the registration.
        let properties = key == nil ? token?.properties : nil
        self.certificate = CertificateDocument(certificate)
        accessible = accessibility.name
        self.accessGroup = accessGroup
        certificateType = "X.509 version \(certificate.version)"
        certificateEncoding = "DER"
        label = certificate.label
        serialNumber = certificate.serialHex
        subjectKeyID = certificate.subjectKeyIdentifier?.upperHex
        publicKeyHash = publicKey.keyIdentifier.upperHex
        keyClass = "private"
        // The keychain finds a certificate's key by the hash of the public key.
        applicationLabel = publicKey.keyIdentifier.upperHex
        isPermanent = true
        keyType = (key?.type ?? publicKey.type).name
        keySizeInBits = key?.bits ?? publicKey.bits
        effectiveKeySize = publicKey.effectiveBits
        canEncrypt = properties == nil && capabilities.canEncrypt
        canDecrypt = properties?.canDecrypt ?? capabilities.canDecrypt
        canDerive = properties?.canPerformKeyExchange ?? capabilities.canDerive
        canSign = properties?.canSign ?? capabilities.canSign
        canVerify = properties == nil && capabilities.canVerify
        canWrap = properties == nil && capabilities.canWrap
        canUnwrap = properties?.canDecrypt ?? capabilities.canUnwrap
        self.revoked = revoked?.date
        revocationReason = revoked?.reason
        tokenID = token.map { _ in TokenIdentifier.token(certificate.label) }
        tokenOnly = token?.isAlone == true ? true : nil
        keyPresent = token?.isPresent
    }

    /// The names and values of the fields for text output, except the fields of the certificate.
    package var fields: [(name: String, value: String)] {
        func word(_ flag: Bool) -> String { flag ? "yes" : "no" }
        return [
            (name: "accessible", value: accessible), (name: "access group", value: accessGroup),
            (name: "certificate type", value: certificateType),
            (name: "certificate encoding", value: certificateEncoding),
            (name: "subject key ID", value: subjectKeyID ?? "none"),
            (name: "public key hash", value: publicKeyHash),
            (name: "key class", value: keyClass), (name: "application label", value: applicationLabel),
            (name: "permanent", value: word(isPermanent)), (name: "key type", value: keyType),
            (name: "key size", value: "\(keySizeInBits) bits"),
            (name: "effective key size", value: "\(effectiveKeySize) bits"),
            (name: "can encrypt", value: word(canEncrypt)), (name: "can decrypt", value: word(canDecrypt)),
            (name: "can derive", value: word(canDerive)), (name: "can sign", value: word(canSign)),
            (name: "can verify", value: word(canVerify)), (name: "can wrap", value: word(canWrap)),
            (name: "can unwrap", value: word(canUnwrap)),
        ]
            + (revoked.map {
                [(name: "revoked", value: "\($0.utcText), \(revocationReason ?? "")")]
            } ?? [])
            + (tokenID.map { [(name: "token", value: $0)] } ?? [])
            + (tokenOnly == true
                ? [(name: "key sharing", value: "never lists it: the key can be used but not exported")] : [])
            + (keyPresent == false ? [(name: "key", value: "deleted with the device's passcode")] : [])
    }
}

extension Console {
    /// Prints an identity in a keychain, for the provider's and the consumer's `show`.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func present(_ identity: HeldIdentityDocument) throws {
        try present(identity) {
            try fields(identity.certificate.fields + identity.fields, indent: "")
        }
    }
}
