import SecretMemory
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("PKCS #12 files whose MAC accepts the password", .timeLimit(.minutes(10)))
struct ProvenPasswordTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first

    @Test(
        "A safe that does not decrypt to bags is malformed, and the error names the safe",
        arguments: [[], [4, 5, 104, 101, 108, 108, 111], [0x30, 0x80], [UInt8](repeating: 0xA5, count: 40)])
    func strangeSafe(plaintext: [UInt8]) throws {
        let layer = try PKCS12Samples.encrypt(SecretBytes(plaintext))
        let file = try PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)])
        let expected = PKCS12Error.malformed("safe 1", expected: "a SEQUENCE of bags")
        #expect(PKCS12.inspect(file, password: password).error == expected)
    }

    @Test("A safe that cannot be decrypted is reported as damaged or as having another password")
    func shutSafe() throws {
        let bag = try PKCS12Samples.bag("1.2.3.5", value: [4, 40] + [UInt8](repeating: 0x41, count: 40))
        let layer = try PKCS12Samples.encrypt(SecretBytes(PKCS12Samples.contents([bag])))
        let another = SecretBytes(utf8: "another")
        for file in try [
            PKCS12Samples.file([PKCS12Samples.encryptedSafe(cut(layer))]),
            PKCS12Samples.file([PKCS12Samples.encryptedSafe([bag], password: another)]),
        ] {
            #expect(PKCS12.inspect(file, password: password).error == .unopened("safe 1"))
        }
    }

    @Test(
        "A key with invalid plaintext is unreadable, and an undecryptable key may have another password"
    )
    func strangeKeys() throws {
        let whole = try unsafe first.key.pkcs8().withUnsafeBytes { unsafe Array($0) }
        // An ECPrivateKey, which is not a PrivateKeyInfo, begins with a version and an OCTET STRING.
        let elliptic: [UInt8] = [0x30, 6, 2, 1, 1, 4, 1, 1]
        for plaintext in [Array(whole.dropLast(1)), [UInt8](repeating: 0xA5, count: 40), elliptic, []] {
            let contents = try read(PKCS12Samples.encrypt(SecretBytes(plaintext)))
            #expect(contents.unreadableKeys.map(\.place) == ["safe 1, bag 1"])
            #expect(throws: PKCS12Error.malformed("safe 1, bag 1", expected: "a private key")) {
                try contents.requireIdentities()
            }
        }
        let layer = try PKCS12Samples.encrypt(SecretBytes([UInt8](repeating: 0x41, count: 48)))
        let contents = try read(cut(layer))
        #expect(contents.lockedKeys.map(\.place) == ["safe 1, bag 1"])
        #expect(contents.obstacles == [.unopened("safe 1, bag 1")])
    }

    @Test("A key of a known type with invalid contents is unreadable, and its type is not unknown")
    func wrongContents() throws {
        let info = try ASN1.encoded { coder in
            try coder.sequence { info in
                try info.serialize(0)
                try info.sequence { try $0.null(after: OID.rsa) }
                try info.octets([1, 2, 3])
            }
        }
        let file = try PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(OID.keyBag, value: info)])])
        let contents = try PKCS12.read(file, password: password)
        #expect(contents.unreadableKeys.count == 1)
        #expect(contents.unknownKeys.isEmpty)
    }

    @Test("Extra octets after a safe, a key, a certificate or the AuthenticatedSafe are skipped and noted")
    func trailingOctets() throws {
        let certificate = try ASN1.encoded {
            try $0.appendCertificateBag(first.certificate.der + [0], .init())
        }
        let key = try unsafe first.key.pkcs8().withUnsafeBytes { unsafe Array($0) + [0] }
        let bags = try [certificate, PKCS12Samples.bag(key: PKCS12Samples.encrypt(SecretBytes(key)))]
        let contents = try PKCS12Samples.contents(bags) + [0, 1]
        let shut = try PKCS12Samples.encryptedSafe(PKCS12Samples.encrypt(SecretBytes(contents)))
        let open = try ASN1.encoded { try $0.appendData(contents) }
        for safe in [shut, open] {
            let read = try PKCS12.read(PKCS12Samples.file([safe], trailing: [0]), password: password)
            #expect(read.identities.map(\.certificate) == [first.certificate])
            #expect(
                Set(read.notes) == [
                    .trailingOctets(place: "AuthenticatedSafe", count: 1),
                    .trailingOctets(place: "safe 1", count: 2),
                    .trailingOctets(place: "safe 1, bag 1", count: 1),
                    .trailingOctets(place: "safe 1, bag 2", count: 1),
                ])
        }
    }

    /// The layer without the last block, so that octets of the plaintext are in the place of the padding.
    private func cut(_ layer: EncryptedLayer) -> EncryptedLayer {
        EncryptedLayer(algorithm: layer.algorithm, ciphertext: Array(layer.ciphertext.dropLast(16)))
    }

    private func read(_ key: EncryptedLayer) throws -> PKCS12Contents {
        try PKCS12.read(
            PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(key: key)])]), password: password)
    }
}
