import KeySharing
import SecretMemory
import Foundation
import OpenSSL
import Testing

@Suite("Hostile bytes")
struct HostileCertificateTests {
    @Test("cut off anywhere are refused with OpenSSL's reasons")
    func truncations() throws {
        let der = try TestPKI.leaf { $0.subjectAlternativeNames = [.userPrincipalName("1@mil")] }.der
        for count in 0..<der.count {
            let error = #expect(throws: CertificateError.self) {
                try Certificate(der: Array(der.prefix(count)))
            }
            #expect(error?.code == .malformed)
            #expect(count == 0 || (error?.cause as? OpenSSLError)?.queue.isEmpty == false)
        }
    }

    @Test("behind a certificate are refused")
    func trailing() throws {
        let der = try TestPKI.leaf().der
        #expect(throws: CertificateError(.trailingBytes, "")) { try Certificate(der: der + [0]) }
    }

    @Test("changed at random are a certificate or an error, and every part of it can be used")
    func mutations() throws {
        var generator = Seed("1").generator()
        let seeds = try [
            TestPKI.leaf {
                $0.keyUsage = .digitalSignature
                $0.policies = ["2.16.840.1.101.3.2.1.48.9"]
                $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.2"]
                $0.subjectAlternativeNames = [
                    .userPrincipalName("1@mil"),
                    .otherName(type: GeneralName.fascnType, value: .octetString([1])),
                    .directoryName(try TestPKI.name("X")), .iPAddress([1, 2, 3, 4]), .registeredID("1.2.3"),
                ]
            }.der,
            CertificateIssuer(selfSigned: TestPKI.template(), privateKey: TestPKI.rsaKey).certificate.der,
        ]
        var verifier = CertificateVerifier(trustAnchors: [TestPKI.root.certificate])
        verifier.acceptedPolicies = ["2.16.840.1.101.3.2.1.48.9"]
        verifier.isStrict = true
        var accepted = 0
        for round in 0..<2_000 {
            var der = seeds[round % seeds.count]
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
            #expect(certificate.extensions.count < 100)
            if round.isMultiple(of: 10) {
                _ = TestPKI.leafKey.matches(certificate)
                verifier.intermediates = [certificate]
                #expect(verifier.verify(certificate, at: TestPKI.now).checks.count == 8)
            }
        }
        // Most changes hit the key, the signature or a text, and leave a certificate.
        #expect(accepted > 500)
    }

    @Test("as a private key are a key or an error")
    func mutatedKeys() throws {
        var generator = Seed("2").generator()
        for sample in SampleKeys.all {
            for _ in 0..<50 {
                var bytes = sample.pkcs8
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: .min ... .max, using: &generator)
                guard let key = try? PrivateKey(pkcs8: SecretBytes(bytes)) else { continue }
                _ = try? key.pkcs8()
                _ = key.publicKey.keyIdentifier
            }
        }
    }

    @Test("in names do not reach a terminal")
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
