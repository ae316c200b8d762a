import OpenSSL
import PrivateFiles
import SecretMemory
import Synchronization
import TestSupport
import Testing

/// The holder of a private key for the tests, which records the requested operations.
private final class KeyHolder: ExternalPrivateKey {
    struct Refusal: Error, Equatable { let number: Int }

    private let key: PrivateKey
    private let asked = Mutex<[PrivateKeyUse]>([])
    private let refusal = Mutex<Refusal?>(nil)

    init(_ key: PrivateKey) { self.key = key }

    var publicKey: PublicKey { key.publicKey }

    /// Returns the requested operations since the last call.
    func takeUses() -> [PrivateKeyUse] {
        asked.withLock { uses in
            defer { uses = [] }
            return uses
        }
    }

    func refuse(_ error: Refusal?) { refusal.withLock { $0 = error } }

    func result(of use: PrivateKeyUse) throws -> SecretBytes? {
        asked.withLock { $0.append(use) }
        if let error = refusal.withLock({ $0 }) { throw error }
        return switch use {
        case .signRSA(let bytes, let padding): SecretBytes(try key.signRSA(bytes, padding: padding))
        case .decryptRSA(let bytes, let padding): try key.decryptRSA(bytes, padding: padding)
        case .signECDSA(let digest): SecretBytes(try key.signECDSA(digest))
        case .agree(let point): try key.sharedSecret(with: point)
        }
    }
}

/// An external key whose operations are a closure.
private struct ClosureKey: ExternalPrivateKey {
    let publicKey: PublicKey
    let operation: @Sendable (PrivateKeyUse) throws -> SecretBytes?

    func result(of use: PrivateKeyUse) throws -> SecretBytes? { try operation(use) }
}

@Suite("Keys whose private half is held externally", .timeLimit(.minutes(10)))
struct ExternalPrivateKeyTests {
    private static let keys = [TestPKI.rsaKey, TestPKI.leafKey, TestPKI.key(.p384)]
    private let scratch: ScratchFolder
    private let content = Array("Content-Type: text/plain\r\n\r\nsecret\r\n".utf8)

    init() throws { scratch = try ScratchFolder() }

    private func certificate(_ key: PrivateKey) throws -> Certificate {
        try TestPKI.root.issue(try TestPKI.template(), to: key)
    }

    private func external(
        _ publicKey: PublicKey, _ operation: @escaping @Sendable (PrivateKeyUse) throws -> SecretBytes?
    ) throws -> PrivateKey {
        try PrivateKey(ClosureKey(publicKey: publicKey, operation: operation))
    }

    /// Decrypts a message for one recipient and returns its content.
    private func open(_ message: [UInt8], with key: PrivateKey) throws -> [UInt8] {
        let file = try UnnamedFile(in: scratch.path)
        let structure = try CMSStructure(reading: ArraySource(message)) { try file.write($0) }
        try file.rewind()
        let envelope = try CMSEnvelope(structure)
        var plaintext: [UInt8] = []
        unsafe try envelope.decrypt(file.descriptor, with: key, as: #require(envelope.recipients.first)) {
            unsafe plaintext += Array($0)
        }
        return plaintext
    }

    private func sign(_ text: [UInt8], as certificate: Certificate, with key: PrivateKey) throws -> [UInt8] {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(text)
        try file.rewind()
        return try withExtendedLifetime(file) {
            try CMSSignature.sign(file.descriptor, as: certificate, with: key)
        }
    }

    @Test(
        "An external key decrypts messages with every padding, with one request for each message",
        arguments: keys.indices)
    func opens(index: Int) throws {
        let key = Self.keys[index]
        let holder = KeyHolder(key)
        let remote = try PrivateKey(holder)
        for transport in key.type == .rsa ? RSAKeyTransport.allCases : [.pkcs1] {
            for cipher in [ContentCipher.aes256CBC, .aes128GCM] {
                let message = try CMSEnvelope.encrypt(
                    content, for: [try certificate(key)], cipher: cipher, transport: transport)
                #expect(try open(message, with: remote) == content)
                let uses = holder.takeUses()
                #expect(uses.count == 1)
                switch uses.first {
                case .decryptRSA(let bytes, let padding):
                    #expect(bytes.count == 256 && padding == (transport == .oaep ? .none : .pkcs1(nil)))
                case .agree(let point): #expect(point.count == 1 + key.bits / 4 && point.first == 4)
                default: Issue.record("\(uses)")
                }
            }
        }
    }

    @Test(
        "An external key signs a message with one request for the digest of the attributes",
        arguments: keys.indices)
    func signs(index: Int) throws {
        let key = Self.keys[index]
        let (holder, certificate) = (KeyHolder(key), try certificate(key))
        let message = try sign(content, as: certificate, with: try PrivateKey(holder))
        let structure = try CMSStructure(reading: ArraySource(message)) { _ in }
        let file = try UnnamedFile(in: scratch.path)
        try file.write(content)
        try file.rewind()
        #expect(try CMSSignature(structure).verify(file.descriptor) == [CMSSigner(certificate)])
        let uses = holder.takeUses()
        #expect(uses.count == 1)
        switch uses.first {
        case .signRSA(let digest, let padding): #expect(digest.count == 32 && padding == .pkcs1(.sha256))
        case .signECDSA(let digest): #expect(digest.count == 32)
        default: Issue.record("\(uses)")
        }
    }

    @Test(
        "An error of the key's holder is rethrown and does not affect later operations",
        arguments: keys.indices)
    func errors(index: Int) throws {
        let key = Self.keys[index]
        let (holder, certificate) = (KeyHolder(key), try certificate(key))
        let remote = try PrivateKey(holder)
        // Two entries for one recipient. The second one is not tried after an error.
        let message = try CMSEnvelope.encrypt(content, for: [certificate, certificate], cipher: .aes256CBC)
        holder.refuse(.init(number: 7))
        #expect(throws: KeyHolder.Refusal(number: 7)) { try open(message, with: remote) }
        #expect(holder.takeUses().count == 1)
        #expect(throws: KeyHolder.Refusal(number: 7)) { try sign(content, as: certificate, with: remote) }
        holder.refuse(nil)
        #expect(try open(message, with: remote) == content)
        #expect(throws: Never.self) { try sign(content, as: certificate, with: remote) }
    }

    @Test(
        "A failed decryption is reported as an altered message, and a result of the wrong length as an error"
    )
    func wrongResults() throws {
        for key in Self.keys {
            let certificate = try certificate(key)
            let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes256GCM)
            let silent = try external(key.publicKey) { _ in nil }
            #expect(throws: CMSError(.altered, "")) { try open(message, with: silent) }
            #expect(throws: CMSError(.unmakable, "")) { try sign(content, as: certificate, with: silent) }
            let other = try external(key.publicKey) { _ in SecretBytes([UInt8](repeating: 1, count: 24))
            }
            // A content key of the wrong length opens no message. OpenSSL reports no further details.
            if key.type == .rsa {
                #expect(throws: CMSError(.altered, "")) { try open(message, with: other) }
                #expect(throws: OpenSSLError.self) { try sign(content, as: certificate, with: other) }
            } else {
                #expect(throws: OpenSSLError.self) { try open(message, with: other) }
            }
            let long = try external(key.publicKey) { _ in SecretBytes([UInt8](repeating: 1, count: 600))
            }
            #expect(throws: OpenSSLError.self) { try open(message, with: long) }
            #expect(throws: OpenSSLError.self) { try sign(content, as: certificate, with: long) }
        }
    }

    @Test(
        "An external key matches its certificate, signs with PSS and with raw input, and cannot be exported"
    )
    func keyItself() throws {
        for key in Self.keys {
            let holder = KeyHolder(key)
            let remote = try PrivateKey(holder)
            #expect(remote.type == key.type && remote.bits == key.bits)
            let certificate = try certificate(key)
            #expect(remote.publicKey == key.publicKey && remote.matches(certificate))
            #expect(!remote.matches(TestPKI.root.certificate))
            #expect(throws: OpenSSLError.self) { try remote.pkcs8() }
            #expect(holder.takeUses().isEmpty)
        }
        let key = TestPKI.rsaKey
        let remote = try PrivateKey(KeyHolder(key))
        let digest = [UInt8](repeating: 7, count: 32)
        for padding in [
            RSAPadding.pss(.sha256, mask: .sha256, saltLength: 32), .pkcs1(.sha256), .pkcs1(nil),
        ] {
            let signature = try remote.signRSA(digest, padding: padding)
            #expect(key.publicKey.verifyRSA(signature, of: digest, padding: padding))
        }
        let curve = try PrivateKey.generate(.p256)
        let agreed = try PrivateKey(KeyHolder(TestPKI.leafKey))
            .sharedSecret(with: Array(curve.publicKey.keyOctets))
        let local = try TestPKI.leafKey.sharedSecret(with: Array(curve.publicKey.keyOctets))
        #expect(agreed != nil && agreed == local)
    }

    @Test("External keys of unsupported types, and keys that OpenSSL cannot load, are rejected")
    func otherKinds() throws {
        // The SubjectPublicKeyInfo of an Ed25519 key (RFC 8410, 4), and of an RSA key with an invalid modulus.
        let edwards = try PublicKey(
            spki: [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
                + [UInt8](repeating: 9, count: 32))
        #expect(throws: CertificateError(.unsupportedKey(oid: ""), "")) {
            try external(edwards) { _ in nil }
        }
        let broken = try #require(
            TestPKI.leafKey.publicKey.spki.replacingFirst(
                Array(TestPKI.leafKey.publicKey.keyOctets.suffix(8)), with: [UInt8](repeating: 0, count: 8)))
        #expect(throws: CertificateError(.malformedKey, "")) {
            try external(try PublicKey(spki: broken)) { _ in nil }
        }
    }

    @Test("An external key's holder is released together with the key")
    func lifetime() throws {
        for key in Self.keys {
            weak var weakHolder: KeyHolder?
            do {
                let holder = KeyHolder(key)
                weakHolder = holder
                let remote = try PrivateKey(holder)
                _ = try sign(content, as: try certificate(key), with: remote)
            }
            #expect(weakHolder == nil)
        }
    }

    @Test("Several threads can use one external key concurrently, and each gets its own error")
    func threads() async throws {
        let key = TestPKI.leafKey
        let certificate = try certificate(key)
        let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes128GCM)
        let count = Mutex(0)
        // Every second request fails, each with its own error number.
        let remote = try external(key.publicKey) { use in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number.isMultiple(of: 2), case .agree(let point) = use else {
                throw KeyHolder.Refusal(number: number)
            }
            return try key.sharedSecret(with: point)
        }
        let outcomes = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    do {
                        return try open(message, with: remote) == content ? nil : 0
                    } catch {
                        return (error as? KeyHolder.Refusal)?.number ?? 0
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == nil } == 20)
        #expect(Set(outcomes.compactMap(\.self)) == Set(stride(from: 1, through: 39, by: 2)))
    }
}
