import Foundation
import OpenSSL
import PathValidation
import Testing

@Suite("Explanations of invalid paths", .timeLimit(.minutes(10)))
struct ExplanationTests {
    private static let first = "2.16.840.1.101.3.2.1.48.1"
    private static let second = "2.16.840.1.101.3.2.1.48.2"

    private func explanation(_ kind: Verification.Kind, _ trial: Trial, _ leaf: Certificate) -> String {
        trial.validate(leaf).verification.check(kind).explanation
    }

    /// requireExplicitPolicy with this number of certificates that are skipped.
    private static func explicitPolicy(_ skipped: UInt8) -> CertificateExtension {
        CertificateExtension(oid: "2.5.29.36", isCritical: true, value: [0x30, 0x03, 0x80, 0x01, skipped])
    }

    @Test("A leaf without any issuer has one explanation")
    func lonelyLeaf() throws {
        let leaf = try TestAuthority.root("Stranger").leaf()
        let words = explanation(.chain, Trial(trusted: [try TestAuthority.root("Root").certificate]), leaf)
        #expect(words.contains("no trusted certificate of its issuer") && !words.contains(";"), "\(words)")
    }

    @Test("Three names outside the constraints are shown, and further ones are counted")
    func severalNames() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.dNSName("good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        for (count, ending) in [(3, nil), (4, " and 1 more: "), (6, " and 3 more: ")] as [(Int, String?)] {
            let leaf = try authority.leaf {
                $0.subjectAlternativeNames = (1...count).map { .dNSName("n\($0).evil.example") }
            }
            let words = explanation(.nameConstraints, trial, leaf)
            #expect(words.contains("DNS:n3.evil.example") && !words.contains("DNS:n4.evil.example"))
            #expect(words.contains(ending ?? "DNS:n3.evil.example: "), "\(words)")
        }
    }

    @Test("Self-issued certificates do not count as certificates that a required policy skips")
    func skippedCertificates() throws {
        let root = try TestAuthority.root("Root")
        let upper = try root.authority("Upper") { $0.extensions = [Self.explicitPolicy(3)] }
        let issued = try upper.authority("Upper", serial: [3])
        let lower = try issued.authority("Lower", serial: [4]) { $0.extensions = [Self.explicitPolicy(0)] }
        let trial = Trial(
            trusted: [root.certificate], untrusted: [upper, issued, lower].map(\.certificate))
        let words = explanation(.policies, trial, try lower.leaf())
        #expect(words.contains("CN=Lower") && words.contains("requires a policy"), "\(words)")
        #expect(!words.contains("CN=Upper,O=Path Tests requires"), "\(words)")
    }

    @Test("An inhibited mapping and a mapping of the leaf do not permit a policy")
    func mappings() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.policies = [Self.first]
            $0.extensions = [EncodedExtension.mapping(1, 2)]
        }
        var trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        trial.configure = {
            $0.requiresExplicitPolicy = true
            $0.inhibitsPolicyMapping = true
        }
        let inhibited = explanation(.policies, trial, try authority.leaf { $0.policies = [Self.second] })
        #expect(inhibited.contains("none of the policies of"), "\(inhibited)")
        let plain = try root.authority("Plain", serial: [3]) { $0.policies = [Self.first] }
        trial = Trial(trusted: [root.certificate], untrusted: [plain.certificate])
        trial.configure = { $0.acceptedPolicies = [Self.second] }
        let mapping = try plain.leaf {
            $0.policies = [Self.first]
            $0.extensions = [EncodedExtension.mapping(1, 2)]
        }
        let words = explanation(.policies, trial, mapping)
        #expect(words.contains("the path is valid for") && words.contains("(\(Self.first)) only"), "\(words)")
    }

    @Test("The explanation names an inhibited anyPolicy, and policies as the first authorities name them")
    func inhibitedPolicies() throws {
        let root = try TestAuthority.root("Root")
        let inhibiting = try root.authority("Inhibiting") {
            $0.policies = [Self.first]
            $0.extensions = [
                CertificateExtension(oid: "2.5.29.54", isCritical: true, value: [0x02, 0x01, 0x00])
            ]
        }
        var trial = Trial(trusted: [root.certificate], untrusted: [inhibiting.certificate])
        trial.configure = { $0.acceptedPolicies = [Self.first] }
        let inhibited = explanation(.policies, trial, try inhibiting.leaf { $0.policies = ["2.5.29.32.0"] })
        #expect(
            inhibited.contains("is inhibited") && !inhibited.contains("the path is valid for"), "\(inhibited)"
        )
        let mapping = try root.authority("Mapping") {
            $0.policies = [Self.first]
            $0.extensions = [EncodedExtension.mapping(1, 2)]
        }
        trial = Trial(trusted: [root.certificate], untrusted: [mapping.certificate])
        trial.configure = { $0.acceptedPolicies = [Self.second] }
        let mapped = explanation(.policies, trial, try mapping.leaf { $0.policies = [Self.second] })
        let end = try #require(mapped.components(separatedBy: "the path is valid for").last)
        #expect(end.contains(Self.first) && !end.contains(Self.second), "\(mapped)")
        let upper = try root.authority("Upper") {
            $0.policies = [Self.first]
            // inhibitPolicyMapping: 0.
            $0.extensions = [
                CertificateExtension(
                    oid: "2.5.29.36", isCritical: true, value: [0x30, 0x03, 0x81, 0x01, 0x00])
            ]
        }
        let lower = try upper.authority("Lower", serial: [3]) {
            $0.policies = [Self.first]
            $0.extensions = [EncodedExtension.mapping(1, 2)]
        }
        trial = Trial(trusted: [root.certificate], untrusted: [upper.certificate, lower.certificate])
        trial.configure = { $0.requiresExplicitPolicy = true }
        let words = explanation(.policies, trial, try lower.leaf { $0.policies = [Self.second] })
        #expect(words.contains("CN=Lower") && words.contains("mapping is inhibited"), "\(words)")
    }

    @Test("An e-mail address in the subject is explained with the permitted addresses")
    func addressInSubject() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.rfc822Name("good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf {
            $0.subject = try DistinguishedName([
                .init("CN", "User"), .init("emailAddress", "user@evil.example"),
            ])
        }
        let words = explanation(.nameConstraints, trial, leaf)
        #expect(words.contains("permits only email:good.example"), "\(words)")
        #expect(!words.contains("permits only  ") && !words.contains("permits only ;"), "\(words)")
    }

    @Test("The first of several responses determines the date and the reason of a revocation")
    func severalResponses() throws {
        let root = try TestAuthority.root("Root")
        let leaf = try root.leaf()
        func response(_ reason: Int) throws -> StatusResponse {
            try StatusResponse(
                der: root.issuer.statusResponse(
                    to: OCSPRequest(for: leaf, issuedBy: root.certificate), thisUpdate: TestAuthority.start,
                    nextUpdate: TestAuthority.end
                ) { _ in .revoked(TestAuthority.start, reason: reason) })
        }
        let trial = Trial(trusted: [root.certificate], responses: [try response(4), try response(1)])
        let problems = trial.validate(leaf).verification.problems
        #expect(problems.count == 1 && problems[0].reason.contains("reason: superseded"), "\(problems)")
    }

    @Test("An expired complete list and its expired delta list are one problem")
    func expiredLists() throws {
        let root = try TestAuthority.root("Root")
        let past = TestAuthority.now - 1
        let trial = Trial(
            trusted: [root.certificate],
            lists: [
                try root.list(nextUpdate: past, [EncodedExtension.freshest]),
                try root.list(number: [2], nextUpdate: past, [EncodedExtension.delta]),
            ])
        let verification = trial.validate(try root.leaf()).verification
        #expect(verification.links[0].revocation.count == 2)
        // X509_V_ERR_CRL_HAS_EXPIRED.
        #expect(
            verification.problems.count { $0.code == 12 && $0.depth == 0 } == 1, "\(verification.problems)")
    }

    @Test("A path whose policies exceed OpenSSL's limit is invalid")
    func policyTree() throws {
        // Each policy is mapped to both policies, so the number of nodes doubles with each authority.
        func object(_ last: UInt8) -> [UInt8] {
            DERText.element(0x06, [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x02, 0x01, 0x30, last])
        }
        let pairs = [(1, 1), (1, 2), (2, 1), (2, 2)] as [(UInt8, UInt8)]
        let mappings = CertificateExtension(
            oid: "2.5.29.33", isCritical: true,
            value: DERText.sequence(pairs.flatMap { DERText.sequence(object($0.0) + object($0.1)) }))
        let root = try TestAuthority.root("Root")
        var chain = [root]
        for index in 1...14 {
            chain.append(
                try chain[index - 1].authority("Authority \(index)") {
                    $0.policies = [Self.first, Self.second]
                    $0.extensions = [mappings]
                })
        }
        for (count, isValid) in [(2, true), (14, false)] {
            let result = Trial(
                trusted: [root.certificate], untrusted: chain.prefix(count + 1).map(\.certificate)
            ).validate(try chain[count].leaf { $0.policies = [Self.first] })
            #expect(result.isValid == isValid, "\(count): \(result.verification.problems)")
            #expect(result.verification.isComplete == isValid)
            let words = result.verification.check(.policies).explanation
            #expect(words.contains("too many policies") != isValid, "\(words)")
        }
    }

    @Test("The explanation names the signer of the required list, and the policies for which a path is valid")
    func names() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.policies = [Self.first, Self.second] }
        let signer = try TestAuthority.name("List Signer")
        let leaf = try authority.leaf {
            $0.policies = [Self.second, Self.first]
            $0.extensions = [EncodedExtension.listSigner(signer)]
        }
        var trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate], lists: [try root.list()])
        let words = explanation(.revocation, trial, leaf)
        #expect(words.contains("a list of CN=List Signer,O=Path Tests is required"), "\(words)")
        trial.lists = []
        trial.configure = { $0.requiresExplicitPolicy = true }
        let verification = trial.validate(leaf).verification
        #expect(verification.acceptedPolicies == [Self.first, Self.second])
        #expect(verification.links[0].policies == [Self.first, Self.second])
        #expect(verification.check(.policies).explanation.contains(Self.second))
    }

    @Test("Outcomes and checks have names")
    func words() {
        let outcomes: [Verification.Outcome] = [.passed, .failed, .notChecked, .unsettled]
        #expect(outcomes.map(\.words) == ["pass", "fail", "not checked", "not settled"])
        #expect(
            Verification.Kind.allCases.map(\.words) == [
                "chain", "validity", "key usage", "extended key usage", "policies", "name constraints",
                "revocation", "strength",
            ])
    }

    @Test("A good response about an authority does not settle the leaf, and does not outweigh a revocation")
    func responseOfAuthority() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let leaf = try authority.leaf()
        let good = try StatusResponse(
            der: root.issuer.statusResponse(
                to: OCSPRequest(for: authority.certificate, issuedBy: root.certificate),
                thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
            ) { _ in .good })
        var trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate], responses: [good])
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .unsettled)
        trial.lists = [try authority.list(), try root.list([TestAuthority.entry([2])])]
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .failed)
    }
}

@Suite("Cached verdicts on pairs of certificates", .timeLimit(.minutes(10)))
struct VerificationObjectsTests {
    @Test("A signature is computed once for each pair, and the verdict does not change")
    func signatures() throws {
        let (root, other) = (try TestAuthority.root("Root"), try TestAuthority.root("Root"))
        let leaf = try root.leaf()
        let objects = VerificationObjects()
        for _ in 0..<2 {
            #expect(objects.isSigned(leaf, by: root.certificate))
            #expect(!objects.isSigned(leaf, by: other.certificate))
        }
        #expect(objects.computedSignatures == 2)
    }

    @Test("The verdict on a certificate's names belongs to one pair, and does not change")
    func names() throws {
        let root = try TestAuthority.root("Root")
        let authorities = try ["good.example", "other.example"].map { domain in
            try root.authority(domain) { $0.permittedNames = [.dNSName(domain)] }.certificate
        }
        let leaf = try root.leaf { $0.subjectAlternativeNames = [.dNSName("www.good.example")] }
        let objects = VerificationObjects()
        for _ in 0..<2 {
            #expect(objects.keepsNames(leaf, under: authorities[0]))
            #expect(!objects.keepsNames(leaf, under: authorities[1]))
            #expect(objects.keepsNames(leaf, under: root.certificate))
        }
    }

    @Test("A path is invalid if the names do not match, although the signature does")
    func issuerNames() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let namesakes = try (
            authority: root.authority("Other Authority", key: authority.key, serial: [3]),
            root: TestAuthority.root("Other Root", key: root.key)
        )
        let leaf = try authority.leaf()
        #expect(Self.isValid(leaf, below: [authority, root]))
        #expect(!Self.isValid(leaf, below: [namesakes.authority, root]))
        #expect(!Self.isValid(leaf, below: [authority, namesakes.root]))
    }

    @Test("A path that ends at an authority which is not self-signed is valid only as a partial chain")
    func partialChain() throws {
        let authority = try TestAuthority.root("Root").authority("Authority")
        let leaf = try authority.leaf()
        #expect(!Self.isValid(leaf, below: [authority]))
        #expect(Self.isValid(leaf, below: [authority]) { $0.allowsPartialChain = true })
    }

    private static func isValid(
        _ leaf: Certificate, below issuers: [TestAuthority],
        _ configure: (inout CertificateVerifier) -> Void = { _ in }
    ) -> Bool {
        var verifier = CertificateVerifier()
        configure(&verifier)
        return verifier.verify(
            CertificatePath(leaf, issuers: issuers.map(\.certificate), isAnchored: true),
            with: RevocationMaterial(), at: TestAuthority.now, using: VerificationObjects()
        ).isValid
    }

    @Test("A certificate whose subject and issuer differ only in case can be self-signed")
    func spelling() throws {
        let key = try PrivateKey.generate(.p256)
        let lower = try TestAuthority.root("root", key: key)
        let certificate = try lower.authority("ROOT", key: key).certificate
        let foreign = try lower.authority("ROOT").certificate
        let objects = VerificationObjects()
        #expect(certificate.subject != certificate.issuer)
        #expect(objects.isSelfSigned(certificate) && !objects.isSelfSigned(foreign))
    }
}
