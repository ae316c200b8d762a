import KeySharing
import Foundation
import OpenSSL
import TestSupport
import Testing

@Suite("Verifying certificates", .timeLimit(.minutes(10)))
struct VerifierTests {
    private static let policy = "2.16.840.1.101.3.2.1.48.9"
    private static let emailProtection = "1.3.6.1.5.5.7.3.4"
    private static let intermediate = TestPKI.issuer(
        "Test E-mail CA", pathLength: 0, under: TestPKI.root, serial: [2]
    ) {
        $0.policies = [policy]
        $0.permittedNames = [.rfc822Name("mail.example")]
    }

    private static func leaf(_ change: (inout CertificateTemplate) -> Void = { _ in }) throws -> Certificate {
        var template = try TestPKI.template()
        template.keyUsage = [.digitalSignature, .nonRepudiation]
        template.extendedKeyUsage = [emailProtection]
        template.policies = [policy]
        template.subjectAlternativeNames = [.rfc822Name("jane@mail.example")]
        change(&template)
        return try intermediate.issue(template, to: TestPKI.leafKey)
    }

    /// A verifier that performs every check.
    private static func verifier() throws -> TrustingVerifier {
        var verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
        verifier.intermediates = [intermediate.certificate]
        verifier.expectedKeyUsage = .digitalSignature
        verifier.expectedExtendedKeyUsage = [emailProtection]
        verifier.acceptedPolicies = [policy]
        verifier.securityLevel = 2
        verifier.isStrict = true
        verifier.revocationLists = [try list(TestPKI.root), try list(intermediate)]
        return verifier
    }

    private static func list(
        _ issuer: CertificateIssuer, _ entries: [CertificateRevocationList.Entry] = []
    ) throws -> CertificateRevocationList {
        try issuer.revocationList(entries, thisUpdate: TestPKI.start, nextUpdate: TestPKI.end, number: [1])
    }

    @Test("A valid certificate passes every check")
    func sound() throws {
        let result = try Self.verifier().verify(Self.leaf(), at: TestPKI.now)
        #expect(result.checks.map(\.kind) == Verification.Kind.allCases)
        for check in result.checks { #expect(check.outcome == .passed, "\(check)") }
        #expect(result.isValid)
        #expect(result.problems.isEmpty)
        #expect(
            result.chain == [
                try #require(result.chain.first), Self.intermediate.certificate, TestPKI.root.certificate,
            ])
        #expect(result.check(.chain).explanation == "DOE.JANE.5557779001 ← Test E-mail CA ← Test Root")
    }

    @Test("A check that was not requested is reported as not performed")
    func unchecked() throws {
        var verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
        verifier.intermediates = [Self.intermediate.certificate]
        let result = try verifier.verify(Self.leaf(), at: TestPKI.now)
        #expect(result.isValid)
        let unchecked = result.checks.filter { $0.outcome == .notChecked }.map(\.kind)
        #expect(unchecked == [.keyUsage, .extendedKeyUsage, .policies, .revocation, .strength])
    }

    @Test(
        "Each defect fails only its own check",
        arguments: [
            (.keyUsage, TemplateChange { $0.keyUsage = .keyEncipherment }),
            (.extendedKeyUsage, TemplateChange { $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.2"] }),
            (.policies, TemplateChange { $0.policies = ["2.16.840.1.101.3.2.1.48.8"] }),
            (
                .nameConstraints,
                TemplateChange { $0.subjectAlternativeNames = [.rfc822Name("jane@other.example")] }
            ),
            (.validity, TemplateChange { $0.notAfter = TestPKI.now - 1 }),
            (.validity, TemplateChange { $0.notBefore = TestPKI.now + 1 }),
            (
                .chain,
                TemplateChange {
                    $0.extensions = [CertificateExtension(oid: "1.2.3.4", isCritical: true, value: [5, 0])]
                }
            ),
        ] as [(Verification.Kind, TemplateChange)])
    func oneFault(kind: Verification.Kind, change: TemplateChange) throws {
        let result = try Self.verifier().verify(Self.leaf(change.apply), at: TestPKI.now)
        let failed = result.checks.filter { $0.outcome == .failed }
        #expect(failed.map(\.kind) == [kind], "\(result.checks)")
        #expect(!result.isValid)
    }

    @Test(
        "The key usage check fails if a certificate that is not an authority's may sign certificates"
    )
    func signsCertificates() throws {
        var verifier = try Self.verifier()
        verifier.isStrict = false
        verifier.expectedKeyUsage = nil
        func outcome(_ change: (inout CertificateTemplate) -> Void) throws -> Verification.Outcome {
            try verifier.verify(Self.leaf(change), at: TestPKI.now).check(.keyUsage).outcome
        }
        #expect(try outcome { $0.keyUsage = .keyCertSign } == .failed)
        #expect(try outcome { $0.keyUsage = [.digitalSignature, .keyCertSign] } == .failed)
        #expect(try outcome { $0.keyUsage = .cRLSign } == .notChecked)
        #expect(
            try outcome {
                $0.keyUsage = .keyCertSign
                $0.basicConstraints = .init(isCertificateAuthority: true)
            } == .notChecked)
    }

    @Test("A certificate without a key usage extension passes the check for every expected usage")
    func unrestricted() throws {
        let leaf = try Self.leaf {
            $0.keyUsage = nil
            $0.extendedKeyUsage = []
        }
        let result = try Self.verifier().verify(leaf, at: TestPKI.now)
        #expect(result.check(.keyUsage).outcome == .passed)
        #expect(result.check(.extendedKeyUsage).outcome == .passed)
    }

    @Test("An unreadable key usage fails the check, and an absent one does not")
    func unreadableUsage() throws {
        let leaf = try Self.leaf {
            $0.keyUsage = nil
            $0.extendedKeyUsage = []
            $0.extensions = ["2.5.29.15", "2.5.29.37"].map { CertificateExtension(oid: $0, value: [0xFF]) }
        }
        let result = try Self.verifier().verify(leaf, at: TestPKI.now)
        #expect(result.check(.keyUsage).outcome == .failed)
        #expect(result.check(.extendedKeyUsage).outcome == .failed)
    }

    @Test("All defects of one certificate are reported")
    func severalFaults() throws {
        let leaf = try Self.leaf {
            $0.notAfter = TestPKI.now - 1
            $0.policies = []
            $0.subjectAlternativeNames = [.rfc822Name("jane@other.example")]
        }
        let failed = try Self.verifier().verify(leaf, at: TestPKI.now).checks.filter { $0.outcome == .failed }
        #expect(failed.map(\.kind) == [.validity, .policies, .nameConstraints])
    }

    @Test("Without the intermediate certificate, the chain is incomplete and is not checked further")
    func missingIntermediate() throws {
        var verifier = try Self.verifier()
        verifier.intermediates = []
        let result = try verifier.verify(Self.leaf(), at: TestPKI.now)
        #expect(result.check(.chain).outcome == .failed)
        #expect(result.check(.nameConstraints).outcome == .notChecked)
        #expect(result.check(.revocation).outcome != .passed)
        #expect(result.check(.validity).outcome == .passed)
    }

    @Test("A root that has the trust anchor's name but a different key is not trusted")
    func otherRoot() throws {
        let key = try PrivateKey.generate(.p256)
        var template = try TestPKI.template("Test Root")
        template.basicConstraints = .init(isCertificateAuthority: true)
        template.keyUsage = [.keyCertSign, .cRLSign]
        var verifier = try Self.verifier()
        verifier.trustAnchors = [try CertificateIssuer(selfSigned: template, privateKey: key).certificate]
        #expect(try verifier.verify(Self.leaf(), at: TestPKI.now).check(.chain).outcome == .failed)
        verifier.trustAnchors = []
        #expect(try verifier.verify(Self.leaf(), at: TestPKI.now).check(.chain).outcome == .failed)
    }

    @Test("The chain fails if an authority in it has expired")
    func expiredAuthority() throws {
        let leaf = try Self.leaf { $0.notAfter = TestPKI.start + 40 * 365 * 86_400 }
        let result = try Self.verifier().verify(leaf, at: TestPKI.start + 30 * 365 * 86_400)
        #expect(result.check(.validity).outcome == .passed)
        #expect(result.check(.chain).outcome == .failed)
    }

    @Test("A certificate with an altered signature fails")
    func changedSignature() throws {
        var der = try Self.leaf().der
        der[der.count - 1] ^= 1
        #expect(try !Self.verifier().verify(Certificate(der: der), at: TestPKI.now).isValid)
    }

    @Test("A revoked certificate fails, and so does a certificate that a revoked authority issued")
    func revoked() throws {
        var verifier = try Self.verifier()
        let leafEntry = CertificateRevocationList.Entry(
            serialNumber: [0x04, 0x8F], date: TestPKI.start, reason: 1)
        verifier.revocationLists[1] = try Self.list(Self.intermediate, [leafEntry])
        #expect(try verifier.verify(Self.leaf(), at: TestPKI.now).check(.revocation).outcome == .failed)
        let authorityEntry = CertificateRevocationList.Entry(serialNumber: [2], date: TestPKI.start)
        verifier.revocationLists = [
            try Self.list(TestPKI.root, [authorityEntry]), try Self.list(Self.intermediate),
        ]
        #expect(try verifier.verify(Self.leaf(), at: TestPKI.now).check(.revocation).outcome == .failed)
    }

    @Test("Verification fails if the revocation list has expired")
    func staleList() throws {
        let result = try Self.verifier().verify(
            Self.leaf { $0.notAfter = TestPKI.end + 86_400 }, at: TestPKI.end + 60)
        let failed = result.checks.filter { $0.outcome == .failed }
        #expect(failed.map(\.kind) == [.revocation])
    }

    @Test("If no list covers the leaf, the revocation status is unsettled and verification fails")
    func uncovered() throws {
        var verifier = try Self.verifier()
        let lists = verifier.revocationLists
        verifier.revocationLists = [lists[0]]
        let open = try verifier.verify(Self.leaf(), at: TestPKI.now)
        #expect(open.check(.revocation).outcome == .unsettled)
        #expect(open.check(.revocation).explanation.contains("a list of CN=Test E-mail CA"))
        #expect(!open.isValid)
        verifier.revocationLists = [lists[1]]
        let partial = try verifier.verify(Self.leaf(), at: TestPKI.now).check(.revocation)
        #expect(partial.outcome == .passed)
        #expect(partial.explanation.contains("unable to get certificate CRL"))
    }

    @Test("Weak keys and signatures fail at the requested security level")
    func weak() throws {
        let key = try PrivateKey.generate(.rsa(bits: 1024))
        var template = try TestPKI.template()
        template.keyUsage = .digitalSignature
        let leaf = try TestPKI.root.issue(template, to: key)
        var verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
        #expect(verifier.verify(leaf, at: TestPKI.now).isValid)
        verifier.securityLevel = 2
        #expect(verifier.verify(leaf, at: TestPKI.now).check(.strength).outcome == .failed)
        let sha1 = try TestPKI.root.issue(template, to: TestPKI.leafKey, digest: .sha1)
        #expect(verifier.verify(sha1, at: TestPKI.now).check(.strength).outcome == .failed)
    }

    @Test("A chain ends at an anchor that is not self-signed only if partial chains are allowed")
    func partialChain() throws {
        var verifier = TrustingVerifier(trustAnchors: [Self.intermediate.certificate])
        #expect(try !verifier.verify(Self.leaf(), at: TestPKI.now).isValid)
        verifier.allowsPartialChain = true
        #expect(try verifier.verify(Self.leaf(), at: TestPKI.now).isValid)
    }
}
