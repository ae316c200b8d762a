import Foundation
import KeySharing
import OpenSSL

/// Rules about S/MIME messages (RFC 8551) and their signers (RFC 8550).
enum MessageRules {
    typealias Rule = LintRule<LintedMessage>

    static let all = encryption + signatures + signers + parts

    private static let encryption: [Rule] = [
        Rule(
            "message-cipher-weak", .error, "RFC 8551 2.7, B.3",
            "the content is encrypted with a weak cipher",
            message: {
                guard let cipher = $0.description.contentEncryption, weakCiphers.contains(cipher) else {
                    return nil
                }
                return "the content is encrypted with \($0.description.contentEncryptionName ?? cipher), "
                    + "which is weak"
            }),
        Rule(
            "message-cipher-deprecated", .warning, "RFC 8551 2.7, NIST SP 800-131A 2",
            "the content is encrypted with triple DES, which is deprecated",
            if: { $0.description.contentEncryption == OID.tripleDESCBC }),
        Rule(
            "message-encryption-unauthenticated", .warning, "RFC 8551 2.4.4, 6",
            "the encryption does not authenticate the content, which can be altered without detection (Efail)",
            if: { $0.isEncrypted && !$0.description.isAuthenticated }),
        Rule(
            "message-key-transport-pkcs1", .notice, "RFC 8551 2.3",
            "the key is encrypted with RSA PKCS #1 v1.5 instead of OAEP",
            if: { $0.description.recipients.contains { $0.method == .rsaPKCS1 } }),
        Rule(
            "message-recipients-missing", .error, "RFC 5652 6.1", "an encrypted message has no recipients",
            if: { $0.isEncrypted && $0.description.recipients.isEmpty }),
        Rule(
            "message-recipient-key-usage", .error, "RFC 8550 4.4.2",
            "the key usage of a recipient does not permit encryption with this method",
            each: { message in
                message.recipientCertificates.compactMap { recipient, certificate in
                    let needed: KeyUsage = recipient.method == .ecdh ? .keyAgreement : .keyEncipherment
                    guard let usage = certificate.keyUsage, usage.isDisjoint(with: needed) else { return nil }
                    return "the key usage of the recipient \(recipient.name) does not permit encryption"
                }
            }),
        Rule(
            "message-password-iterations", .warning, "RFC 8018 4.2",
            "a password is used with fewer than 1,000 iterations",
            each: { message in
                message.description.recipients.compactMap(\.password).filter { $0.iterations < 1_000 }.map {
                    "a password is used with only \($0.iterations) iterations, fewer than 1,000"
                }
            }),
    ]

    private static let signatures: [Rule] = [
        Rule(
            "message-digest-weak", .error, "RFC 8551 2.1, B.1",
            "the digest of a signature is MD2, MD5 or SHA-1",
            each: { message in
                message.signers { signer in
                    let isWeak =
                        weakDigests.contains(signer.digest)
                        || SignatureFacts.weakDigest(signer.signatureAlgorithm) != nil
                    guard isWeak else { return nil }
                    return "the digest \(signer.digestName) of \(signer.signatureAlgorithmName) is broken"
                }
            }),
        Rule(
            "message-signature-dsa", .warning, "RFC 8551 2.2, B.2",
            "a message is signed with DSA, which is historic",
            each: { message in
                message.signers { dsaAlgorithms.contains($0.signatureAlgorithm) ? "DSA is historic" : nil }
            }),
        Rule(
            "message-signed-attributes-missing", .warning, "RFC 8551 2.5",
            "a signature covers no attributes, so it contains no signing time and no capabilities",
            each: { message in
                message.signers { $0.hasSignedAttributes ? nil : "it covers no attributes" }
            }),
        Rule(
            "message-signing-time-missing", .warning, "RFC 8551 2.5.1",
            "a signature contains no signing time",
            each: { message in
                message.signers {
                    $0.hasSignedAttributes && $0.signingTime == nil ? "it contains no signing time" : nil
                }
            }),
        Rule(
            "message-signing-time-encoding", .error, "RFC 8551 2.5.1",
            "a signing time must be a UTCTime through 2049 and a GeneralizedTime afterwards",
            each: { message in
                message.signers { signer in
                    guard let time = signer.signingTime else { return nil }
                    return signer.hasGeneralizedSigningTime == (time < firstSecondOf2050)
                        ? "the signing time is encoded as the wrong type" : nil
                }
            }),
        Rule(
            "message-signing-time-future", .error, "RFC 8551 2.5.1", "a signing time is in the future",
            each: { message in
                message.signers { signer in
                    guard let time = signer.signingTime, time > message.date else { return nil }
                    return "the signing time \(time.ISO8601Format()) is in the future"
                }
            }),
        Rule(
            "message-capabilities-missing", .notice, "RFC 8551 2.5.2",
            "a signature contains no S/MIME capabilities",
            each: { message in
                message.signers {
                    $0.hasSignedAttributes && $0.capabilities.isEmpty ? "it contains no capabilities" : nil
                }
            }),
    ]

    private static let signers: [Rule] = [
        Rule(
            "message-signer-certificate-missing", .warning, "RFC 8550 2.3",
            "the message does not contain the certificate of a signer",
            each: { message in
                message.signers { $0.certificate == nil ? "the certificate is not in the message" : nil }
            }),
        Rule(
            "message-signer-key-usage", .error, "RFC 8550 4.4.2",
            "the key usage of a signer does not permit signatures",
            each: { message in
                message.signers { signer in
                    guard let usage = signer.certificate?.keyUsage,
                        usage.isDisjoint(with: [.digitalSignature, .nonRepudiation])
                    else { return nil }
                    return "the key usage of the certificate does not permit signatures"
                }
            }),
        Rule(
            "message-signer-purpose", .error, "RFC 8550 4.4.4",
            "the extended key usage of a signer does not include e-mail protection",
            each: { message in
                message.signers { signer in
                    guard let purposes = signer.certificate?.extendedKeyUsage,
                        !purposes.contains(Purpose.emailProtection), !purposes.contains(Purpose.any)
                    else { return nil }
                    return "the extended key usage of the certificate does not include e-mail protection"
                }
            }),
        Rule(
            "message-signing-time-outside-validity", .warning, "RFC 8551 2.5.1, RFC 5280 4.1.2.5",
            "a signer's certificate was not valid at the signing time",
            each: { message in
                message.signers { signer in
                    guard let certificate = signer.certificate, let time = signer.signingTime,
                        !certificate.isValid(at: time)
                    else { return nil }
                    return "the certificate was not valid at the signing time \(time.ISO8601Format())"
                }
            }),
    ]

    private static let parts: [Rule] = [
        Rule(
            "message-content-type", .error, "RFC 8551 2.4.1",
            "the type of the content inside is not id-data",
            message: {
                let type = $0.description.contentType
                guard !type.isEmpty, type != OID.data else { return nil }
                return "the type of the content inside is \($0.description.contentTypeName), not id-data"
            }),
        Rule(
            "message-smime-type", .warning, "RFC 8551 3.2.2",
            "the smime-type parameter does not match the message",
            message: { message in
                guard message.mediaType?.hasSuffix("pkcs7-mime") == true,
                    let type = message.parameters["smime-type"]?.lowercased(),
                    type != smimeType(of: message.description)
                else { return nil }
                return "the smime-type parameter is \(type), but the message is "
                    + smimeType(of: message.description)
            }),
        Rule(
            "message-micalg", .warning, "RFC 8551 3.5.3.2",
            "the micalg parameter does not name the digest of a signature",
            message: { message in
                guard message.mediaType == "multipart/signed", let names = message.parameters["micalg"] else {
                    return nil
                }
                let named = Set(names.split(separator: ",").map { digestKey(String($0)) })
                let missing = message.description.signers.map(\.digestName).first {
                    !named.contains(digestKey($0))
                }
                return missing.map { "the micalg parameter is \(names), but a digest is \($0)" }
            }),
    ]

    /// RC2, DES and RC4.
    private static let weakCiphers: Set<String> = [OID.rc2CBC, "1.3.14.3.2.7", "1.2.840.113549.3.4"]
    /// MD2, MD5 and SHA-1.
    private static let weakDigests: Set<String> = ["1.2.840.113549.2.2", "1.2.840.113549.2.5", OID.sha1]
    /// DSA without a digest, and with SHA-1, SHA-224 and SHA-256 (RFC 5754, 3.1).
    private static let dsaAlgorithms: Set<String> = [
        OID.dsa, "1.2.840.10040.4.3", "2.16.840.1.101.3.4.3.1", "2.16.840.1.101.3.4.3.2",
    ]
    /// 2050-01-01T00:00:00Z.
    private static let firstSecondOf2050 = Date(timeIntervalSince1970: 2_524_608_000)

    /// The smime-type parameter of a message (RFC 8551, 3.2.2).
    private static func smimeType(of description: CMSDescription) -> String {
        switch description.kind {
        case .envelopedData: "enveloped-data"
        case .authEnvelopedData: "authenveloped-data"
        case .signedData: description.signers.isEmpty ? "certs-only" : "signed-data"
        }
    }

    /// The name of a digest without the differences between micalg (`sha-256`) and OpenSSL (`sha256`).
    private static func digestKey(_ name: String) -> String {
        name.lowercased().filter { $0.isLetter || $0.isNumber }
    }
}
