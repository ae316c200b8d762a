@testable import OpenSSL
import Testing

@Suite("What is written as PKCS #12")
struct RoundTripTests {
    @Test(
        "opens again under its password and no other",
        arguments: PKCS12Profile.Name.allCases, ["password", "", "Mötley Crüe", "пароль 🔑"])
    func passwords(name: PKCS12Profile.Name, password: String) throws {
        let bytes = try FileBuilder.written(PKCS12Profile(name), password: SecretBytes(utf8: password))
        let contents = try PKCS12.read(bytes, password: .text(SecretBytes(utf8: password)))
        let identity = try #require(contents.identities.first)
        #expect(contents.identities.count == 1)
        #expect(identity.certificate == FileBuilder.first.certificate)
        #expect(identity.friendlyName == "A name")
        #expect(identity.localKeyID == Digest.sha1(FileBuilder.first.certificate.der))
        #expect(try identity.privateKey.pkcs8() == FileBuilder.first.key.pkcs8())
        let other = PKCS12.inspect(bytes, password: .text(SecretBytes(utf8: password + "x")))
        #expect(other.verdict == .wrongPassword)
    }

    @Test("says which encryption and MAC it has, even under a wrong password")
    func schemes() throws {
        let modern = PKCS12.inspect(try FileBuilder.written(.modern), password: .absent)
        #expect(modern.verdict == .wrongPassword)
        #expect(modern.contents.encryption == ["PBES2 AES-256-CBC PBKDF2 HMAC-SHA-256 2048"])
        #expect(modern.contents.mac == MACInfo(algorithm: "HMAC-SHA-256", iterations: 2048, saltLength: 16))
        let compatible = PKCS12.inspect(
            try FileBuilder.written(.compatible.iterations(3)), password: .text(FileBuilder.password))
        #expect(compatible.verdict == .ok)
        #expect(compatible.contents.encryption == ["pbeWithSHA1And3-KeyTripleDES-CBC 3"])
        #expect(compatible.contents.mac == MACInfo(algorithm: "HMAC-SHA-1", iterations: 3, saltLength: 8))
        #expect(compatible.contents.notes.isEmpty)
    }

    @Test("keeps the chain in its order, without keys")
    func chain() throws {
        let chain = [FileBuilder.second.certificate, FileBuilder.Identity("Third").certificate]
        let contents = try PKCS12.read(
            FileBuilder.written(friendlyName: nil, chain: chain), password: .text(FileBuilder.password))
        #expect(contents.certificates == chain)
        #expect(contents.certificateCount == 3)
        #expect(contents.identities.first?.friendlyName == nil)
    }

    @Test("opens without a password being given when the password is empty")
    func emptyPassword() throws {
        let bytes = try FileBuilder.written(.compatible, password: SecretBytes([]))
        let contents = try PKCS12.read(bytes, password: nil)
        #expect(contents.notes.contains(.passwordEncoding(layer: "the MAC", .empty)))
        #expect(throws: PKCS12Error(.wrongPassword)) { try PKCS12.read(bytes, password: .absent) }
    }

    @Test("is not written for a certificate of another key, with a cut password or with impossible work")
    func refusals() throws {
        #expect(throws: PKCS12Error(.keyMismatch)) {
            try PKCS12.create(
                privateKey: FileBuilder.first.key, certificate: FileBuilder.second.certificate,
                friendlyName: nil, password: FileBuilder.password, profile: .modern)
        }
        #expect(throws: PKCS12Error(.refused(limit: .passwordWithZeroByte))) {
            try FileBuilder.written(password: SecretBytes([65, 0, 66]))
        }
        for count in [0, -1, 2_000_001] {
            #expect(throws: PKCS12Error(.refused(limit: .iterations))) {
                try FileBuilder.written(.modern.iterations(count))
            }
        }
    }
}
