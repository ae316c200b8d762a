import Foundation
import OpenSSL
import SecretMemory
import Testing

@Suite("Issuing certificates and revocation lists", .timeLimit(.minutes(10)))
struct IssuingTests {
    @Test("An issuer signs with the standard digest for its key, or with a given digest")
    func digests() throws {
        let rsa = try CertificateIssuer(selfSigned: TestPKI.template(), privateKey: TestPKI.rsaKey)
        let p384 = try CertificateIssuer(selfSigned: TestPKI.template(), privateKey: .generate(.p384))
        let ed25519 = try CertificateIssuer(
            selfSigned: TestPKI.template(),
            privateKey: PrivateKey(pkcs8: SecretBytes(SampleKeys.ed25519.pkcs8)))
        let sha1 = try rsa.issue(TestPKI.template(), to: TestPKI.leafKey, digest: .sha1)
        #expect(rsa.certificate.signatureAlgorithm == "sha256WithRSAEncryption")
        #expect(p384.certificate.signatureAlgorithm == "ecdsa-with-SHA384")
        #expect(ed25519.certificate.signatureAlgorithm == "ED25519")
        #expect(sha1.signatureAlgorithm == "sha1WithRSAEncryption")
    }

    @Test("An issuer certifies a public key without having the private key")
    func publicKeyOnly() throws {
        let certificate = try TestPKI.root.issue(TestPKI.template(), to: TestPKI.leafKey.publicKey)
        #expect(TestPKI.leafKey.matches(certificate))
    }

    @Test("A certificate contains its key as OpenSSL encodes it, for every type and form of parameters")
    func publicKeys() throws {
        var keys = try KeyAlgorithm.allCases.map { try PrivateKey.generate($0) }
        keys.append(try PrivateKey(pkcs8: SecretBytes(SampleKeys.explicitCurve)))
        keys.append(try PrivateKey(pkcs8: SecretBytes(SampleKeys.ed25519.pkcs8)))
        let certified = try keys.map { try TestPKI.root.issue(TestPKI.template(), to: $0).publicKey }
        #expect(certified == keys.map(\.publicKey))
        #expect(certified.map(\.spki.count) == [294, 422, 550, 91, 120, 335, 44])
    }

    @Test("A certificate has the key identifiers of its template")
    func keyIdentifiers() throws {
        let certificate = try TestPKI.leaf {
            $0.subjectKeyIdentifier = .octets([1, 2])
            $0.authorityKeyIdentifier = .octets([3])
        }
        #expect(certificate.subjectKeyIdentifier == [1, 2])
        #expect(certificate.authorityKeyIdentifier == [3])
        #expect(TestPKI.root.certificate.authorityKeyIdentifier == nil)
        #expect(TestPKI.root.certificate.isCertificateAuthority)
        #expect(TestPKI.root.certificate.isSelfIssued)
    }

    @Test(
        "The authority key identifier is the subject key identifier of the issuer, or is computed from its key"
    )
    func authorityKeyIdentifiers() throws {
        for (identifier, expected) in [
            (CertificateTemplate.KeyIdentifier.octets([1, 2]), [1, 2]),
            (.absent, TestPKI.rootKey.publicKey.keyIdentifier),
        ] {
            let issuer = TestPKI.issuer("Root", pathLength: nil, under: nil) {
                $0.subjectKeyIdentifier = identifier
            }
            let certificate = try issuer.issue(TestPKI.template(), to: TestPKI.leafKey)
            #expect(certificate.authorityKeyIdentifier == expected)
        }
    }

    @Test("The entries of a revocation list are sorted by serial number")
    func sortedEntries() throws {
        let list = try TestPKI.root.revocationList(
            [[9], [2], [5]].map { .init(serialNumber: $0, date: TestPKI.start) }, thisUpdate: TestPKI.now,
            nextUpdate: nil, number: [1])
        #expect(list.entries.map(\.serialNumber) == [[2], [5], [9]])
    }

    @Test(
        "A template with a value that cannot be encoded is rejected",
        arguments: [
            TemplateChange { $0.notAfter = Date(timeIntervalSince1970: 253_402_300_800) },
            TemplateChange { $0.notBefore = Date(timeIntervalSince1970: .infinity) },
            TemplateChange { $0.policies = ["not an identifier"] },
            TemplateChange { $0.extendedKeyUsage = [""] }, TemplateChange { $0.policies = [""] },
            TemplateChange { $0.extensions = [CertificateExtension(oid: "", value: [])] },
            TemplateChange { $0.subjectAlternativeNames = [.registeredID("")] },
            TemplateChange { $0.extensions = [CertificateExtension(oid: "x", value: [])] },
            TemplateChange { $0.revocationListURLs = ["http://ä"] },
        ])
    func refusals(change: TemplateChange) {
        #expect(throws: CertificateError(.unencodable, "")) { try TestPKI.leaf(change.apply) }
    }

    @Test("A revocation list contains the given entries, and is rejected if it is truncated")
    func revocationLists() throws {
        let entries = [
            CertificateRevocationList.Entry(serialNumber: [0x04, 0x8F], date: TestPKI.now, reason: 1),
            CertificateRevocationList.Entry(serialNumber: [0x80, 0x01], date: TestPKI.start),
        ]
        let list = try TestPKI.root.revocationList(
            entries, thisUpdate: TestPKI.now, nextUpdate: TestPKI.end, number: [0x12, 0x34])
        #expect(list.issuer == TestPKI.root.certificate.subject)
        #expect(list.entries == entries)
        #expect(list.thisUpdate == TestPKI.now)
        #expect(list.nextUpdate == TestPKI.end)
        #expect(list.number == [0x12, 0x34])
        #expect(try CertificateRevocationList.pem(Array(list.pem.utf8)) == [list])
        #expect(throws: CertificateError(.missing, "")) {
            try CertificateRevocationList.pem(Array(TestPKI.root.certificate.pem.utf8))
        }
        #expect(try CertificateRevocationList(der: list.der).entries == entries)
        #expect(throws: CertificateError(.trailingBytes, "")) {
            try CertificateRevocationList(der: list.der + [0])
        }
        for count in 0..<list.der.count {
            #expect(throws: CertificateError(.malformed, "")) {
                try CertificateRevocationList(der: Array(list.der.prefix(count)))
            }
        }
    }

    @Test("A revocation list has its standard extensions and then the given ones, in order")
    func listExtensions() throws {
        let added = ["1.2.3.4", "1.2.3.5"].map { CertificateExtension(oid: $0, value: [0x05, 0x00]) }
        let list = try TestPKI.root.revocationList(
            [], thisUpdate: TestPKI.now, nextUpdate: nil, number: [1], extensions: added)
        #expect(list.extensions.map(\.oid) == ["2.5.29.35", "2.5.29.20", "1.2.3.4", "1.2.3.5"])
        #expect(list.extensions.suffix(2).elementsEqual(added))
    }

    @Test("A revocation list may have no entries and no nextUpdate")
    func emptyRevocationList() throws {
        let list = try TestPKI.root.revocationList([], thisUpdate: TestPKI.now, nextUpdate: nil, number: [1])
        #expect(list.entries.isEmpty)
        #expect(list.nextUpdate == nil)
    }
}
