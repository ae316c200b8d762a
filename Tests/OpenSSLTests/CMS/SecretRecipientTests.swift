import Foundation
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import OpenSSL

@Suite("Recipients with a password, a shared key or several entries", .timeLimit(.minutes(10)))
struct SecretRecipientTests {
    private static let content = Array("Content-Type: text/plain\r\n\r\nsecret\r\n".utf8)
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    /// Encrypts ``content`` with `openssl cms -encrypt` and these options.
    private func message(_ options: String) throws -> [UInt8] {
        _ = try scratch.write(Self.content, as: "content")
        try scratch.shell("openssl cms -encrypt -binary -in content -outform DER -out message.der \(options)")
        return try scratch.read("message.der")
    }

    /// Calls `body` with the message and a file of its ciphertext.
    private func withEnvelope<Result>(
        _ message: [UInt8], _ body: (CMSEnvelope, CInt) throws -> Result
    ) throws -> Result {
        let file = try UnnamedFile(in: scratch.path)
        let structure = try CMSStructure(reading: ArraySource(message)) { try file.write($0) }
        try file.rewind()
        return try withExtendedLifetime(file) { try body(CMSEnvelope(structure), file.descriptor) }
    }

    /// Returns the parts of the plaintext, and the error if there is one.
    private func open(
        _ message: [UInt8], secret: String, work: OpeningWork = OpeningWork()
    ) throws -> (plaintext: [UInt8], error: CMSError?) {
        try withEnvelope(message) { envelope, file in
            var plaintext: [UInt8] = []
            do {
                let recipient = unsafe try envelope.decrypt(
                    file, withSecret: SecretBytes(utf8: secret), work: work
                ) { unsafe plaintext += Array($0) }
                #expect(recipient != nil && recipient == envelope.recipients.first)
            } catch let error as CMSError {
                return (plaintext, error)
            }
            return (plaintext, nil)
        }
    }

    @Test("A message for a shared key is decrypted only with a key of 16, 24 or 32 bytes that matches")
    func sharedKey() throws {
        let key = "000102030405060708090A0B0C0D0E0F"
        let message = try message("-aes-128-cbc -secretkey \(key) -secretkeyid 01")
        let recipient = try withEnvelope(message) { envelope, _ in envelope.recipients.first }
        #expect(recipient?.method == .sharedKey && recipient?.isOpenedBySecret == true)
        #expect(recipient?.sharedKeyIdentifier == [1] && recipient?.name == "a shared key (01)")
        let opened = try open(message, secret: key)
        #expect(opened.plaintext == Self.content && opened.error == nil)
        for (secret, reason) in [
            (key.replacing("0F", with: "10"), "the shared key does not open"),
            (key + "00000000", "provide its 32, 48 or 64"),
            (key + key, "the shared key does not open"), ("password", "provide its 32, 48 or 64"),
        ] {
            let failed = try open(message, secret: secret)
            #expect(failed.plaintext.isEmpty && failed.error?.code == .wrongPassword)
            #expect(failed.error?.reason.contains(reason) == true, "\(secret)")
        }
    }

    @Test(
        "A password decrypts a message for it within the limits of the derivation, and another one does not")
    func password() throws {
        let message = try message("-aes-256-cbc -pwri_password secret")
        let parameters = try #require(
            try withEnvelope(message) { envelope, _ in envelope.recipients.first?.password })
        #expect(try open(message, secret: "secret").plaintext == Self.content)
        let wrong = try open(message, secret: "Secret")
        #expect(wrong.plaintext.isEmpty && wrong.error?.code == .wrongPassword)
        #expect(wrong.error?.reason.contains("the password does not open") == true)

        var limits = PKCS12Limits()
        limits.iterations = parameters.iterations
        #expect(try open(message, secret: "secret", work: OpeningWork(limits: limits)).error == nil)
        limits.iterations -= 1
        let refused = try open(message, secret: "secret", work: OpeningWork(limits: limits))
        #expect(refused.error?.code == .overLimit && refused.plaintext.isEmpty)
    }

    @Test("The processor time of one derivation and of all derivations of a message is limited")
    func work() throws {
        let message = try message("-aes-256-cbc -pwri_password secret")
        let parameters = try #require(
            try withEnvelope(message) { envelope, _ in envelope.recipients.first?.password })
        let one = DerivationWork.pbkdf2(
            digest: parameters.digest.replacing("-", with: ""), iterations: parameters.iterations, length: 32)
        func budget(_ nanoseconds: Int) -> OpeningWork {
            var limits = PKCS12Limits()
            limits.patience = .nanoseconds(nanoseconds)
            return OpeningWork(limits: limits)
        }
        #expect(throws: CMSError(.overLimit, "")) { try budget(one - 1).take(parameters, count: 0) }
        #expect(throws: Never.self) { try budget(one).take(parameters, count: 1) }
        #expect(throws: CMSError(.overLimit, "")) { try budget(2 * one - 1).take(parameters, count: 2) }
        let spent = budget(2 * one)
        for isLeft in [true, true, false] {
            let isTaken = (try? spent.take(parameters, count: 1)) != nil
            #expect(isTaken == isLeft)
        }
    }

    @Test("A password recipient with another key encryption or cipher is not supported")
    func otherAlgorithms() throws {
        let message = try message("-aes-256-cbc -pwri_password secret")
        // id-alg-PWRI-KEK (RFC 3211).
        let wrapping: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x03, 0x09]
        let other = try #require(message.replacingFirst(wrapping, with: wrapping.dropLast() + [0x08]))
        let camellia = try self.message("-aes-256-cbc -pwri_password secret -camellia128")
        for message in [other, camellia] {
            let structure = try CMSStructure(reading: ArraySource(message)) { _ in }
            #expect(structure.passwordParameters == [nil])
        }
    }

    /// A message with this number of entries of one recipient. Only the last entry is intact.
    private func entries(_ count: Int) throws -> [UInt8] {
        let certificate = try TestPKI.leaf()
        var message = try CMSEnvelope.encrypt(
            Self.content, for: Array(repeating: certificate, count: count), cipher: .aes256CBC)
        // The serial number, and the header of the wrapped key of 40 bytes.
        let start: [UInt8] = [0x02, 0x02, 0x04, 0x8F, 0x04, 0x28]
        var place = 0
        for _ in 1..<count {
            place = try #require(message[place...].firstRange(of: start)).upperBound
            message[place] ^= 1
        }
        return message
    }

    @Test("At most 16 entries of one recipient are tried")
    func entriesOfRecipient() throws {
        func open(_ message: [UInt8]) throws -> [UInt8] {
            try withEnvelope(message) { envelope, file in
                var plaintext: [UInt8] = []
                unsafe try envelope.decrypt(
                    file, with: TestPKI.leafKey, as: #require(envelope.recipients.first)
                ) { unsafe plaintext += Array($0) }
                return plaintext
            }
        }
        let most = CMSLimits.entriesOfRecipient
        #expect(try open(entries(most)) == Self.content)
        #expect(throws: CMSError(.altered, "")) { try open(entries(most + 1)) }
    }

    @Test("A key that does not open the message receives no plaintext")
    func otherKey() throws {
        let content = [UInt8](repeating: 0x41, count: 200_000)
        let message = try CMSEnvelope.encrypt(content, for: [TestPKI.leaf()], cipher: .aes128CBC)
        _ = try withEnvelope(message) { envelope, file in
            #expect(throws: CMSError(.altered, "")) {
                unsafe try envelope.decrypt(
                    file, with: TestPKI.rootKey, as: #require(envelope.recipients.first)
                ) { _ in Issue.record("plaintext") }
            }
        }
    }

    @Test("A message cannot be encrypted for a Diffie-Hellman key")
    func diffieHellman() throws {
        try scratch.shell(
            """
            openssl genpkey -algorithm DH -pkeyopt group:ffdhe2048 -out key.pem
            openssl pkey -in key.pem -pubout -outform DER -out public.der
            """)
        let key = try PublicKey(spki: scratch.read("public.der"))
        let certificate = try TestPKI.root.issue(try TestPKI.template(), to: key)
        #expect(throws: CMSError(.unsuitableKey, "")) {
            try CMSEnvelope.encrypt(Self.content, for: [certificate], cipher: .aes128CBC)
        }
    }

    @Test("The error for an unsupported cipher contains the reason")
    func unsupportedCiphers() {
        for oid in [OID.rc2CBC, OID.desCBC] {
            #expect(ContentCipher.unsupportedReason(oid: oid).contains("is too weak"))
        }
        for oid in [OID.aes128CCM, OID.aes192CCM, OID.aes256CCM, OID.chaCha20Poly1305] {
            #expect(ContentCipher.unsupportedReason(oid: oid).contains("does not implement"))
        }
        #expect(ContentCipher.unsupportedReason(oid: "1.2.3") == "is not supported")
    }

    @Test("The ciphers with GCM authenticate the content")
    func authentication() {
        let authenticated = ContentCipher.allCases.filter(\.isAuthenticated)
        #expect(authenticated == [.aes128GCM, .aes192GCM, .aes256GCM])
    }
}
