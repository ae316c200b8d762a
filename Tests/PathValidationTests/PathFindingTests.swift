import KeySharing
import Foundation
import OpenSSL
import PathValidation
import Synchronization
import Testing

@Suite("Finding paths", .timeLimit(.minutes(10)))
struct PathFindingTests {
    /// The reasons why a cross-certificate is unusable.
    enum WrongTurn: CaseIterable {
        case expired, notYetValid, pathLength, excludedName, otherKey, noAuthority, noSigning, revoked,
            untrusted
    }

    @Test("The limits have their documented values")
    func limitValues() {
        let paths = PathLimits()
        #expect(paths.candidates == 200 && paths.links == 32 && paths.steps == 50_000)
        #expect(paths.time == .seconds(2) && paths.totalTime == .seconds(6))
        #expect(paths.identityTime == .milliseconds(10))
        #expect(paths.faultyCandidates == 16 && paths.listOctets == 33_554_432 && paths.lists == 256)
        let fetching = FetchLimits()
        #expect(fetching.requests == 64 && fetching.octets == 67_108_864 && fetching.time == .seconds(30))
        let material = MaterialLimits()
        #expect(material.files == 20_000 && material.fileOctets == 67_108_864)
        #expect(material.certificates == 20_000 && material.subjects == 5_000)
        #expect(material.keptOctets == 67_108_864)
    }

    @Test("The search recovers from an unusable cross-certificate", arguments: WrongTurn.allCases)
    func wrongTurn(_ kind: WrongTurn) throws {
        let root = try TestAuthority.root("Root")
        let bridge = try root.authority("Bridge")
        let stranger = try TestAuthority.root("Stranger")
        // The authority below has two certificates: a valid one by the bridge, which makes the path longer, and an
        // unusable one by the root.
        let good = try bridge.authority("Authority", serial: [3])
        let below = try good.authority("Below", serial: [4])
        let template = try TestAuthority.template("Authority", serial: [5], isAuthority: true) {
            switch kind {
            case .expired: $0.notAfter = TestAuthority.now - 1
            case .notYetValid: $0.notBefore = TestAuthority.now + 1
            case .pathLength: $0.basicConstraints?.pathLength = 0
            case .excludedName: $0.excludedNames = [.rfc822Name("mail.example")]
            case .noAuthority: $0.basicConstraints?.isCertificateAuthority = false
            case .noSigning: $0.keyUsage = .cRLSign
            case .otherKey, .revoked, .untrusted: break
            }
        }
        let key = kind == .otherKey ? try PrivateKey.generate(.p256) : good.key
        let issuer = kind == .untrusted ? stranger : root
        var bad = try issuer.issuer.issue(template, to: key)
        if kind == .otherKey {
            // The key identifier is right, but the key is not.
            var copy = template
            copy.subjectKeyIdentifier = .octets(good.certificate.subjectKeyIdentifier ?? [])
            bad = try root.issuer.issue(copy, to: key)
        }
        let leaf = try below.leaf { $0.subjectAlternativeNames = [.rfc822Name("user@mail.example")] }
        var trial = Trial(
            trusted: [root.certificate],
            untrusted: [bad, stranger.certificate, bridge.certificate, good.certificate, below.certificate])
        if kind == .revoked {
            trial.lists = [try root.list([TestAuthority.entry([5])]), try below.list()]
        }
        let result = trial.validate(leaf)
        #expect(result.isValid, "\(result.attempts)")
        #expect(
            result.path.map(\.certificate) == [
                leaf, below.certificate, good.certificate, bridge.certificate, root.certificate,
            ])
        #expect(result.end == .found)
        #expect(result.attempts.count == (kind == .revoked ? 2 : 1))
        #expect(result.attempts.last?.failures == [])
        // The order of the certificates does not matter.
        trial.untrusted.reverse()
        #expect(trial.validate(leaf).isValid)
    }

    @Test("The shortest of several valid paths is found")
    func shortest() throws {
        let root = try TestAuthority.root("Root")
        let bridge = try root.authority("Bridge")
        let long = try bridge.authority("Authority", serial: [3])
        let short = try root.authority("Authority", key: long.key, serial: [4])
        let leaf = try long.leaf()
        let trial = Trial(
            trusted: [root.certificate],
            untrusted: [long.certificate, bridge.certificate, short.certificate])
        let path = trial.validate(leaf).path.map(\.certificate)
        #expect(path == [leaf, short.certificate, root.certificate])
    }

    @Test("The search terminates in a ring of cross-certificates, with or without a path to an anchor")
    func ring() throws {
        let names = (0..<6).map { "Ring \($0)" }
        let members = try names.map { try TestAuthority.root($0) }
        var ring: [Certificate] = []
        for (index, member) in members.enumerated() {
            for step in [1, 2, 5] {
                let next = members[(index + step) % members.count]
                ring.append(
                    try member.authority(
                        names[(index + step) % names.count], key: next.key, serial: [UInt8(10 * index + step)]
                    ).certificate)
            }
        }
        let leaf = try members[3].leaf()
        let root = try TestAuthority.root("Root")
        let lost = Trial(trusted: [root.certificate], untrusted: ring).validate(leaf)
        #expect(!lost.isValid)
        #expect(lost.end == .exhausted)
        #expect(lost.verification.check(.chain).outcome == .failed)
        let way = try root.authority(names[0], key: members[0].key, serial: [99]).certificate
        #expect(Trial(trusted: [root.certificate], untrusted: ring + [way]).validate(leaf).isValid)
    }

    @Test("If no path is valid, the result contains the best path and all paths that were tried")
    func noneValid() throws {
        let root = try TestAuthority.root("Root")
        let key = try PrivateKey.generate(.p256)
        let constrained = try root.authority("Authority", key: key, serial: [3]) {
            $0.permittedNames = [.rfc822Name("other.example")]
        }
        let expired = try root.authority("Authority", key: key, serial: [4]) {
            $0.notAfter = TestAuthority.now - 1
            $0.permittedNames = [.rfc822Name("other.example")]
        }
        let leaf = try constrained.leaf { $0.subjectAlternativeNames = [.rfc822Name("user@mail.example")] }
        let result = Trial(
            trusted: [root.certificate], untrusted: [expired.certificate, constrained.certificate]
        ).validate(leaf)
        #expect(!result.isValid)
        #expect(result.attempts.count == 2)
        #expect(result.path[1].certificate == constrained.certificate)
        #expect(result.attempts[result.chosen].failures.map(\.kind) == [.nameConstraints])
        #expect(result.path[1].constraints.permittedNames == [.rfc822Name("other.example")])
    }

    @Test("If the leaf itself is invalid, no other path is tried")
    func leafFault() throws {
        let root = try TestAuthority.root("Root")
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", key: first.key, serial: [4])
        let leaf = try first.leaf { $0.notAfter = TestAuthority.now - 1 }
        let result = Trial(
            trusted: [root.certificate], untrusted: [first.certificate, second.certificate]
        ).validate(leaf)
        #expect(result.end == .leafFault)
        #expect(result.attempts.count == 1)
        #expect(result.verification.checks.filter { $0.outcome == .failed }.map(\.kind) == [.validity])
    }

    @Test("If no path reaches an anchor, the result contains the longest partial path")
    func deadEnd() throws {
        let stranger = try TestAuthority.root("Stranger")
        let authority = try stranger.authority("Authority")
        let leaf = try authority.leaf()
        let result = Trial(
            trusted: [try TestAuthority.root("Root").certificate], untrusted: [authority.certificate]
        ).validate(leaf)
        #expect(result.path.map(\.certificate) == [leaf, authority.certificate])
        #expect(result.path.map(\.role) == [.leaf, .authority])
        #expect(result.verification.check(.chain).outcome == .failed)
        #expect(result.verification.check(.policies).outcome == .notChecked)
    }

    @Test("The result names the limit that ended the search")
    func limits() throws {
        let root = try TestAuthority.root("Root")
        let key = try PrivateKey.generate(.p256)
        // Each requires a policy that the leaf lacks. Only OpenSSL detects this, so no fault is known in advance.
        let authorities = try (0..<20).map {
            try root.authority("Authority", key: key, serial: [UInt8($0 + 10)]) {
                $0.extensions = [EncodedExtension.explicitPolicy]
            }
        }
        let leaf = try authorities[0].leaf()
        var trial = Trial(trusted: [root.certificate], untrusted: authorities.map(\.certificate))
        #expect(trial.validate(leaf).attempts.count == 20)
        #expect(trial.validate(leaf).end == .exhausted)
        trial.limits.candidates = 5
        #expect(trial.validate(leaf).end == .candidateLimit(5))
        #expect(trial.validate(leaf).attempts.count == 5)
        trial.limits = PathLimits()
        trial.limits.steps = 3
        #expect(trial.validate(leaf).end == .stepLimit(3))
        let validator = trial.validator
        validator.limits = PathLimits()
        let start = ContinuousClock.now
        let calls = Mutex(0)
        validator.now = {
            calls.withLock {
                $0 += 1
                return start + .milliseconds(500 * $0)
            }
        }
        #expect(validator.validate(leaf, at: TestAuthority.now).end == .timeLimit(seconds: 2))
        trial.limits = PathLimits()
        trial.limits.links = 2
        #expect(trial.validate(leaf).verification.check(.chain).outcome == .failed)
    }

    @Test("A path contains at most 32 certificates")
    func longest() throws {
        let root = try TestAuthority.root("Root")
        var chain = [root]
        for index in 1..<32 {
            chain.append(try chain[index - 1].authority("Authority \(index)", serial: [UInt8(index)]))
        }
        func isValid(below place: Int) throws -> Bool {
            Trial(
                trusted: [root.certificate], untrusted: chain.prefix(place + 1).map(\.certificate)
            ).validate(try chain[place].leaf()).isValid
        }
        #expect(try isValid(below: 30))
        #expect(try !isValid(below: 31))
        for index in 32..<36 {
            chain.append(try chain[index - 1].authority("Authority \(index)", serial: [UInt8(index)]))
        }
        var trial = Trial(trusted: [root.certificate], untrusted: chain.map(\.certificate))
        trial.limits.links = 40
        let verification = trial.validate(try chain[35].leaf()).verification
        #expect(verification.check(.chain).outcome == .failed && !verification.isComplete)
        #expect(verification.check(.nameConstraints).outcome == .notChecked)
    }

    @Test(
        "Repeated certificates, names in different case and misleading key identifiers do not prevent a valid path"
    )
    func oddities() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let stranger = try TestAuthority.root("Authority")
        let template = try TestAuthority.template("User", serial: [9], isAuthority: false) {
            $0.authorityKeyIdentifier = .octets(stranger.certificate.subjectKeyIdentifier ?? [])
        }
        let leaf = try authority.issuer.issue(template, to: TestAuthority.leafKey)
        let copies = Array(repeating: authority.certificate, count: 50)
        let result = Trial(
            trusted: [root.certificate, root.certificate], untrusted: [stranger.certificate] + copies
        ).validate(leaf)
        #expect(result.isValid, "\(result.verification.checks)")
        #expect(result.path.count == 3)
        let shouting = CertificateIssuer(
            certificate: try root.issuer.issue(
                TestAuthority.template("AUTHORITY", serial: [6], isAuthority: true) {
                    $0.subjectKeyIdentifier = .octets(authority.certificate.subjectKeyIdentifier ?? [])
                }, to: authority.key), privateKey: authority.key)
        #expect(
            Trial(trusted: [root.certificate], untrusted: [shouting.certificate])
                .validate(try authority.leaf()).isValid)
    }

    @Test("A trusted leaf is valid if it is self-signed or partial chains are allowed")
    func trustedLeaf() throws {
        let root = try TestAuthority.root("Root")
        #expect(Trial(trusted: [root.certificate]).validate(root.certificate).isValid)
        #expect(!Trial(trusted: []).validate(root.certificate).isValid)
        #expect(!Trial(trusted: [], untrusted: [root.certificate]).validate(root.certificate).isValid)
        let leaf = try root.leaf()
        #expect(!Trial(trusted: [leaf]).validate(leaf).isValid)
        #expect(Trial(trusted: [leaf], allowsPartialChain: true).validate(leaf).isValid)
    }

    @Test("A partial chain may have authorities between the leaf and the trusted authority")
    func longPartialChain() throws {
        let trusted = try TestAuthority.root("Root").authority("Trusted")
        let middle = try trusted.authority("Middle")
        let result = Trial(
            trusted: [trusted.certificate], untrusted: [middle.certificate], allowsPartialChain: true
        ).validate(try middle.leaf())
        #expect(result.isValid && result.path.count == 3)
    }

    @Test("The number of tried paths with a known fault is limited")
    func faultyLimit() throws {
        let root = try TestAuthority.root("Root")
        let key = try PrivateKey.generate(.p256)
        let expired = try (0..<8).map { number in
            try root.authority("Authority", key: key, serial: [UInt8(number + 10)]) {
                $0.notAfter = $0.notBefore + 1
            }
        }
        let leaf = try expired[0].leaf()
        var trial = Trial(trusted: [root.certificate], untrusted: expired.map(\.certificate))
        trial.limits.faultyCandidates = 3
        let result = trial.validate(leaf)
        #expect(!result.isValid && result.attempts.count == 3 && result.end == .exhausted)
    }

    @Test("No path contains the same key of the same authority twice")
    func crossCertificates() throws {
        let root = try TestAuthority.root("Root")
        let key = try PrivateKey.generate(.p256)
        // Only OpenSSL detects that the policy is missing.
        let first = try root.authority("First", key: key, serial: [10]) {
            $0.extensions = [EncodedExtension.explicitPolicy]
        }
        let second = try first.authority("Second")
        let cross = try second.authority("First", key: key, serial: [11])
        let leaf = try first.leaf()
        let trial = Trial(
            trusted: [root.certificate], untrusted: [first, second, cross].map(\.certificate))
        let result = trial.validate(leaf)
        #expect(!result.isValid && result.attempts.count == 1)
    }

    @Test("Searches reduce the remaining time, and a search without time ends at once")
    func remainingTime() throws {
        let root = try TestAuthority.root("Root")
        let key = try PrivateKey.generate(.p256)
        let authorities = try (0..<20).map {
            try root.authority("Authority", key: key, serial: [UInt8($0 + 10)]) {
                $0.extensions = [EncodedExtension.explicitPolicy]
            }
        }
        let leaf = try authorities[0].leaf()
        let validator = Trial(trusted: [root.certificate], untrusted: authorities.map(\.certificate))
            .validator
        let start = ContinuousClock.now
        let calls = Mutex(0)
        validator.now = {
            calls.withLock {
                $0 += 1
                return start + .milliseconds(500 * $0)
            }
        }
        validator.remainingTime = .seconds(1)
        #expect(validator.validate(leaf, at: TestAuthority.now).end == .timeLimit(seconds: 1))
        #expect(try #require(validator.remainingTime) <= .zero)
        #expect(validator.validate(leaf, at: TestAuthority.now).end == .timeLimit(seconds: 0))
    }
}
