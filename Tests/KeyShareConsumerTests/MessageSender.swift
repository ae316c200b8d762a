import Foundation
import KeySharing
import OpenSSL
import PrivateFiles
import SecureMail
import TestSupport

/// An authority, and senders that it certified, for one test.
struct MessageAuthority {
    /// The signing time is the current time, so the certificates are valid around it.
    let now = Date()
    let issuer: CertificateIssuer

    init() throws {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "Test Authority")]), serialNumber: [1],
            notBefore: now - 400 * 86_400, notAfter: now + 400 * 86_400)
        template.basicConstraints = .init(isCertificateAuthority: true)
        template.keyUsage = [.keyCertSign, .cRLSign]
        issuer = try CertificateIssuer(selfSigned: template, privateKey: try PrivateKey.generate(.p256))
    }

    /// Certifies a sender.
    func sender(
        _ names: [GeneralName] = [.rfc822Name("dana@mail.example")], serial: [UInt8] = [2],
        _ change: (inout CertificateTemplate) -> Void = { _ in }
    ) throws -> MessageSender {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "EXAMPLE.DANA.1234567890")]), serialNumber: serial,
            notBefore: now - 200 * 86_400, notAfter: now + 200 * 86_400)
        template.keyUsage = [.digitalSignature, .nonRepudiation]
        template.extendedKeyUsage = [ExtendedKeyUsage.emailProtection]
        template.subjectAlternativeNames = names
        change(&template)
        let key = try PrivateKey.generate(.p256)
        return MessageSender(certificate: try issuer.issue(template, to: key), key: key)
    }

    /// A list that revokes these serial numbers.
    func list(
        revoking serials: [[UInt8]], at date: Date, thisUpdate: Date, life: TimeInterval = 30 * 86_400
    ) throws -> EncodedRevocationList {
        try EncodedRevocationList(
            der: try listDER(revoking: serials, at: date, thisUpdate: thisUpdate, life: life))
    }

    /// The DER of a list that revokes these serial numbers.
    func listDER(
        revoking serials: [[UInt8]], at date: Date, thisUpdate: Date, life: TimeInterval = 30 * 86_400
    ) throws -> [UInt8] {
        let entries = serials.map { CertificateRevocationList.Entry(serialNumber: $0, date: date) }
        return try issuer.revocationList(
            entries, thisUpdate: thisUpdate, nextUpdate: thisUpdate + life, number: [1]
        ).der
    }
}

/// A sender of messages.
struct MessageSender {
    let certificate: Certificate
    let key: PrivateKey

    static let body = MailWriter.textEntity("Hello\r\n")

    func signed(
        _ entity: [UInt8] = body, from: String = "Dana <dana@mail.example>", in scratch: ScratchFolder
    ) throws -> [UInt8] {
        try MailWriter.signed(
            MailHeader([.init("From", from), .init("Subject", "x")]), entity, as: (certificate, key),
            chain: [],
            boundary: "b\(UInt64.random(in: 0 ... .max))", scratch: scratch.path)
    }

    func encrypted(
        _ entity: [UInt8], _ cipher: ContentCipher, from: String = "dana@mail.example"
    ) throws -> [UInt8] {
        try MailWriter.encrypted(
            MailHeader([.init("From", from)]), entity, for: [certificate], cipher: cipher, transport: .pkcs1)
    }
}

/// A multipart entity with a From field.
func multipart(_ parts: [[UInt8]], boundary: String = "outer", type: String = "mixed") -> [UInt8] {
    var entity = Array(
        "From: dana@mail.example\r\nContent-Type: multipart/\(type); boundary=\(boundary)\r\n\r\n".utf8)
    for part in parts {
        entity += Array("--\(boundary)\r\n".utf8)
        entity += part
        entity += Array("\r\n".utf8)
    }
    return entity + Array("--\(boundary)--\r\n".utf8)
}
