import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import SecureMail
import SwiftASN1
import TestSupport
import Testing
import ZipBundles

@testable import KeyShareConsumer

@Suite("Inspecting files", .timeLimit(.minutes(10)))
struct FileInspectorTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func part(_ bytes: [UInt8]) async throws -> FileInspection.Part {
        let inspector = FileInspector(scratch: scratch.path)
        return try #require(try await inspector.inspect(bytes, trying: [nil]).inspection.parts.first)
    }

    @Test("Entries of an archive after too many certificates are not described")
    func certificateLimit() async throws {
        let certificate = Array(try TestIdentity("one").certificate.pem.utf8)
        let archive = try ZipBundle.create(
            [("a.p12", certificate + certificate), ("b.p12", certificate), ("c.p12", certificate)],
            modified: Date(timeIntervalSince1970: 1_700_000_000))
        var inspector = FileInspector(scratch: scratch.path)
        #expect(inspector.mostItems == 10_000)
        inspector.mostItems = 3
        let parts = try await inspector.inspect(archive, trying: [nil]).inspection.parts
        let counts = parts.map { part in
            if case .material(let material) = part.contents { material.count } else { 0 }
        }
        #expect(counts == [2, 1, 0])
        guard case .unreadable(let error as CertificateError)? = parts.last?.contents else {
            Issue.record("the last entry is described")
            return
        }
        #expect(error.code == .overLimit)
    }

    @Test("The limit on objects applies to PKCS #12 files in an archive and to PEM files")
    func limitOfFormats() async throws {
        let identity = try TestIdentity("one")
        let file = try identity.file()
        let archive = try ZipBundle.create(
            [("a.p12", file), ("b.p12", file)], modified: Date(timeIntervalSince1970: 1_700_000_000))
        let password = SecretBytes(utf8: "password")
        func inspect(_ bytes: [UInt8], most: Int) async throws -> [Bool] {
            var inspector = FileInspector(scratch: scratch.path)
            inspector.mostItems = most
            return try await inspector.inspect(bytes, trying: [password]).inspection.parts.map {
                if case .unreadable = $0.contents { true } else { false }
            }
        }
        #expect(try await inspect(archive, most: 4) == [false, false])
        #expect(try await inspect(archive, most: 3) == [false, true])
        // The reader of a single PKCS #12 file has its own limits.
        #expect(try await inspect(file, most: 1) == [false])
        let text = Array((identity.certificate.pem + identity.certificate.pem).utf8)
        #expect(try await inspect(text, most: 2) == [false])
        #expect(try await inspect(text, most: 1) == [true])
    }

    @Test("Passwords are tried until every file of an archive is open")
    func passwords() async throws {
        let files = try ["one", "two"].map { try TestIdentity($0).file(password: $0) }
        let archive = try ZipBundle.create(
            [("a.p12", files[0]), ("b.p12", files[1])], modified: Date(timeIntervalSince1970: 1_700_000_000))
        let passwords = ["other", "one", "two", "three"].map { SecretBytes(utf8: $0) }
        let inspector = FileInspector(scratch: scratch.path)
        for (bytes, last) in [(files[0], "one"), (archive, "two")] {
            let (inspection, opened, tried) = try await inspector.inspect(bytes, trying: passwords)
            #expect(opened == SecretBytes(utf8: last) && tried == opened)
            for part in inspection.parts {
                guard case .pkcs12(let report) = part.contents else {
                    Issue.record("not a PKCS #12 file")
                    continue
                }
                #expect(report.verdict == .ok)
            }
        }
    }

    @Test("Data in a CMS structure is reported as a malformed PKCS #12 file")
    func data() async throws {
        // ContentInfo with the type data (RFC 5652, 3).
        let bytes: [UInt8] = [
            0x30, 0x11, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01, 0xA0, 0x04, 0x04,
            0x02,
            0x01, 0x02,
        ]
        let part = try await part(bytes)
        guard part.format == .pkcs12, case .pkcs12(let report) = part.contents else {
            Issue.record("reported as \(part.format)")
            return
        }
        #expect(report.verdict != .ok)
    }

    @Test("A bundle of certificates is not a message, and a signed message in PEM is one")
    func bundle() async throws {
        let identity = try TestIdentity("a")
        let mail = try MailWriter.signed(
            MailHeader([.init("From", "a@mail.example")]), MailWriter.textEntity("Hello\r\n"),
            as: (identity.certificate, identity.privateKey), chain: [], boundary: "b", scratch: scratch.path)
        for isBundle in [true, false] {
            var structure: [UInt8] = []
            _ = try changingSignature(of: mail) { fields in
                structure = try signedData(isBundle ? fields.dropLast() + [[0x31, 0x00]] : fields)
            }
            let base64 = Data(structure).base64EncodedString(options: [
                .lineLength64Characters, .endLineWithLineFeed,
            ])
            let text = "-----BEGIN CMS-----\n\(base64)\n-----END CMS-----\n"
            let material = try FileMaterial(pem: Array(text.utf8))
            #expect(material.messages.count == (isBundle ? 0 : 1))
            #expect(material.certificates == [identity.certificate])
        }
    }

    /// A ContentInfo with SignedData of these fields (RFC 5652, 3 and 5.1).
    private func signedData(_ fields: [[UInt8]]) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { serializer in
            try serializer.serialize(ASN1ObjectIdentifier(dotRepresentation: "1.2.840.113549.1.7.2"))
            serializer.appendConstructedNode(
                identifier: ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
            ) { serializer in
                serializer.appendConstructedNode(identifier: .sequence) { serializer in
                    for field in fields { serializer.serializeRawBytes(field) }
                }
            }
        }
        return serializer.serializedBytes
    }

    @Test("An encrypted message is described without its key, and a damaged one has an error")
    func encryptedMessage() async throws {
        let authority = try MessageAuthority()
        let mail = try authority.sender().encrypted(MessageSender.body, .aes256GCM)
        guard case .message(let whole) = try await part(mail).contents else {
            Issue.record("not a message")
            return
        }
        #expect(whole.layers.count == 1 && whole.errors.isEmpty)
        // Without its last bytes, the structure cannot be decoded.
        let text = String(decoding: mail, as: UTF8.self)
        let body = try #require(text.range(of: "\r\n\r\n")?.upperBound)
        let kept = text.index(body, offsetBy: 40)
        if case .message(let damaged) = try await part(Array(text[..<kept].utf8)).contents {
            #expect(damaged.layers.isEmpty && !damaged.errors.isEmpty)
        } else {
            Issue.record("not a message")
        }
    }

    @Test("Only a property list with a payload is a configuration profile")
    func profile() throws {
        for (values, isProfile) in [
            (["PayloadType": "Configuration"], true), (["PayloadContent": "x"], true), (["Name": "x"], false),
        ] {
            for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
                let bytes = try PropertyListSerialization.data(
                    fromPropertyList: values, format: format, options: 0)
                #expect((ProfileFile([UInt8](bytes)) != nil) == isProfile)
            }
        }
    }

    @Test("A property list in place of the ciphertext of an encrypted message is not a profile")
    func encryptedProfile() throws {
        let values = "<plist><dict><key>PayloadType</key><string>Configuration</string></dict></plist>"
        // A multiple of the block size. The padding adds one byte to the plaintext.
        let list = values + String(repeating: " ", count: 96 - values.utf8.count)
        _ = try scratch.write(Array(list.utf8), as: "list")
        try scratch.shell(
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -subj /CN=Signer -days 30
            openssl cms -sign -binary -nodetach -in list -signer certificate.pem -inkey key.pem -outform DER -out signed
            head -c 95 list >plaintext
            openssl cms -encrypt -binary -aes256 -in plaintext -outform DER -out encrypted certificate.pem
            """)
        #expect(try ProfileFile(scratch.read("signed")) != nil)
        #expect(try ProfileFile(scratch.read("encrypted").dropLast(96) + Array(list.utf8)) == nil)
    }

    @Test("The root element of a profile in XML begins in the first 1,024 bytes")
    func startOfProfile() {
        func isProfile(_ offset: Int) -> Bool {
            let start = "<!--" + String(repeating: "x", count: offset - 7) + "-->"
            let values = "<plist><dict><key>PayloadType</key><string>Configuration</string></dict></plist>"
            return ProfileFile(Array((start + values).utf8)) != nil
        }
        #expect(isProfile(1_018) && !isProfile(1_019))
    }

    @Test("Text without a supported PEM block, and a CMS block that is no message, have errors")
    func unusableText() throws {
        for text in ["Hello\n", PEM.text("CERTIFICATE REQUEST", [0x30, 0x00])] {
            #expect(throws: CertificateError(.missing, "")) { try FileMaterial(pem: Array(text.utf8)) }
        }
        let damaged = Array(PEM.text("CMS", [0x30, 0x00]).utf8)
        #expect(throws: CertificateError(.malformed, "")) { try FileMaterial(pem: damaged) }
        // An encrypted message contains no certificates, but is a message.
        let mail = try MessageAuthority().sender().encrypted(MessageSender.body, .aes256GCM)
        let text = String(decoding: mail, as: UTF8.self)
        let body = try #require(text.range(of: "\r\n\r\n")?.upperBound)
        let der = try #require(
            Data(base64Encoded: String(text[body...]), options: .ignoreUnknownCharacters))
        let material = try FileMaterial(pem: Array(PEM.text("CMS", [UInt8](der)).utf8))
        #expect(material.messages.count == 1 && material.count == 1)
    }
}
