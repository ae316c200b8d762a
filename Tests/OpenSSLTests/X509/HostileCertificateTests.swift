import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport
import Testing

@Suite("Malformed certificates and keys", .timeLimit(.minutes(10)))
struct HostileCertificateTests {
    @Test("A certificate that is truncated anywhere is rejected with OpenSSL's reasons")
    func truncations() throws {
        let der = try TestPKI.leaf { $0.subjectAlternativeNames = [.userPrincipalName("1@mil")] }.der
        for count in 0..<der.count {
            let error = #expect(throws: CertificateError.self) {
                try Certificate(der: Array(der.prefix(count)))
            }
            #expect(error?.code == .malformed)
            #expect((error?.cause as? OpenSSLError)?.queue.isEmpty == false)
        }
    }

    @Test("Bytes after a certificate are rejected")
    func trailing() throws {
        let der = try TestPKI.leaf().der
        #expect(throws: CertificateError(.trailingBytes, "")) { try Certificate(der: der + [0]) }
    }

    @Test("A certificate with the largest version that OpenSSL can read is readable")
    func version() throws {
        var der = try TestPKI.leaf().der
        let version = try #require(der.firstRange(of: [0xA0, 0x03, 0x02, 0x01, 0x02]))
        // Both sequences around it have lengths of two octets.
        #expect(der[1] == 0x82 && der[5] == 0x82 && version.lowerBound == 8)
        der.replaceSubrange(
            version, with: [0xA0, 0x0A, 0x02, 0x08, 0x7F] + [UInt8](repeating: 0xFF, count: 7))
        for place in [2, 6] {
            let length = Int(der[place]) << 8 + Int(der[place + 1]) + 7
            (der[place], der[place + 1]) = (UInt8(length >> 8), UInt8(length & 0xFF))
        }
        #expect(try Certificate(der: der).version == .max)
    }

    @Test("Every property of a certificate with random changes can be read, or the certificate is rejected")
    func mutations() throws {
        var generator = Seed("1").generator()
        let originals = try Self.certificatesOfSeeds().map(\.der)
        var verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
        verifier.acceptedPolicies = ["2.16.840.1.101.3.2.1.48.9"]
        verifier.isStrict = true
        var accepted = 0
        for round in 0..<2_000 {
            var der = originals[round % originals.count]
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                der[Int.random(in: 0..<der.count, using: &generator)] = .random(
                    in: .min ... .max, using: &generator)
            }
            guard let certificate = try? Certificate(der: der) else { continue }
            accepted += 1
            _ =
                "\(certificate) \(certificate.issuer) \(certificate.subjectAlternativeNames) \(certificate.defects)"
            _ = certificate.publicKey.keyIdentifier
            #expect(certificate.der == der)
            _ = certificate.extensions.map(\.value)
            if round.isMultiple(of: 10) {
                _ = TestPKI.leafKey.matches(certificate)
                verifier.intermediates = [certificate]
                #expect(verifier.verify(certificate, at: TestPKI.now).checks.count == 8)
            }
        }
        // Certificates and changes come from seeds. Most changes affect a key, a signature or a string, and leave a
        // certificate that can be decoded.
        #expect(accepted == 967)
    }

    /// Two certificates that are the same in every run: one with many extensions, and one with few.
    private static func certificatesOfSeeds() throws -> [Certificate] {
        let key = try PrivateKey.generate(.p256, seed: Seed("key"))
        let root = try CertificateIssuer(
            selfSigned: TestPKI.template("Test Root"), privateKey: key, seed: Seed("root"))
        var template = try TestPKI.template()
        template.keyUsage = .digitalSignature
        template.policies = ["2.16.840.1.101.3.2.1.48.9"]
        template.extendedKeyUsage = ["1.3.6.1.5.5.7.3.2"]
        template.subjectAlternativeNames = [
            .userPrincipalName("1@mil"),
            .otherName(type: GeneralName.fascnType, value: .octetString([1])),
            .directoryName(try TestPKI.name("X")), .iPAddress([1, 2, 3, 4]), .registeredID("1.2.3"),
        ]
        return [try root.issue(template, to: key, seed: Seed("leaf")), root.certificate]
    }

    @Test("A private key with random changes is rejected, or is exported exactly as it was loaded")
    func mutatedKeys() throws {
        var generator = Seed("2").generator()
        for sample in SampleKeys.all {
            for _ in 0..<50 {
                var bytes = sample.pkcs8
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: .min ... .max, using: &generator)
                guard let key = try? PrivateKey(pkcs8: SecretBytes(bytes)) else { continue }
                #expect(key.publicKey.keyIdentifier.count == 20)
                guard let exported = try? key.pkcs8() else { continue }
                #expect(try PrivateKey(pkcs8: exported).publicKey == key.publicKey)
            }
        }
    }

    @Test("Characters in names that could control a terminal are escaped")
    func controls() throws {
        let certificate = try TestPKI.leaf {
            $0.subject = try DistinguishedName([.init("CN", "a\u{1B}[2Jb\u{202E}c")])
            $0.subjectAlternativeNames = [.userPrincipalName("x\u{07}\ny")]
        }
        #expect(certificate.subject.description == "CN=a\\1B[2Jb\\E2\\80\\AEc")
        #expect(certificate.subjectAlternativeNames.first?.description == "UPN:x\\u{7}\\u{A}y")
        #expect(certificate.subject.commonName == "a\u{1B}[2Jb\u{202E}c")
    }
}
