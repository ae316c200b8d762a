import Foundation
import OpenSSL
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

/// A combination of key, cipher and padding for a test message.
private struct EncryptionCase: Sendable, CustomTestStringConvertible {
    let key: KeyAlgorithm
    let cipher: ContentCipher
    let transport: RSAKeyTransport

    var testDescription: String { "\(key.rawValue) \(cipher.rawValue) \(transport.rawValue)" }

    static let all: [EncryptionCase] = {
        let rsa = KeyAlgorithm.rsa(bits: 2048)
        return ContentCipher.allCases.flatMap { cipher in
            RSAKeyTransport.allCases.map { EncryptionCase(key: rsa, cipher: cipher, transport: $0) }
                + [EncryptionCase(key: .p256, cipher: cipher, transport: .pkcs1)]
        }
    }()
}

@Suite("Encrypted CMS messages", .timeLimit(.minutes(10)))
struct EnvelopeTests {
    private let scratch: ScratchFolder
    private let content = Array("Content-Type: text/plain\r\n\r\nsecret \u{FC}\r\n".utf8)

    init() throws { scratch = try ScratchFolder() }

    private func identity(_ algorithm: KeyAlgorithm, serial: [UInt8] = [0x38, 0xAD]) throws -> (
        certificate: Certificate, key: PrivateKey
    ) {
        let key = algorithm == .p256 ? TestPKI.leafKey : TestPKI.rsaKey
        var template = try TestPKI.template()
        template.serialNumber = serial
        return (try TestPKI.root.issue(template, to: key), key)
    }

    /// Decrypts a message and returns its content.
    private func open(
        _ message: [UInt8], with key: PrivateKey, of certificate: Certificate,
        work: OpeningWork = OpeningWork()
    ) throws -> [UInt8] {
        let file = try UnnamedFile(in: scratch.path)
        let structure = try CMSStructure(reading: ArraySource(message)) { try file.write($0) }
        try file.rewind()
        let envelope = try CMSEnvelope(structure)
        guard let recipient = envelope.recipients.first(where: { $0.isHolder(of: certificate) }) else {
            throw CMSError(.missingKey, "nobody here is a recipient")
        }
        var plaintext: [UInt8] = []
        unsafe try envelope.decrypt(file.descriptor, with: key, as: recipient, work: work) {
            unsafe plaintext += Array($0)
        }
        return plaintext
    }

    @Test("After 256 failed attempts in one message, further ones fail because of the limit")
    func failedAttempts() throws {
        let (certificate, key) = try identity(.p256)
        let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes256GCM)
        let other = try PrivateKey.generate(.p256)
        let work = OpeningWork()
        var codes: [CMSError.Code] = []
        for _ in 0...CMSLimits.failedAttempts {
            let error = #expect(throws: CMSError.self) {
                try open(message, with: other, of: certificate, work: work)
            }
            codes.append(try #require(error).code)
        }
        #expect(codes.prefix(CMSLimits.failedAttempts).allSatisfy { $0 == .altered })
        #expect(codes.last == .overLimit)
        // An attempt that succeeds does not count.
        #expect(try open(message, with: key, of: certificate, work: work) == content)
    }

    @Test(
        "A message can be decrypted with its recipient's key, for every key type, cipher and padding",
        arguments: EncryptionCase.all)
    private func roundTrip(_ encryption: EncryptionCase) throws {
        let (certificate, key) = try identity(encryption.key)
        let message = try CMSEnvelope.encrypt(
            content, for: [certificate], cipher: encryption.cipher, transport: encryption.transport)
        #expect(try open(message, with: key, of: certificate) == content)
        let structure = try CMSStructure(reading: ArraySource(message)) { _ in }
        let envelope = try CMSEnvelope(structure)
        #expect(envelope.cipher == encryption.cipher)
        #expect(envelope.isAuthenticated == encryption.cipher.isAuthenticated)
        let method: CMSRecipient.Method =
            encryption.key == .p256 ? .ecdh : encryption.transport == .oaep ? .rsaOAEP : .rsaPKCS1
        #expect(envelope.recipients.map(\.method) == [method])
        #expect(envelope.recipients.map(\.serialNumber) == ["38AD"])
        #expect(
            envelope.recipients.map(\.name) == ["38AD (issued by \(TestPKI.root.certificate.subject))"])
        let scheme =
            switch method {
            case .ecdh: "dhSinglePass-stdDH-sha256kdf-scheme"
            case .rsaOAEP: "rsaesOaep"
            default: "rsaEncryption"
            }
        #expect(envelope.recipients.map(\.keyEncryption) == [scheme])
    }

    @Test(
        "The same seed reproduces a message for RSA keys, for every cipher and padding",
        arguments: EncryptionCase.all.filter { $0.key != .p256 })
    private func reproducible(_ encryption: EncryptionCase) throws {
        let (certificate, key) = try identity(encryption.key)
        func encrypt(_ seed: String) throws -> [UInt8] {
            try CMSEnvelope.encrypt(
                content, for: [certificate], cipher: encryption.cipher, transport: encryption.transport,
                seed: Seed(seed))
        }
        let message = try encrypt("1")
        #expect(try encrypt("1") == message)
        #expect(try encrypt("2") != message)
        #expect(try open(message, with: key, of: certificate) == content)
    }

    @Test("OAEP uses SHA-256 as its hash and in its mask")
    func oaepDigests() throws {
        let (certificate, _) = try identity(.rsa(bits: 2048))
        let message = try CMSEnvelope.encrypt(
            content, for: [certificate], cipher: .aes256CBC, transport: .oaep)
        // SHA-256 in both fields of RSAES-OAEP-params (RFC 8017, A.2.1); the standard values are omitted.
        let sha256: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        #expect(message.ranges(of: sha256).count == 2)
    }

    @Test(
        "Content that is empty, or longer than a buffer by some bytes, is decrypted completely",
        arguments: [ContentCipher.aes256CBC, .aes256GCM])
    func lengths(_ cipher: ContentCipher) throws {
        let (certificate, key) = try identity(.p256)
        for count in [0, 1, 15, 16, 17, 65_535, 65_536, 65_537] {
            let content = [UInt8](repeating: 0x61, count: count)
            let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: cipher)
            #expect(try open(message, with: key, of: certificate) == content, "\(count) bytes")
        }
    }

    @Test("A message for several recipients can be decrypted only with a recipient's key")
    func severalRecipients() throws {
        let rsa = try identity(.rsa(bits: 2048))
        let ec = try identity(.p256, serial: [0x48])
        let message = try CMSEnvelope.encrypt(
            content, for: [rsa.certificate, ec.certificate], cipher: .aes128GCM)
        #expect(try open(message, with: rsa.key, of: rsa.certificate) == content)
        #expect(try open(message, with: ec.key, of: ec.certificate) == content)
        #expect(throws: CMSError(.altered, "")) { try open(message, with: ec.key, of: rsa.certificate) }
        let other = TestPKI.key(.p256)
        #expect(throws: CMSError(.altered, "")) { try open(message, with: other, of: ec.certificate) }
    }

    @Test("A recipient's serial number is shown with its sign, and zero as 00")
    func serials() throws {
        let (certificate, _) = try identity(.p256, serial: [0x48])
        let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes128CBC)
        for (value, shown) in [(0x48, "48"), (0x00, "00"), (0xFE, "-02")] as [(UInt8, String)] {
            let place = try #require(message.firstRange(of: [0x02, 0x01, 0x48])).upperBound - 1
            var changed = message
            changed[place] = value
            let structure = try CMSStructure(reading: ArraySource(changed)) { _ in }
            #expect(try CMSEnvelope(structure).recipients.map(\.serialNumber) == [shown])
        }
    }

    @Test("A message cannot be encrypted for a key that only signs")
    func unsuitableKey() throws {
        let key = try PrivateKey(pkcs8: SecretBytes(SampleKeys.ed25519.pkcs8))
        let certificate = try TestPKI.root.issue(try TestPKI.template(), to: key)
        #expect(throws: CMSError(.unsuitableKey, "")) {
            try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes128CBC)
        }
    }

    @Test("An altered byte anywhere in an authenticated message makes it unreadable")
    func tampering() throws {
        let (certificate, key) = try identity(.p256)
        let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes256GCM)
        #expect(try open(message, with: key, of: certificate) == content)
        // The tag is at the end, the content before it.
        for place in [message.count - 1, message.count - 16, message.count - 30, message.count - 50] {
            var altered = message
            altered[place] ^= 1
            #expect(throws: CMSError(.altered, "")) { try open(altered, with: key, of: certificate) }
        }
    }

    @Test("An altered block at the end of a message in CBC mode makes it unreadable")
    func alteredPadding() throws {
        let (certificate, key) = try identity(.rsa(bits: 2048))
        var message = try CMSEnvelope.encrypt(
            [UInt8](repeating: 0x41, count: 31), for: [certificate], cipher: .aes256CBC)
        // The last byte of the second-to-last block determines the padding: 1 becomes 0xFE.
        message[message.count - 17] ^= 0xFF
        #expect(throws: CMSError(.altered, "")) { try open(message, with: key, of: certificate) }
    }

    @Test("A truncated message is malformed or unreadable, and never causes a crash")
    func truncation() throws {
        let (certificate, key) = try identity(.p256)
        for cipher in [ContentCipher.aes128CBC, .aes128GCM] {
            let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: cipher)
            for count in 0..<message.count {
                #expect(throws: CMSError.self) {
                    try open(Array(message.prefix(count)), with: key, of: certificate)
                }
            }
        }
    }

    @Test("A message with altered bytes is either decrypted to its original content or rejected")
    func alterations() throws {
        let (certificate, key) = try identity(.p256)
        let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes128GCM)
        var opened = 0
        for place in message.indices {
            for bit in [UInt8(1), 0x20, 0x80] {
                var altered = message
                altered[place] ^= bit
                // If the identifier of the recipient has changed, no key matches.
                guard let result = try? open(altered, with: key, of: certificate) else { continue }
                #expect(result == content)
                opened += 1
            }
        }
        // The tag does not cover versions and similar fields.
        #expect(opened < message.count)
    }

    @Test("The content may have an indefinite length and consist of many pieces, as BER allows")
    func pieces() throws {
        let (certificate, key) = try identity(.p256)
        let big = [UInt8](repeating: 0x5A, count: 300_000)
        let message = try CMSEnvelope.encrypt(big, for: [certificate], cipher: .aes256CBC)
        let input = try scratch.write(message, as: "message.der")
        _ = try scratch.write(Array(certificate.pem.utf8), as: "certificate.pem")
        // OpenSSL writes a stream with indefinite lengths and one piece for each buffer.
        let streamed = scratch.path("streamed.der")
        _ = try scratch.write(big, as: "content")
        let run = Process()
        run.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        run.arguments = [
            "cms", "-encrypt", "-stream", "-binary", "-aes-256-cbc", "-outform", "DER", "-in",
            scratch.path("content"), "-out", streamed, scratch.path("certificate.pem"),
        ]
        try run.run()
        run.waitUntilExit()
        #expect(run.terminationStatus == 0)
        #expect(try open(try scratch.read("message.der"), with: key, of: certificate) == big)
        let bytes = try scratch.read("streamed.der")
        #expect(bytes[1] == 0x80)
        #expect(try open(bytes, with: key, of: certificate) == big)
        #expect(input.hasSuffix("message.der"))
    }

    @Test("Structures that are nested too deeply or are too large are rejected by a limit")
    func limits() throws {
        // SEQUENCE { OID envelopedData, [0] { SEQUENCE { SEQUENCE { … } } } }, each of indefinite length.
        let start: [UInt8] =
            [
                0x30, 0x80, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x03, 0xA0, 0x80,
                0x30, 0x80,
            ]
        let deep = start + [[UInt8]](repeating: [0x31, 0x80], count: 100).flatMap(\.self)
        #expect(throws: CMSError(.overLimit, "")) { try CMSStructure(reading: ArraySource(deep)) { _ in } }
        let large = start + [0x31, 0x84, 0x10, 0x00, 0x00, 0x00]
        #expect(throws: CMSError(.overLimit, "")) { try CMSStructure(reading: ArraySource(large)) { _ in } }
    }

    @Test("Messages of other types are unsupported, and other bytes are malformed")
    func otherTypes() throws {
        // ContentInfo of the type data.
        let data: [UInt8] = [
            0x30, 0x0F, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01, 0xA0, 0x02, 0x04,
            0x00,
        ]
        #expect(throws: CMSError(.unsupported(oid: OID.data), "")) {
            try CMSStructure(reading: ArraySource(data)) { _ in }
        }
        for bytes in [
            [], [0x30], [0x30, 0x80], Array("From: somebody\r\n".utf8), [UInt8](repeating: 0xFF, count: 500),
        ] {
            #expect(throws: CMSError(.malformed, "")) {
                try CMSStructure(reading: ArraySource(bytes)) { _ in }
            }
        }
        #expect(throws: CMSError(.malformed, "")) {
            try CMSStructure(reading: ArraySource(TestPKI.root.certificate.der)) { _ in }
        }
    }
}
