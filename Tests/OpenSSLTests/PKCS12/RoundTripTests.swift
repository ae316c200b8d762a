import SecretMemory
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("Writing PKCS #12 files", .timeLimit(.minutes(10)))
struct RoundTripTests {
    @Test(
        "A written file opens only under its password",
        arguments: PKCS12Profile.Name.allCases, ["password", "", "Mötley Crüe", "пароль 🔑"])
    func passwords(name: PKCS12Profile.Name, password: String) throws {
        let bytes = try PKCS12Samples.written(PKCS12Profile(name), password: SecretBytes(utf8: password))
        let password = name == .emptyPassword ? "" : password
        let contents = try PKCS12.read(
            bytes, password: .text(SecretBytes(utf8: password)), allowNoMAC: name == .noMAC)
        let identity = try #require(contents.identities.first)
        #expect(contents.identities.count == 1)
        #expect(identity.certificate == PKCS12Samples.first.certificate)
        #expect(identity.friendlyName == "A name")
        #expect(identity.localKeyID == Digest.sha1(PKCS12Samples.first.certificate.der))
        #expect(try identity.privateKey.pkcs8() == PKCS12Samples.first.key.pkcs8())
        let other = PKCS12.inspect(bytes, password: .text(SecretBytes(utf8: password + "x")))
        #expect(other.verdict == .wrongPassword)
    }

    @Test(
        "The encryption and the MAC of a written file are reported, even under a wrong password",
        arguments: ProfileCase.all)
    func schemes(expected: ProfileCase) throws {
        for iterations in [nil, 3] {
            var profile = PKCS12Profile(expected.name)
            if let iterations { profile = profile.iterations(iterations) }
            let bytes = try PKCS12Samples.written(profile)
            for password in [PKCS12Samples.password, SecretBytes([])] {
                let report = PKCS12.inspect(bytes, password: .text(password))
                let isRight = (expected.name == .emptyPassword) == password.isEmpty
                #expect(report.verdict == (isRight ? .ok : .wrongPassword))
                let encryption = expected.encryption.map { "\($0) \(iterations ?? 2048)" }
                // Without a MAC, only the first layer shows that a password is wrong.
                #expect(
                    report.contents.encryption == (isRight ? encryption : Array(encryption.prefix(1)))
                        || report.contents.encryption == encryption)
                #expect(report.contents.mac?.algorithm == expected.mac)
                if let mac = report.contents.mac {
                    #expect(mac.iterations == (expected.name == .purebredSample ? 1 : iterations ?? 2048))
                }
                let notes: [PKCS12Note] =
                    switch expected.name {
                    case .noMAC: [.noMAC]
                    case .emptyPassword where isRight:
                        [
                            .passwordEncoding(layer: "the MAC", .empty),
                            .passwordEncoding(layer: "safe 1", .empty),
                        ]
                    default: []
                    }
                #expect(report.contents.notes == notes)
            }
        }
    }

    @Test("The certificates of the chain are written in the order of the chain")
    func chain() throws {
        let chain = [PKCS12Samples.second.certificate, PKCS12Samples.Identity("Third").certificate]
        let contents = try PKCS12.read(
            PKCS12Samples.written(friendlyName: nil, chain: chain), password: .text(PKCS12Samples.password))
        #expect(contents.certificates == chain)
        #expect(contents.certificateCount == 3)
        #expect(contents.identities.first?.friendlyName == nil)
    }

    @Test("The sample profile omits the chain by default")
    func withoutChain() throws {
        var profile = PKCS12Profile(.purebredSample)
        let chain = [PKCS12Samples.second.certificate]
        let password = PKCS12Password.text(PKCS12Samples.password)
        let bare = try PKCS12.read(PKCS12Samples.written(profile, chain: chain), password: password)
        #expect(bare.certificateCount == 1)
        profile.includesChain = true
        let whole = try PKCS12.read(PKCS12Samples.written(profile, chain: chain), password: password)
        #expect(whole.certificates == chain)
    }

    @Test("The sample profile writes MacData in the format of the samples")
    func sampleShape() throws {
        let bytes = try PKCS12Samples.written(PKCS12Profile(.purebredSample))
        let pfx = try PFX(bytes, limits: .standard)
        // A MacData of this size contains a DigestInfo with SHA-1 and eight octets of salt, and no iteration count.
        #expect(pfx.macData?.encodedBytes.count == 47)
        let report = PKCS12.inspect(bytes, password: .text(PKCS12Samples.password))
        #expect(report.contents.mac?.saltLength == 8)
        #expect(!report.contents.notes.contains(.basicEncoding))
    }

    @Test("The profile sample-served has the layout that the sample app serves")
    func servedShape() throws {
        let chain = [PKCS12Samples.second.certificate]
        let bytes = try PKCS12Samples.written(PKCS12Profile(.sampleServed), chain: chain)
        let contents = try PKCS12.read(bytes, password: .text(PKCS12Samples.password))
        #expect(contents.identities.map(\.certificate) == [PKCS12Samples.first.certificate])
        #expect(contents.certificateCount == 1 && contents.safeCount == 2)
        let layer = try #require(contents.layers.first)
        #expect(contents.layers.count == 1)
        #expect(layer.place == "safe 2, bag 1" && layer.schemeName == "pbeWithSHA1And3-KeyTripleDES-CBC")
        #expect(layer.iterations == 2_048 && layer.saltLength == 8)
        let mac = try #require(contents.mac)
        #expect(mac.algorithm == "HMAC-SHA-1" && mac.iterations == 2_048 && mac.saltLength == 8)
        // The certificate is visible without a password.
        #expect(bytes.firstRange(of: PKCS12Samples.first.certificate.der) != nil)
    }

    @Test("Random octets are drawn for the certificates, then for each key, then for the MAC")
    func drawing() throws {
        // The bytes of the fixtures depend on this order.
        let first = PKCS12Samples.first
        for (name, sizes) in [
            (PKCS12Profile.Name.modern, [16, 16, 16, 16, 16]), (.compatible, [8, 8, 8]),
            (.purebredSample, [8, 8, 8]), (.sampleServed, [8, 8]), (.pbmac1, [16, 16, 16, 16, 16]),
            (.noMAC, [16, 16, 16, 16]),
            (.emptyPassword, [16, 16, 16, 16, 16]),
        ] {
            var drawn: [Int] = []
            _ = try PKCS12.create(
                privateKey: first.key, certificate: first.certificate, friendlyName: nil,
                password: PKCS12Samples.password, profile: PKCS12Profile(name).iterations(1)
            ) { count in
                drawn.append(count)
                return [UInt8](repeating: UInt8(drawn.count), count: count)
            }
            #expect(drawn == sizes, "\(name)")
        }
        var drawn: [Int] = []
        _ = try PKCS12FileBuilder().file(password: PKCS12Samples.password) { count in
            drawn.append(count)
            return [UInt8](repeating: 1, count: count)
        }
        // Without certificates the encrypted safe is omitted, but its random octets are drawn anyway.
        #expect(drawn == [16, 16, 16])
    }

    @Test("A file with the empty password opens if no password is given")
    func emptyPassword() throws {
        let bytes = try PKCS12Samples.written(.compatible, password: SecretBytes([]))
        let contents = try PKCS12.read(bytes, password: nil)
        #expect(contents.notes.contains(.passwordEncoding(layer: "the MAC", .empty)))
        #expect(throws: PKCS12Error(.wrongPassword)) { try PKCS12.read(bytes, password: .absent) }
    }

    @Test(
        "Writing fails for a mismatched certificate, a zero byte in the password or impossible iterations"
    )
    func refusals() throws {
        #expect(throws: PKCS12Error(.keyMismatch)) {
            try PKCS12.create(
                privateKey: PKCS12Samples.first.key, certificate: PKCS12Samples.second.certificate,
                friendlyName: nil, password: PKCS12Samples.password, profile: .modern)
        }
        #expect(throws: PKCS12Error(.refused(limit: .passwordWithZeroByte))) {
            try PKCS12Samples.written(password: SecretBytes([65, 0, 66]))
        }
        for count in [0, -1, 2_000_001] {
            #expect(throws: PKCS12Error(.refused(limit: .iterations))) {
                try PKCS12Samples.written(.modern.iterations(count))
            }
        }
    }
}

/// The encryption and the MAC that belong to the name of a profile.
struct ProfileCase: Sendable, CustomTestStringConvertible {
    let name: PKCS12Profile.Name
    let encryption: [String]
    let mac: String?
    var testDescription: String { name.rawValue }

    static let all = PKCS12Profile.Name.allCases.map(ProfileCase.init)

    init(_ name: PKCS12Profile.Name) {
        let aes = "PBES2 AES-256-CBC PBKDF2 HMAC-SHA-256"
        let des = "pbeWithSHA1And3-KeyTripleDES-CBC"
        self.name = name
        (encryption, mac) =
            switch name {
            case .modern, .emptyPassword: ([aes], "HMAC-SHA-256")
            case .compatible: ([des], "HMAC-SHA-1")
            case .sampleServed: ([des], "HMAC-SHA-1")
            case .purebredSample: (["pbeWithSHA1And40BitRC2-CBC", des], "HMAC-SHA-1")
            case .pbmac1: ([aes], "PBMAC1 HMAC-SHA-256 PBKDF2 HMAC-SHA-256")
            case .noMAC: ([aes], nil)
            }
    }
}
