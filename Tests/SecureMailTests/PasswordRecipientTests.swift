import Foundation
import OpenSSL
import PrivateFiles
import SecretMemory
import SecureMail
import TestSupport
import Testing

@Suite("Messages for passwords and shared keys", .timeLimit(.minutes(10)))
struct PasswordRecipientTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private static let password = "-pwri_password secret"
    private static let key = "000102030405060708090A0B0C0D0E0F"
    private static let sharedKey = "-secretkey \(key) -secretkeyid 6B31"

    /// Encrypts ``body`` with the openssl command.
    private func encrypt(
        _ options: String, cipher: String = "aes-256-cbc", _ content: [UInt8]? = nil
    ) throws -> [UInt8] {
        _ = try scratch.write(content ?? body, as: "content")
        try scratch.shell(
            "openssl cms -encrypt -binary -\(cipher) -in content -outform DER -out message.der \(options)")
        return try scratch.read("message.der")
    }

    private func open(_ message: [UInt8], secret: String?, hasKey: Bool = false) throws -> OpenedMessage {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(message)
        return try MessageOpener(scratch: scratch.path, secret: secret.map { SecretBytes(utf8: $0) }) {
            hasKey && $0.isHolder(of: identity.certificate) ? identity : nil
        }.open(file.descriptor)
    }

    private func recipient(_ message: OpenedMessage) -> (CMSRecipient.Method, Certificate?)? {
        guard case .encrypted(_, let recipient, _, let certificate)? = message.layers.first else {
            return nil
        }
        return (recipient.method, certificate)
    }

    private func envelope(_ message: [UInt8]) throws -> CMSEnvelope {
        try CMSEnvelope(try CMSStructure(reading: ArraySource(message)) { _ in })
    }

    @Test(
        "A message for a password opens with this password, and with no other",
        arguments: ["aes-128-cbc", "aes-256-cbc", "des3"])
    func password(_ cipher: String) throws {
        let message = try encrypt(Self.password, cipher: cipher)
        let opened = try open(message, secret: "secret")
        #expect(try content(opened) == body)
        let (method, certificate) = try #require(recipient(opened))
        #expect(method == .password && certificate == nil)
        for wrong in ["Secret", "secret ", ""] {
            #expect(throws: CMSError(.wrongPassword, "")) { try open(message, secret: wrong) }
        }
        let missing = #expect(throws: CMSError(.missingKey, "")) { try open(message, secret: nil) }
        #expect(missing?.recipients.map(\.isOpenedBySecret) == [true])
    }

    @Test("A message for a shared key opens with the hexadecimal digits of this key, and with no other text")
    func sharedKey() throws {
        let message = try encrypt(Self.sharedKey)
        #expect(try envelope(message).recipients.map(\.sharedKeyIdentifier) == [[0x6B, 0x31]])
        #expect(try envelope(message).recipients.first?.name == "a shared key (6B31)")
        #expect(try content(open(message, secret: Self.key)) == body)
        #expect(try content(open(message, secret: Self.key.lowercased())) == body)
        for wrong in ["FF" + Self.key.dropFirst(2), Self.key + "00", "secret", "0", ""] {
            #expect(throws: CMSError(.wrongPassword, "")) { try open(message, secret: wrong) }
        }
    }

    @Test("A password does not open a message that is encrypted only for a certificate")
    func withoutPassword() throws {
        let message = try encrypted(body)
        let error = #expect(throws: CMSError(.missingKey, "")) { try open(message, secret: "secret") }
        #expect(error?.recipients.map(\.isOpenedBySecret) == [false])
        #expect(try content(open(message, secret: "secret", hasKey: true)) == body)
    }

    @Test("A private key is used before a password, and the password of any recipient opens the message")
    func severalRecipients() throws {
        _ = try scratch.write(Array(identity.certificate.pem.utf8), as: "certificate.pem")
        let message = try encrypt("\(Self.sharedKey) \(Self.password) certificate.pem")
        let withKey = try #require(recipient(try open(message, secret: "secret", hasKey: true)))
        #expect(withKey.0 == .ecdh && withKey.1 == identity.certificate)
        #expect(try recipient(open(message, secret: "secret"))?.0 == .password)
        #expect(try recipient(open(message, secret: Self.key))?.0 == .sharedKey)
        #expect(throws: CMSError(.wrongPassword, "")) { try open(message, secret: "other") }
    }

    @Test("An altered message does not open with the correct password")
    func altered() throws {
        // The openssl command writes no message for a password with AES-GCM. With AES-CBC, the last byte of the block
        // before the last one alters the padding.
        var message = try encrypt(Self.password)
        message[message.count - 17] ^= 0x40
        #expect(throws: CMSError(.altered, "")) { try open(message, secret: "secret") }
    }

    @Test("An altered message is reported as altered, even if another recipient's secret would not open it")
    func alteredWithSeveralSecrets() throws {
        var message = try encrypt("\(Self.sharedKey) \(Self.password)")
        message[message.count - 17] ^= 0x40
        for secret in ["secret", Self.key] {
            #expect(throws: CMSError(.altered, "")) { try open(message, secret: secret) }
        }
    }

    @Test("A part that no secret opens is encrypted, and a shared key has 16, 24 or 32 bytes")
    func unopened() throws {
        for options in [Self.password, Self.sharedKey] {
            for secret in [
                "wrong", "00", String(repeating: "0A", count: 20), String(repeating: "0A", count: 24),
            ] {
                let file = try UnnamedFile(in: scratch.path)
                try file.write(try encrypt(options))
                let part = try MessageReader(scratch: scratch.path, secret: SecretBytes(utf8: secret)) { _ in
                    nil
                }
                .read(file.descriptor).parts.first
                #expect((part?.failure as? CMSError)?.code == .wrongPassword && part?.isEncrypted == true)
            }
        }
    }

    @Test("Too many iterations of the key derivation are rejected before it begins")
    func iterations() throws {
        let message = try encrypt(Self.password)
        let envelope = try envelope(message)
        let recipient = try #require(envelope.recipients.first)
        let parameters = try #require(recipient.password)
        #expect(parameters.iterations == 2_048 && parameters.digest == "SHA-1" && parameters.saltLength >= 8)
        var limits = PKCS12Limits()
        limits.iterations = 2_047
        func attempt(_ limits: PKCS12Limits) throws {
            let file = try UnnamedFile(in: scratch.path)
            _ = unsafe try envelope.decrypt(
                file.descriptor, withSecret: SecretBytes(utf8: "wrong"), work: OpeningWork(limits: limits)
            ) { _ in }
        }
        #expect(throws: CMSError(.overLimit, "")) { try attempt(limits) }
        limits.iterations = 2_048
        #expect(throws: CMSError(.wrongPassword, "")) { try attempt(limits) }
        limits.patience = .nanoseconds(1)
        #expect(throws: CMSError(.overLimit, "")) { try attempt(limits) }
    }

    @Test("All recipients with a password share one limit on processor time", arguments: [true, false])
    func sharedWork(isSame: Bool) throws {
        let derivations = (0..<40).map { Self.derivation(salt: isSame ? 0 : $0, iterations: 900_000) }
        let message = Self.envelope(recipients: derivations)
        let time = ContinuousClock().measure {
            #expect(throws: CMSError(.overLimit, "")) { try open(message, secret: "wrong") }
        }
        #expect(time < .seconds(30))
        let few = Self.envelope(recipients: [Self.derivation(salt: 0, iterations: 1_000)])
        #expect(throws: CMSError(.wrongPassword, "")) { try open(few, secret: "wrong") }
    }

    @Test("At most 64 different recipients with a shared key are tried")
    func manySharedKeys() throws {
        func message(_ count: Int) -> [UInt8] {
            Self.envelope(recipients: (0..<count).map { Self.sharedKeyRecipient(UInt8($0)) })
        }
        #expect(throws: CMSError(.wrongPassword, "")) { try open(message(64), secret: Self.key) }
        #expect(throws: CMSError(.overLimit, "")) { try open(message(65), secret: Self.key) }
    }

    @Test("A message with many recipients is decoded once, however many of them have a shared key")
    func manyRecipients() throws {
        let name = Self.element(
            0x31, Self.element(0x30, [0x06, 3, 0x55, 4, 3] + Self.element(0x0C, Array("x".utf8))))
        let others = (0..<800).map { number in
            let serial: [UInt8] = [0x02, 2, UInt8(1 + number >> 8), UInt8(number & 0xFF)]
            let rsa: [UInt8] = [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 0x05, 0]
            return Self.element(
                0x30,
                [0x02, 1, 0] + Self.element(0x30, Self.element(0x30, name) + serial)
                    + Self.element(0x30, rsa) + Self.element(0x04, [1]))
        }
        func time(_ count: Int) throws -> Double {
            let recipients = (0..<count).map { Self.sharedKeyRecipient(UInt8($0)) } + others
            let file = try UnnamedFile(in: scratch.path)
            return try processorTime {
                let structure = try CMSStructure(
                    reading: ArraySource(Self.envelope(recipients: recipients))
                ) { try file.write($0) }
                let envelope = try CMSEnvelope(structure)
                #expect(envelope.recipients.count == count + others.count)
                #expect(throws: CMSError(.wrongPassword, "")) {
                    unsafe try envelope.decrypt(
                        file.descriptor, withSecret: SecretBytes(utf8: Self.key)
                    ) { _ in }
                }
            }
        }
        #expect(try time(64) < 8 * time(1))
    }

    /// A KEKRecipientInfo (RFC 5652, 6.2.3) whose encrypted key is not valid for any shared key.
    private static func sharedKeyRecipient(_ number: UInt8) -> [UInt8] {
        element(
            0xA2,
            [0x02, 1, 4] + element(0x30, [0x04, 1, number])
                + element(0x30, [0x06, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 45])
                + element(0x04, [UInt8](repeating: 1, count: 40)))
    }

    /// An element in DER.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
    }

    /// A PasswordRecipientInfo (RFC 5652, 6.2.4) with PBKDF2, whose encrypted key is not valid for any password.
    private static func derivation(salt: Int, iterations: Int) -> [UInt8] {
        let count = [
            0x02, 3, UInt8(iterations >> 16), UInt8(iterations >> 8 & 0xFF), UInt8(iterations & 0xFF),
        ]
        let sha512: [UInt8] = [0x06, 8, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 2, 11, 0x05, 0]
        let pbkdf2: [UInt8] = [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5, 12]
        let wrapping: [UInt8] = [0x06, 11, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 16, 3, 9]
        return element(
            0xA3,
            [0x02, 1, 0]
                + element(
                    0xA0, pbkdf2 + element(0x30, [0x04, 1, UInt8(salt)] + count + element(0x30, sha512)))
                + element(0x30, wrapping + cipher) + element(0x04, [UInt8](repeating: 1, count: 48)))
    }

    /// AES-256-CBC with its initialization vector.
    private static let cipher = element(
        0x30,
        [0x06, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 42, 0x04, 16] + [UInt8](repeating: 0, count: 16))

    /// An EnvelopedData for these recipients.
    private static func envelope(recipients: [[UInt8]]) -> [UInt8] {
        let content =
            [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 1] + cipher
            + [0x80, 64] + [UInt8](repeating: 1, count: 64)
        let data = [0x02, 1, 3] + element(0x31, recipients.flatMap { $0 }) + element(0x30, content)
        return element(
            0x30,
            [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 3] + element(0xA0, element(0x30, data)))
    }

    @Test("A key derivation other than PBKDF2 is not supported, and a missing one does not crash the process")
    func otherDerivations() throws {
        let message = try encrypt(Self.password, Array("x".utf8))
        // The object identifier of PBKDF2, and the header of the derivation before it.
        let pbkdf2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0C]
        let place = try #require(message.firstRange(of: pbkdf2)?.lowerBound)
        var other = message
        other[place + 8] = 0x0D
        #expect(throws: CMSError(.unsupported(oid: ""), "")) { try open(other, secret: "secret") }
        let start = place - 4
        try #require(message[start] == 0xA0)
        let count = 2 + Int(message[start + 1])
        var absent = message
        // The lengths of the five values that contain the derivation.
        for length in [2, 16, 19, 25, 28] {
            try #require(absent[length - 1] == 0x81)
            absent[length] -= UInt8(count)
        }
        absent.removeSubrange(start..<start + count)
        #expect(throws: CMSError(.unsupported(oid: ""), "")) { try open(absent, secret: "secret") }
    }
}
