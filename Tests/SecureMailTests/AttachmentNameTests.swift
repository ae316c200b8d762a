import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("Names of attachments", .timeLimit(.minutes(10)))
struct AttachmentNameTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func form(_ entity: [UInt8]) throws -> MessageForm {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(entity)
        return try MessageForm(file.descriptor, as: .part)
    }

    @Test(
        "An attachment could be a message if a program could read a name that ends like that of a message",
        arguments: [
            ("name=mail.eml.zip", false), ("name=a.xml.p7m.zip", false), ("name=a.html.mht.txt", false),
            ("name=\"=?windows-874?B?4LE=?=.zip\"", false), ("name=\"=?unknown-8bit?Q?=E0.pdf?=\"", false),
            ("name=b.eml; filename=a.zip", true), ("name=\"a.eml. \"", true), ("name=\"a.eml~\"", true),
            ("name=\"a.eml\\\".zip\"", true), ("name=\"=?utf-8?Q?a.eml=00.zip?=\"", true),
            ("name=a.eml.zip (x)", true), ("name*0=a.eml; name*2=.zip", true),
            ("name=\"=?utf-7?Q?a.zip?=\"", true), ("name=\"=?utf-8*de?Q?a.zip?=\"", false),
            ("name=\"a.e\\ml\"", true), ("name*0=\"a.e\"; name*1=\"ml\"; x", true),
            ("name*0=x.e; name*1=ml; filename*0=a; filename*1=.zip; x", true),
            ("name=\"=?iso-2022-jp?Q?a.e=1B=28Bml?=\"", true), ("name*=iso-2022-jp''a.e%1B%28Bml", true),
            ("name=a.zip; y=\"a\\b\"", false), ("name*0=\"x.eml\"; name*01=\".txt\"", true),
            ("name=\"=?iso-2022-jp?B?GyRCQD0/XhsoQi5kd2c=?=\"", false),
            ("name=\"=?iso-2022-jp?B?GyRCP15MTBsoQi5kd2c=?=\"", false),
            ("name*=utf-7''x%2BAC4-eml", true), ("name*=x-windows-949''a%2Ezip", false),
        ])
    func names(_ parameters: String, _ isMessage: Bool) throws {
        let part = "Content-Type: application/octet-stream; \(parameters)\r\n\r\nx"
        #expect(try form(Array(part.utf8)).hidesMessage == isMessage)
    }

    @Test("A signed configuration profile hides no message, but an encrypted one does")
    func profiles() throws {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(Array("<plist/>".utf8))
        // A detached signature and a truncated one, which could have content.
        let signature = try CMSSignature.sign(file.descriptor, as: identity.certificate, with: identity.key)
        let truncated = Array(signature.dropLast(8))
        let encrypted = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        let profile = "application/x-apple-aspen-config"
        for (type, body, isHidden) in [
            ("\(profile); name=a.mobileconfig", truncated, false),
            ("\(profile); name=a.mobileconfig", encrypted, true), ("\(profile); name=a.p7m", truncated, true),
            (profile, truncated, true), ("application/x-other; name=a.mobileconfig", truncated, true),
        ] {
            let entity = Array("Content-Type: \(type)\r\n\r\n".utf8) + body
            #expect(try form(entity).hidesMessage == isHidden, "\(type)")
        }
    }

    @Test("An attachment of another type hides a message if it is a signature with the signed content")
    func signatures() throws {
        try scratch.writeSignatures(of: body)
        let header = Array(
            "Content-Type: application/x-other\r\nContent-Transfer-Encoding: base64\r\n\r\n".utf8)
        for (name, isHidden) in [("whole", true), ("detached", false)] {
            let entity = header + MailText.base64(try scratch.read("\(name).der"))
            #expect(try form(entity).hidesMessage == isHidden, "\(name)")
        }
    }

    @Test("A name is read in a time proportional to the number of its encoded words")
    func manyWords() throws {
        func time(_ count: Int) throws -> Double {
            let words = String(repeating: "=?utf-8?q?a.txt=25?=\r\n ", count: count)
            let part = Array("Content-Type: application/octet-stream; name=\"\(words)\"\r\n\r\nx".utf8)
            let file = try UnnamedFile(in: scratch.path)
            try file.write(part)
            return try processorTime { _ = try MessageForm(file.descriptor, as: .part) }
        }
        _ = try time(100)
        #expect(try time(4_000) < 8 * time(1_000))
    }

    @Test("The parameters of an earlier header protection are removed in a time proportional to their size")
    func longParameters() {
        func time(_ count: Int) -> Double {
            let quotes = String(repeating: "\\\"", count: count)
            return processorTime {
                for _ in 0..<(100_000 / count) {
                    let value = "text/plain; hp=clear; x=\"" + quotes
                    #expect(HeaderProtection.withoutParameters(value) == "text/plain; x=\"" + quotes)
                }
            }
        }
        _ = time(1_000)
        #expect(time(100_000) < 6 * time(1_000))
    }
}
