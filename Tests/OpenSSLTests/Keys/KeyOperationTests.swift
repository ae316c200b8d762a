import SecretMemory
import TestSupport
import Testing

@testable import OpenSSL

/// An external key that returns the same bytes for every operation.
private struct ConstantKey: ExternalPrivateKey {
    let publicKey: PublicKey
    let count: Int

    func result(of use: PrivateKeyUse) throws -> SecretBytes? {
        SecretBytes([UInt8](repeating: 1, count: count))
    }
}

@Suite("Operations with keys", .timeLimit(.minutes(10)))
struct KeyOperationTests {
    private let rsa = TestPKI.rsaKey
    private let curve = TestPKI.leafKey
    private let digest = [UInt8](repeating: 7, count: 32)

    @Test("An operation with a key of another type fails, even if OpenSSL would perform it")
    func otherTypes() throws {
        let wrapped = try rsa.publicKey.encryptRSA(SecretBytes(digest), padding: .pkcs1(nil))
        #expect(throws: OpenSSLError.self) { try curve.decryptRSA(wrapped, padding: .pkcs1(nil)) }
        #expect(throws: OpenSSLError.self) {
            try curve.publicKey.encryptRSA(SecretBytes(digest), padding: .pkcs1(nil))
        }
        #expect(throws: OpenSSLError.self) { try rsa.signECDSA(digest) }
        #expect(throws: OpenSSLError.self) { try rsa.sharedSecret(with: Array(curve.publicKey.keyOctets)) }
        let signature = try curve.signECDSA(digest)
        #expect(curve.publicKey.verifyECDSA(signature, of: digest))
        #expect(!curve.publicKey.verifyRSA(signature, of: digest, padding: .none))
        let other = try rsa.signRSA(digest, padding: .pkcs1(nil))
        #expect(rsa.publicKey.verifyRSA(other, of: digest, padding: .pkcs1(nil)))
        #expect(!rsa.publicKey.verifyECDSA(other, of: digest))
        // Without a configured padding, OpenSSL would verify this signature.
        #expect(!rsa.publicKey.verifyECDSA(try rsa.signRSA(digest, padding: .pkcs1(nil)), of: digest))
    }

    @Test("A signature is valid only with the digest, the mask and the salt length with which it was made")
    func paddings() throws {
        let paddings: [RSAPadding] = [
            .pss(.sha256, mask: .sha256, saltLength: 32), .pss(.sha256, mask: .sha256, saltLength: 20),
            .pss(.sha256, mask: .sha256, saltLength: 0), .pss(.sha256, mask: .sha1, saltLength: 32),
            .pkcs1(.sha256), .pkcs1(nil),
        ]
        for padding in paddings {
            let signature = try rsa.signRSA(digest, padding: padding)
            for other in paddings {
                #expect(
                    rsa.publicKey.verifyRSA(signature, of: digest, padding: other) == (other == padding),
                    "\(padding) \(other)")
            }
        }
        #expect(throws: OpenSSLError.self) {
            try rsa.signRSA(digest, padding: .pss(.sha256, mask: .sha256, saltLength: 250))
        }
    }

    @Test("A ciphertext opens only with the label, the digest and the mask with which it was made")
    func labels() throws {
        let secret = SecretBytes(digest)
        let paddings: [RSAPadding] = [
            .oaep(.sha256, mask: .sha256, label: []), .oaep(.sha256, mask: .sha256, label: [1]),
            .oaep(.sha256, mask: .sha1, label: []), .oaep(.sha1, mask: .sha256, label: []),
        ]
        for padding in paddings {
            let ciphertext = try rsa.publicKey.encryptRSA(secret, padding: padding)
            for other in paddings {
                #expect(
                    try rsa.decryptRSA(ciphertext, padding: other) == (other == padding ? secret : nil),
                    "\(padding) \(other)")
            }
        }
    }

    @Test("An external key may return results up to the length that its operation permits")
    func externalLengths() throws {
        func plaintext(_ count: Int, _ padding: RSAPadding) throws -> Int? {
            let key = try PrivateKey(ConstantKey(publicKey: rsa.publicKey, count: count))
            let block = try key.decryptRSA([UInt8](repeating: 1, count: 256), padding: padding)
            return block?.count
        }
        #expect(try plaintext(245, .pkcs1(nil)) == 245)
        #expect(try plaintext(256, .none) == 256)
        for (count, padding) in [(246, .pkcs1(nil)), (256, .pkcs1(nil)), (255, .none)] as [(Int, RSAPadding)]
        {
            #expect((try? plaintext(count, padding)) == nil, "\(count)")
        }
        // The longest signature of ECDSA with P-256 has 72 bytes.
        func signature(_ count: Int) throws -> [UInt8] {
            try PrivateKey(ConstantKey(publicKey: curve.publicKey, count: count)).signECDSA(digest)
        }
        #expect(try signature(72).count == 72)
        for count in [0, 73] { #expect((try? signature(count)) == nil, "\(count)") }
        for count in [255, 257] {
            let key = try PrivateKey(ConstantKey(publicKey: rsa.publicKey, count: count))
            #expect(throws: (any Error).self) { try key.signRSA(digest, padding: .pkcs1(.sha256)) }
        }
    }

    @Test("The first error of an operation with an external key is thrown")
    func firstError() {
        struct Refusal: Error, Equatable { let number: Int }
        let failures = KeyMethods.Failures()
        for number in 1...3 { failures.record(Refusal(number: number)) }
        #expect(failures.first as? Refusal == Refusal(number: 1))
    }

    @Test("An external key that is expensive to load is rejected")
    func costly() throws {
        let spki = try CostlyKey.spki(
            CostlyKey.parameters(isCompressed: true), CostlyKey.generator(isCompressed: false))
        let key = try PublicKey(spki: spki)
        #expect(!key.isLoadable)
        #expect(throws: CertificateError(.costlyKey(oid: ""), "")) {
            try PrivateKey(ConstantKey(publicKey: key, count: 1))
        }
    }

    @Test("A signature of two numbers is converted for every curve, and only if both numbers fit")
    func numbers() throws {
        for (bits, size) in [(256, 32), (384, 48), (521, 66)] {
            let numbers = [UInt8](repeating: 1, count: 2 * size)
            let der = try #require(ECDSASignature.der(numbers))
            #expect(ECDSASignature.concatenated(der, bits: bits) == numbers)
            #expect(ECDSASignature.concatenated(der, bits: bits - 9) == nil)
        }
        #expect(ECDSASignature.der([]) == nil)
        #expect(ECDSASignature.der([1]) == nil && ECDSASignature.der([1, 2, 3]) == nil)
    }

    @Test("A derivation of no bytes fails, and a vector of GCM may have any length")
    func derivations() throws {
        #expect(throws: OpenSSLError.self) {
            try X963KeyDerivation.derive(
                from: SecretBytes(digest), digest: .sha256, sharedInfo: [], count: 0)
        }
        let key = SecretBytes([UInt8](repeating: 1, count: 16))
        let sealed = try (1...32).map { count in
            try AESGCM.seal(
                SecretBytes(digest), key: key, vector: [UInt8](repeating: 2, count: count), associatedData: []
            )
        }
        #expect(Set(sealed).count == 32)
    }
}
