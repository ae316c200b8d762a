import COpenSSL
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import StandardExtensions
import Testing

@Suite("Reading certificates", .timeLimit(.minutes(10)))
struct CertificateTests {
    @Test("A certificate contains every value of its template")
    func everyField() throws {
        let person = try #require(
            FASCN(octets: [UInt8](hex: "D4F810DA0D80AC1CE721CD8360DA19141082227084F810A3F0")))
        let names: [GeneralName] = [
            .rfc822Name("jane.doe@mail.example"), .userPrincipalName("5557779001@mil"), .fascn(person),
            .uniformResourceIdentifier("urn:uuid:8a1fa9c4-5b1c-4c58-9a3b-3f4a5b6c7d8e"),
            .dNSName("host.example"), .iPAddress([192, 0, 2, 1]),
            .iPAddress([0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
            .registeredID("1.2.3.4"), .directoryName(try TestPKI.name("Other")),
            .otherName(type: "1.2.3.5", value: .other(der: [0x02, 0x01, 0x07])),
        ]
        let certificate = try TestPKI.leaf { template in
            template.keyUsage = [.digitalSignature, .nonRepudiation]
            template.extendedKeyUsage = ["1.3.6.1.5.5.7.3.4", "1.3.6.1.4.1.311.10.3.12"]
            template.policies = ["2.16.840.1.101.3.2.1.48.9", "2.16.840.1.101.3.2.1.48.11"]
            template.basicConstraints = .init(isCertificateAuthority: false)
            template.subjectAlternativeNames = names
            template.revocationListURLs = ["http://pki.example/crl"]
            template.issuerURLs = ["http://pki.example/ca.cer"]
            template.responderURLs = ["http://pki.example/ocsp"]
            template.extensions = [CertificateExtension(oid: "1.3.6.1.4.1.311.25.2", value: [0x05, 0x00])]
        }
        #expect(certificate.version == 3)
        #expect(certificate.serialNumber == [0x04, 0x8F])
        #expect(certificate.serialHex == "048F")
        #expect(certificate.subject == (try TestPKI.name("DOE.JANE.5557779001")))
        #expect(certificate.subject.commonName == "DOE.JANE.5557779001")
        #expect(certificate.issuer == TestPKI.root.certificate.subject)
        #expect(certificate.notBefore == TestPKI.start)
        #expect(certificate.notAfter == TestPKI.end)
        #expect(certificate.keyUsage == [.digitalSignature, .nonRepudiation])
        #expect(certificate.extendedKeyUsage == ["1.3.6.1.5.5.7.3.4", "1.3.6.1.4.1.311.10.3.12"])
        #expect(certificate.policies == ["2.16.840.1.101.3.2.1.48.9", "2.16.840.1.101.3.2.1.48.11"])
        #expect(certificate.subjectAlternativeNames == names)
        #expect(certificate.subjectKeyIdentifier == TestPKI.leafKey.publicKey.keyIdentifier)
        #expect(certificate.authorityKeyIdentifier == TestPKI.root.certificate.subjectKeyIdentifier)
        #expect(certificate.responderURLs == ["http://pki.example/ocsp"])
        #expect(TestPKI.root.certificate.responderURLs.isEmpty)
        #expect(!certificate.isCertificateAuthority)
        #expect(certificate.signatureAlgorithm == "ecdsa-with-SHA256")
        #expect(certificate.publicKey.type == .ec(curve: "P-256"))
        #expect(certificate.publicKey.bits == 256)
        #expect(certificate.publicKey.curve == "P-256")
        #expect(certificate.sha256 == Digest.sha256(certificate.der))
        #expect(certificate.label == certificate.sha256.upperHex)
        #expect(
            certificate.extensions.last == CertificateExtension(oid: "1.3.6.1.4.1.311.25.2", value: [5, 0]))
        #expect(certificate.defects.isEmpty)
    }

    @Test("A certificate without extensions has no extension values")
    func bare() throws {
        let certificate = try TestPKI.leaf {
            $0.subjectKeyIdentifier = .absent
            $0.authorityKeyIdentifier = .absent
        }
        #expect(certificate.keyUsage == nil)
        #expect(certificate.extendedKeyUsage == nil)
        #expect(certificate.policies.isEmpty)
        #expect(certificate.subjectAlternativeNames.isEmpty)
        #expect(certificate.subjectKeyIdentifier == nil)
        #expect(certificate.authorityKeyIdentifier == nil)
        #expect(certificate.extensions.isEmpty)
    }

    @Test("Every combination of two key usages is preserved", arguments: 0..<9)
    func keyUsage(bit: Int) throws {
        for other in 0..<9 {
            let usage = KeyUsage(rawValue: 1 << bit | 1 << other)
            #expect(try TestPKI.leaf { $0.keyUsage = usage }.keyUsage == usage)
        }
    }

    @Test(
        "A serial number is shown in whole octets, and a negative or overlong serial number is a defect",
        arguments: [
            ([], false, "00"), ([0], false, "00"), ([4, 0x8F], false, "048F"), ([0x80], false, "80"),
            ([1], true, "-01"), ([0x80], true, "-80"),
            ([UInt8](repeating: 0xFF, count: 21), false, String(repeating: "FF", count: 21)),
            ([UInt8](repeating: 0x7A, count: 300), false, String(repeating: "7A", count: 300)),
        ] as [([UInt8], Bool, String)])
    func serial(octets: [UInt8], isNegative: Bool, hex: String) throws {
        let certificate = try TestPKI.leaf {
            $0.serialNumber = octets
            $0.isSerialNegative = isNegative
        }
        #expect(certificate.serialHex == hex)
        #expect(certificate.isSerialNegative == isNegative)
        #expect(certificate.defects.isEmpty == (!isNegative && octets.count <= 20))
    }

    @Test(
        "UTCTime and GeneralizedTime are read as UTC",
        arguments: [
            (-631_152_000, "UTCTime 1950-01-01 00:00:00"), (-1, "1969-12-31 23:59:59"), (0, "1970"),
            (951_782_400, "2000-02-29"), (2_524_607_999, "UTCTime 2049-12-31 23:59:59"),
            (2_524_608_000, "GeneralizedTime 2050-01-01"), (-631_152_001, "GeneralizedTime 1949-12-31"),
            (253_402_300_799, "9999-12-31 23:59:59"),
        ])
    func times(seconds: Int, what: String) throws {
        let date = Date(timeIntervalSince1970: TimeInterval(seconds))
        let certificate = try TestPKI.leaf {
            $0.notBefore = date
            $0.notAfter = date
        }
        #expect(certificate.notBefore == date)
        #expect(certificate.notAfter == date)
        #expect(certificate.isValid(at: date))
        #expect(!certificate.isValid(at: date + 1))
    }

    @Test("An unreadable time is read as the distant past and reported as a defect")
    func brokenTimes() throws {
        let der = try TestPKI.leaf().der
        let broken = try #require(
            der.replacingFirst(Array("241203000000Z".utf8), with: Array("241399000000Z".utf8)))
        let certificate = try Certificate(der: broken)
        #expect(certificate.notBefore == .distantPast)
        #expect(certificate.defects == ["The start of the validity period cannot be decoded."])
    }

    @Test(
        "A certificate with an undecodable extension is read, and the extension is listed as a defect",
        arguments: [
            ("2.5.29.17", "subject alternative name"), ("2.5.29.15", "key usage"),
            ("2.5.29.37", "extended key usage"), ("2.5.29.32", "certificate policies"),
            ("2.5.29.19", "basic constraints"), ("2.5.29.35", "authority key identifier"),
            ("2.5.29.14", "subject key identifier"),
        ])
    func brokenExtension(oid: String, name: String) throws {
        let certificate = try TestPKI.leaf {
            $0.subjectKeyIdentifier = .absent
            $0.authorityKeyIdentifier = .absent
            $0.extensions = [CertificateExtension(oid: oid, value: [0x30, 0x05, 0xFF])]
        }
        #expect(certificate.defects == ["The \(name) extension cannot be decoded."])
        #expect(certificate.subject.commonName == "DOE.JANE.5557779001")
        #expect(certificate.subjectAlternativeNames.isEmpty)
        #expect(certificate.keyUsage == nil)
    }

    @Test("A duplicated extension is not read, and is reported as a defect")
    func doubleExtension() throws {
        let encoded = try TestPKI.leaf { $0.keyUsage = .digitalSignature }.extensions[0]
        let certificate = try TestPKI.leaf { $0.extensions = [encoded, encoded] }
        #expect(certificate.keyUsage == nil)
        #expect(certificate.defects == ["There is more than one key usage extension."])
    }

    @Test("A certificate whose key OpenSSL cannot load is read, and the key is reported as a defect")
    func unknownKey() throws {
        let key = try PrivateKey(pkcs8: SecretBytes(SampleKeys.ed25519.pkcs8))
        let der = try TestPKI.root.issue(try TestPKI.template(), to: key).der
        let changed = try #require(
            der.replacingFirst([6, 3, 0x2B, 0x65, 0x70], with: [6, 3, 0x2B, 0x65, 0x07]))
        let certificate = try Certificate(der: changed)
        #expect(certificate.publicKey.type == .other("1.3.101.7"))
        #expect(certificate.publicKey.bits == 0)
        #expect(certificate.publicKey.keyIdentifier == key.publicKey.keyIdentifier)
        #expect(!key.matches(certificate))
        #expect(certificate.defects == ["The public key has an uncommon type (1.3.101.7)."])
    }

    @Test("All certificates in PEM text are read, and other blocks are skipped")
    func pem() throws {
        let leaf = try TestPKI.leaf()
        let text =
            "A comment\n" + leaf.pem + "-----BEGIN OTHER-----\nAAAA\n-----END OTHER-----\n\r\n"
            + TestPKI.root.certificate.pem
        #expect(try Certificate.pem(Array(text.utf8)) == [leaf, TestPKI.root.certificate])
        // The last line need not end with a newline.
        #expect(try Certificate.pem(Array(leaf.pem.utf8.dropLast())) == [leaf])
    }

    @Test(
        "Text without a PEM certificate is rejected",
        arguments: ["", "nothing", "-----BEGIN OTHER-----\nAAAA\n-----END OTHER-----\n"])
    func missingPEM(text: String) {
        // An entry that an earlier call left in the error queue must not be mistaken for a damaged block.
        unsafe BIO_free(BIO_new_file("/no/such/file", "r"))
        #expect(throws: CertificateError(.missing, "")) { try Certificate.pem(Array(text.utf8)) }
    }

    @Test("Bytes are likely a certificate if they begin with two nested sequences")
    func likely() {
        #expect(Certificate.isLikely(der: TestPKI.root.certificate.der))
        for der in [[], [0x30, 0x00], [0x30, 0x03, 0x02, 0x01, 0x01], [0x31, 0x02, 0x30, 0x00]] as [[UInt8]] {
            #expect(!Certificate.isLikely(der: der))
        }
    }

    @Test("A damaged PEM block is rejected")
    func damagedPEM() throws {
        let text = try TestPKI.leaf().pem.replacing("MII", with: "M!!", maxReplacements: 1)
        #expect(throws: CertificateError(.malformed, "")) { try Certificate.pem(Array(text.utf8)) }
    }

    @Test("At most 64 URLs of responders and of the issuer's certificates are read")
    func accessLocations() throws {
        let urls = (0..<70).map { "http://pki.example/\($0)" }
        let certificate = try TestPKI.leaf {
            $0.responderURLs = [urls[0]] + urls
            $0.issuerURLs = urls
        }
        #expect(certificate.responderURLs.elementsEqual(urls.prefix(63)))
        #expect(certificate.issuerURLs.elementsEqual(urls.prefix(64)))
    }
}
