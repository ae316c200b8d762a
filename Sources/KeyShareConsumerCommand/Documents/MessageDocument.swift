internal import CertificateLint
package import CommandSupport
internal import Diagnostics
package import Foundation
internal import KeyShareConsumer
internal import OpenSSL
internal import StandardExtensions

/// One encryption, or the signatures, of a message. Nothing is decrypted or verified.
package struct MessageDocument: Codable, Sendable {
    /// The parameters of a password.
    package struct Password: Codable, Sendable {
        /// The key derivation: `PBKDF2`.
        package let kdf: String
        /// The pseudo-random function, such as `HMAC-SHA-256`.
        package let prf: String
        /// The iterations of the key derivation.
        package let iterations: Int
        /// The size of the salt in bytes.
        package let saltLength: Int
    }

    /// A recipient and the encryption of the content's key.
    package struct Recipient: Codable, Sendable {
        /// The identifiers of the recipient.
        package let identifier: DecryptionDocument.Recipient
        /// The name of the algorithm that encrypts the content's key; null if it is unknown.
        @Nullable package private(set) var keyEncryption: String?
        /// The parameters of a password; omitted for other methods.
        package let password: Password?

        fileprivate init(_ recipient: CMSRecipient) {
            identifier = DecryptionDocument.Recipient(recipient)
            password = recipient.password.map {
                Password(
                    kdf: "PBKDF2", prf: "HMAC-\($0.digest)", iterations: $0.iterations,
                    saltLength: $0.saltLength)
            }
            keyEncryption = recipient.keyEncryption
        }
    }

    /// A signature, which is not verified.
    package struct Signer: Codable, Sendable {
        /// The serial number and issuer of the signer's certificate, or its key identifier.
        package let name: String
        /// The label of the signer's certificate; null if the message does not contain it.
        @Nullable package private(set) var certificate: String?
        /// The name of the digest.
        package let digest: String
        /// The name of the signature algorithm.
        package let signatureAlgorithm: String
        /// The time at which the signer claims to have signed; null if the signature contains none.
        @Nullable package private(set) var signingTime: Date?
        /// The algorithms that the signer claims to support (RFC 8551, 2.5.2), in order of preference.
        package let capabilities: [String]

        fileprivate init(_ signer: CMSDescription.Signer) {
            name = signer.name
            digest = signer.digestName
            signatureAlgorithm = signer.signatureAlgorithmName
            capabilities = signer.capabilities
            certificate = signer.certificate?.label
            signingTime = signer.signingTime
        }
    }

    /// The path of the S/MIME part, such as `2.1`; null if the whole file is the message.
    @Nullable package private(set) var part: String?
    /// The kind of the message: `signed-data`, `enveloped-data` or `authenveloped-data`.
    package let kind: String
    /// The name of the type of the content inside.
    package let contentType: String
    /// The cipher of the content; null for a signed message.
    @Nullable package private(set) var cipher: String?
    /// Whether the cipher detects alterations; null for a signed message.
    @Nullable package private(set) var authenticated: Bool?
    /// The recipients of an encrypted message.
    package let recipients: [Recipient]
    /// The signatures.
    package let signers: [Signer]
    /// The findings about the message.
    package let findings: [FindingDocument]

    init(_ layer: MessageInspection.Layer, among certificates: [Certificate], at date: Date) {
        self.init(
            LintedMessage(
                layer.description, mediaType: layer.mediaType, parameters: layer.parameters,
                certificates: certificates, at: date))
        part = layer.path
    }

    init(_ message: CMSDescription, among certificates: [Certificate], at date: Date) {
        self.init(LintedMessage(message, certificates: certificates, at: date))
    }

    private init(_ message: LintedMessage) {
        let description = message.description
        kind =
            switch description.kind {
            case .signedData: "signed-data"
            case .envelopedData: "enveloped-data"
            case .authEnvelopedData: "authenveloped-data"
            }
        contentType = description.contentTypeName
        recipients = description.recipients.map(Recipient.init)
        signers = description.signers.map(Signer.init)
        findings = CertificateLinter.findings(in: message).map { FindingDocument($0) }
        part = nil
        cipher = description.contentEncryptionName
        authenticated = description.kind == .signedData ? nil : description.isAuthenticated
    }

    private static let mostLines = 20

    /// The heading of text output.
    var title: String { part.map { "message in part \($0)" } ?? "message" }

    /// The names and values for text output, with the first recipients.
    var fields: [(name: String, value: String)] {
        var fields = [("kind", kind), ("content", contentType)]
        if let cipher {
            let words = authenticated == true ? "detects alterations" : "does not detect alterations"
            fields.append(("cipher", "\(cipher), which \(words)"))
        }
        fields += recipients.prefix(Self.mostLines).map { ("recipient", $0.text) }
        if recipients.count > Self.mostLines {
            fields.append(("recipient", "\(recipients.count - Self.mostLines) more"))
        }
        for signer in signers {
            fields.append(
                ("signer", signer.name + (signer.certificate == nil ? ", whose certificate is missing" : "")))
            fields.append(("algorithms", "\(signer.signatureAlgorithm), \(signer.digest)"))
            fields.append(("signing time", signer.signingTime?.utcText ?? "none"))
            fields.append(
                (
                    "capabilities",
                    signer.capabilities.isEmpty ? "none" : signer.capabilities.joined(separator: ", ")
                ))
        }
        return fields.map { (name: $0.0, value: $0.1.visible) }
    }
}

extension MessageDocument.Recipient {
    /// The recipient on one line.
    fileprivate var text: String {
        let name =
            identifier.serial.map { $0 + (identifier.issuer.map { " (issued by \($0))" } ?? "") }
            ?? identifier.subjectKeyIdentifier.map { "key \($0)" }
            ?? identifier.sharedKeyIdentifier.map { "shared key \($0)" }
        let parameters = password.map { "\($0.kdf) \($0.prf) \($0.iterations)" }
        return [name, identifier.method, keyEncryption, parameters].compactMap(\.self)
            .joined(separator: ", ")
    }
}
