import KeySharing
import Foundation
import OpenSSL
import PathValidation
import Testing

@Suite("Validation by RFC 5280", .timeLimit(.minutes(10)))
struct ValidationTests {
    private static let policy = "2.16.840.1.101.3.2.1.48."

    // MARK: - Anchors

    @Test(
        "Only a self-signed certificate is an anchor, and a key rollover certificate can be on the path"
    )
    func rollover() throws {
        let old = try TestAuthority.root("Root")
        // Subject and issuer have the same name, and the old key signed the new certificate.
        let new = try old.authority("Root", serial: [3])
        let leaf = try new.leaf()
        let result = Trial(trusted: [old.certificate, new.certificate]).validate(leaf)
        #expect(result.isValid)
        #expect(result.path.map(\.certificate) == [leaf, new.certificate, old.certificate])
        #expect(result.path.map(\.role) == [.leaf, .authority, .anchor])
    }

    @Test("A self-issued certificate signed by another key is an anchor only if partial chains are allowed")
    func selfIssued() throws {
        let new = try TestAuthority.root("Root").authority("Root", serial: [3])
        let leaf = try new.leaf()
        var trial = Trial(trusted: [new.certificate])
        #expect(trial.failures(leaf) == [.chain])
        trial.allowsPartialChain = true
        #expect(trial.failures(leaf) == [])
    }

    @Test("A certificate whose own signature is invalid is not an anchor")
    func brokenRoot() throws {
        let root = try TestAuthority.root("Root")
        var der = root.certificate.der
        der[der.count - 1] ^= 1
        let leaf = try root.leaf()
        #expect(Trial(trusted: [try Certificate(der: der)]).failures(leaf) == [.chain])
    }

    // MARK: - Policies

    @Test("A policy that a certificate of the path requires is checked even if the caller requires none")
    func demandedPolicy() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.policies = [Self.policy + "1"]
            $0.extensions = [EncodedExtension.explicitPolicy]
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        #expect(trial.failures(try authority.leaf()) == [.policies])
        let leaf = try authority.leaf { $0.policies = [Self.policy + "1"] }
        let result = trial.validate(leaf)
        #expect(result.isValid)
        #expect(result.path[0].policies == [Self.policy + "1"])
        #expect(result.path[1].constraints.requireExplicitPolicy == 0)
    }

    @Test("The options for explicit policies, inhibited mapping and inhibited anyPolicy are applied")
    func policyInputs() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.policies = [Self.policy + "1"]
            $0.extensions = [EncodedExtension.mapping(1, 2)]
        }
        let any = try root.authority("Any", serial: [4]) { $0.policies = ["2.5.29.32.0"] }
        var trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate, any.certificate])
        let plain = try authority.leaf()
        let mapped = try authority.leaf(serial: [10]) { $0.policies = [Self.policy + "2"] }
        let wild = try any.leaf(serial: [11]) { $0.policies = [Self.policy + "1"] }
        #expect(trial.failures(plain) == [])
        trial.configure = { $0.requiresExplicitPolicy = true }
        #expect(trial.failures(plain) == [.policies])
        #expect(trial.failures(mapped) == [])
        #expect(trial.failures(wild) == [])
        #expect(trial.validate(mapped).path[0].policies == [Self.policy + "2"])
        trial.configure = { $0.acceptedPolicies = [Self.policy + "1"] }
        #expect(trial.failures(mapped) == [])
        trial.configure = {
            $0.requiresExplicitPolicy = true
            $0.inhibitsPolicyMapping = true
        }
        #expect(trial.failures(mapped) == [.policies])
        #expect(trial.failures(wild) == [])
        trial.configure = {
            $0.requiresExplicitPolicy = true
            $0.inhibitsAnyPolicy = true
        }
        #expect(trial.failures(wild) == [.policies])
    }

    // MARK: - Revocation lists

    @Test("A revoked certificate is found on an indirect list that another authority signed")
    func indirectList() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let signer = try root.authority("List Signer", serial: [3])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let other = try authority.leaf(serial: [10]) {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let entry = TestAuthority.entry([9], issuer: authority.certificate.subject)
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate, signer.certificate],
            lists: [try root.list(), try signer.list([entry], [EncodedExtension.indirect])])
        #expect(trial.failures(leaf) == [.revocation])
        #expect(trial.failures(other) == [])
        let source = try #require(trial.validate(other).path[0].revocation.first)
        guard case .list(let issuer, _, _, false, _) = source else {
            Issue.record("\(source)")
            return
        }
        #expect(issuer == signer.certificate.subject)
    }

    @Test(
        "Lists that are partitioned by reason determine the revocation status only if together they cover every reason"
    )
    func reasons() throws {
        let root = try TestAuthority.root("Root")
        let leaf = try root.leaf()
        let compromises = try root.list([], [EncodedExtension.compromises])
        var trial = Trial(trusted: [root.certificate], lists: [compromises])
        #expect(trial.failures(leaf) == [.revocation])
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .unsettled)
        trial.lists.append(try root.list([], number: [2], [EncodedExtension.otherReasons]))
        #expect(trial.failures(leaf) == [])
        trial.lists = [
            compromises, try root.list([TestAuthority.entry([9])], [EncodedExtension.otherReasons]),
        ]
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .failed)
    }

    @Test("A list that the authority signed with a separate key for lists is accepted")
    func listKey() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let signer = try root.authority("Authority", serial: [3]) {
            $0.basicConstraints = nil
            $0.keyUsage = .cRLSign
        }
        var trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate, signer.certificate],
            lists: [try root.list(), try signer.list([TestAuthority.entry([9])])])
        #expect(trial.failures(try authority.leaf()) == [.revocation])
        #expect(trial.failures(try authority.leaf(serial: [10])) == [])
        trial.untrusted = [authority.certificate]
        #expect(trial.failures(try authority.leaf(serial: [10])) == [.revocation])
    }

    @Test("A delta list is applied to its complete list, and without it can only revoke")
    func deltas() throws {
        let root = try TestAuthority.root("Root")
        let leaf = try root.leaf()
        let base = try root.list([], [EncodedExtension.freshest])
        let delta = try root.list([TestAuthority.entry([9])], number: [2], [EncodedExtension.delta])
        var trial = Trial(trusted: [root.certificate], lists: [base])
        #expect(trial.failures(leaf) == [])
        trial.lists = [base, delta]
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .failed)
        trial.lists = [delta]
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .failed)
        let alone = trial.validate(try root.leaf(serial: [8])).verification.check(.revocation)
        #expect(alone.outcome == .unsettled)
        #expect(alone.explanation.contains("delta"))
    }

    @Test(
        "If no list covers the leaf, the revocation status is unsettled, and the explanation names the required list"
    )
    func unsettled() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let leaf = try authority.leaf { $0.revocationListURLs = ["http://lists.example/a.crl"] }
        var trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate], lists: [try root.list()])
        let check = trial.validate(leaf).verification.check(.revocation)
        #expect(check.outcome == .unsettled)
        #expect(check.explanation.contains("CN=Authority"))
        #expect(check.explanation.contains("http://lists.example/a.crl"))
        #expect(!trial.validate(leaf).isValid)
        trial.lists = []
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .notChecked)
        #expect(trial.validate(leaf).isValid)
    }

    @Test("A revoked authority and an outdated list fail the revocation check")
    func authorities() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let leaf = try authority.leaf()
        var trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate],
            lists: [try root.list([TestAuthority.entry([2])]), try authority.list()])
        #expect(trial.failures(leaf) == [.revocation])
        trial.lists = [try root.list(), try authority.list(nextUpdate: TestAuthority.now - 1)]
        #expect(trial.failures(leaf) == [.revocation])
    }

    // MARK: - Strictness and strength

    @Test("A violation that is an error only in strict mode is accepted by default")
    func strictness() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            // RFC 5280 4.2.1.9 requires critical basic constraints, but PKITS 4.6.4 is valid without.
            $0.basicConstraints = nil
            $0.extensions = [CertificateExtension(oid: "2.5.29.19", value: [0x30, 0x03, 0x01, 0x01, 0xFF])]
        }
        var trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        #expect(trial.failures(try authority.leaf()) == [])
        trial.configure = { $0.isStrict = true }
        #expect(trial.failures(try authority.leaf()) == [.chain])
    }

    @Test("Signatures must have the configured strength")
    func strength() throws {
        let root = try TestAuthority.root("Root")
        let leaf = try root.issuer.issue(
            TestAuthority.template("User", serial: [9], isAuthority: false), to: TestAuthority.leafKey,
            digest: .sha1)
        var trial = Trial(trusted: [root.certificate])
        trial.configure = { $0.securityLevel = 0 }
        #expect(trial.failures(leaf) == [])
        trial.configure = { $0.securityLevel = 2 }
        #expect(trial.failures(leaf) == [.strength])
    }

    @Test("Expired certificates are accepted anywhere in the path if the verifier allows them")
    func expired() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.notAfter = TestAuthority.now - 1 }
        let leaf = try authority.leaf { $0.notAfter = TestAuthority.now - 1 }
        var trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        #expect(trial.failures(leaf) == [.chain, .validity])
        trial.configure = { $0.allowsExpired = true }
        #expect(trial.failures(leaf) == [])
        #expect(trial.failures(try authority.leaf { $0.notBefore = TestAuthority.now + 1 }) == [.validity])
        // An expired certificate also does not prevent finding the valid path if another path fails.
        let twin = try root.authority("Authority", key: authority.key, serial: [3]) {
            $0.notAfter = TestAuthority.now - 1
            $0.permittedNames = [.dNSName("other.example")]
        }
        trial.untrusted.insert(twin.certificate, at: 0)
        #expect(
            trial.failures(try authority.leaf { $0.subjectAlternativeNames = [.dNSName("a.example")] }) == [])
    }
}
