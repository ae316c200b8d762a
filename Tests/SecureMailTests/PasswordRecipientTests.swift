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
            unsafe try envelope.decrypt(
                file.descriptor, withSecret: SecretBytes(utf8: "wrong"), as: recipient, limits: limits
            ) { _ in }
        }
        #expect(throws: CMSError(.overLimit, "")) { try attempt(limits) }
        limits.iterations = 2_048
        #expect(throws: CMSError(.wrongPassword, "")) { try attempt(limits) }
        limits.patience = .nanoseconds(1)
        #expect(throws: CMSError(.overLimit, "")) { try attempt(limits) }
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
