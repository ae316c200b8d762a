package import DeviceSimulation
package import Foundation
package import OpenSSL
package import PersistentToken

/// The JSON document of `show`: the attributes that a keychain shows of an identity and its key (Apple's
/// `kSecAttr…` constants, under names without that prefix).
package struct HeldIdentityDocument: Codable, Sendable {
    /// The certificate of the identity.
    package let certificate: CertificateDocument
    /// When the key can be used (`kSecAttrAccessible`).
    package let accessible: String
    /// The keychain group that holds the identity.
    package let accessGroup: String
    /// The kind and version of the certificate.
    package let certificateType: String
    /// The encoding of the certificate.
    package let certificateEncoding: String
    /// The label of the identity.
    package let label: String
    /// The serial number in hexadecimal digits.
    package let serialNumber: String
    /// The subject key identifier (RFC 5280, 4.2.1.2) in hexadecimal digits; nil without the extension.
    package let subjectKeyID: String?
    /// The hash of the public key in hexadecimal digits.
    package let publicKeyHash: String
    /// The class of the key: `private`.
    package let keyClass: String
    /// The name by which the keychain finds the key: the hash of the public key.
    package let applicationLabel: String
    /// Whether the keychain keeps the key.
    package let isPermanent: Bool
    /// The kind of the key, such as `RSA`.
    package let keyType: String
    /// The length of the key in bits.
    package let keySizeInBits: Int
    /// The length of the key in bits, as far as it adds to the strength.
    package let effectiveKeySize: Int
    /// Whether the key may encrypt.
    package let canEncrypt: Bool
    /// Whether the key may decrypt.
    package let canDecrypt: Bool
    /// Whether other keys may be derived with the key.
    package let canDerive: Bool
    /// Whether the key may sign.
    package let canSign: Bool
    /// Whether the key may verify signatures.
    package let canVerify: Bool
    /// Whether the key may wrap other keys.
    package let canWrap: Bool
    /// Whether the key may unwrap other keys.
    package let canUnwrap: Bool
    /// When the certificate was revoked; left out where it was not, and where only its issuer would know.
    package let revoked: Date?
    /// Why the certificate was revoked, by the name in RFC 5280, 5.3.1; left out with `revoked`.
    package let revocationReason: String?
    /// The token that the identity is registered as (`kSecAttrTokenID`); left out where it is none.
    package let tokenID: String?
    /// Whether the identity is a token alone, so that key sharing never lists it and no export writes it; left out where
    /// it is not, and where that is not known.
    package let tokenOnly: Bool?
    /// Whether the key is there; left out where `tokenID` is. It goes with the device's passcode.
    package let keyPresent: Bool?

    /// What is known of an identity that is registered as a token.
    package struct TokenKey: Sendable {
        let properties: TokenKeyProperties
        let isPresent: Bool
        let isAlone: Bool

        /// - Parameters:
        ///   - properties: what an app may do with the key.
        ///   - isPresent: whether the key is there.
        ///   - isAlone: whether it is known that key sharing does not publish the identity.
        package init(_ properties: TokenKeyProperties, isPresent: Bool, isAlone: Bool) {
            self.properties = properties
            self.isPresent = isPresent
            self.isAlone = isAlone
        }
    }

    /// Describes an identity of a keychain and its private key.
    ///
    /// - Parameters:
    ///   - certificate: the identity's certificate.
    ///   - key: the identity's private key; nil for a token's, which nobody reads.
    ///   - accessibility: the states of the device in which the keychain gives the identity.
    ///   - accessGroup: the access group that the identity is in.
    ///   - token: what is known of the token that the identity is registered as; nil where it is none.
    ///   - revoked: when and why the certificate was revoked; nil where it was not, or where that is not known.
    package init(
        _ certificate: Certificate, _ key: PrivateKey?, accessibility: Accessibility, accessGroup: String,
        token: TokenKey? = nil, revoked: (date: Date, reason: String)? = nil
    ) {
        let publicKey = certificate.publicKey
        let capabilities = certificate.capabilities(of: .private)
        // A key that is used through the token alone does what the registration says.
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
        // The keychain finds the key of a certificate by the hash of the public key.
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

    /// The names of the fields with their values, for text; those of the certificate are left out.
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
                ? [(name: "key sharing", value: "never lists it: the key is used, and not handed over")] : [])
            + (keyPresent == false ? [(name: "key", value: "gone, with the device's passcode")] : [])
    }
}

extension Console {
    /// Presents an identity of a keychain, for the `show` of either side.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func present(_ identity: HeldIdentityDocument) throws {
        try present(identity) {
            try fields(identity.certificate.fields + identity.fields, indent: "")
        }
    }
}
