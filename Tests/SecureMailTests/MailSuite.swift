import Foundation
import OpenSSL
import PrivateFiles
import SecureMail
import TestSupport
import Testing

/// An identity that encrypts and signs.
let identity: (certificate: Certificate, key: PrivateKey) = {
    do {
        let key = try PrivateKey.generate(.p256)
        let name = try DistinguishedName([.init("CN", "EXAMPLE.DANA.1234567890")])
        let template = CertificateTemplate(
            subject: name, serialNumber: [0x38, 0xAD], notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        return (try CertificateIssuer(selfSigned: template, privateKey: key).certificate, key)
    } catch {
        preconditionFailure("\(error)")
    }
}()

/// A suite that writes messages for ``identity`` and opens them.
protocol MailSuite {
    var scratch: ScratchFolder { get }
}

extension MailSuite {
    var body: [UInt8] { MailWriter.textEntity("Gr\u{FC}\u{DF}e\r\n") }
    var header: MailHeader { MailHeader([.init("From", "a@mail.example"), .init("Subject", "x")]) }

    func open(_ mail: [UInt8], hasKey: Bool = true) throws -> OpenedMessage {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        OpenSSLError.discardQueue()
        defer { #expect(OpenSSLError.draining("opening").queue.isEmpty) }
        return try MessageOpener(scratch: scratch.path) { recipient in
            hasKey && recipient.isHolder(of: identity.certificate) ? identity : nil
        }.open(file.descriptor)
    }

    func content(_ message: OpenedMessage) throws -> [UInt8] {
        try message.content.rewind()
        return try OpenFile.read(message.content.descriptor, named: "content")
    }

    func encrypted(_ entity: [UInt8], _ cipher: ContentCipher = .aes256CBC) throws -> [UInt8] {
        try MailWriter.encrypted(
            header, entity, for: [identity.certificate], cipher: cipher, transport: .pkcs1)
    }

    func signed(_ entity: [UInt8], boundary: String = "keyshare-boundary") throws -> [UInt8] {
        try MailWriter.signed(
            header, entity, as: identity, chain: [], boundary: boundary, scratch: scratch.path)
    }

    /// A message that contains a CMS structure in Base64.
    func base64(_ der: [UInt8]) -> [UInt8] {
        Array("Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: base64\r\n\r\n".utf8)
            + MailText.base64(der)
    }

    /// A message that contains a CMS structure, without an encoding for transport.
    func binary(_ der: [UInt8]) -> [UInt8] {
        Array("Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: binary\r\n\r\n".utf8) + der
    }
}
