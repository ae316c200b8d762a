import Foundation
import Testing

@testable import OpenSSL
@testable import PathValidation

@Suite("Order and end of the search for a path", .timeLimit(.minutes(10)))
struct SearchOrderTests {
    private static let first = "2.16.840.1.101.3.2.1.48.1"

    /// Properties of a path that look like a defect but are none.
    enum Appearance: CaseIterable {
        case selfIssuedName, pathLengthOfSelfIssued, anchorWithoutPolicy
    }

    @Test(
        "Names and path lengths of self-issued authorities, and an anchor without policies, are no defect",
        arguments: Appearance.allCases)
    func appearances(_ kind: Appearance) throws {
        let root = try TestAuthority.root("Root")
        let far = try TestAuthority.root("Far Root") { $0.policies = [Self.first] }
        let upper = try root.authority("Authority", serial: [3]) {
            $0.policies = [Self.first]
            switch kind {
            case .selfIssuedName: $0.permittedNames = [.dNSName("good.example")]
            case .pathLengthOfSelfIssued: $0.basicConstraints?.pathLength = 0
            case .anchorWithoutPolicy: break
            }
        }
        let lower = try upper.authority("Authority", serial: [4]) {
            $0.policies = [Self.first]
            if kind == .selfIssuedName { $0.subjectAlternativeNames = [.dNSName(".evil.example")] }
        }
        let bridges = try ["Bridge 1", "Bridge 2", "Bridge 3"].reduce(into: [far]) { bridges, name in
            bridges.append(try bridges[bridges.count - 1].authority(name) { $0.policies = [Self.first] })
        }
        let long = try bridges[3].authority("Authority", key: lower.key, serial: [5]) {
            $0.policies = [Self.first]
        }
        let leaf = try lower.leaf { $0.policies = [Self.first] }
        var trial = Trial(
            trusted: [root.certificate, far.certificate],
            untrusted: bridges.dropFirst().map(\.certificate) + [long, upper, lower].map(\.certificate))
        if kind == .anchorWithoutPolicy { trial.configure = { $0.acceptedPolicies = [Self.first] } }
        for _ in 0..<2 {
            let result = trial.validate(leaf)
            #expect(result.isValid && result.attempts.count == 1, "\(result.verification.checks)")
            #expect(
                result.path.map(\.certificate) == [
                    leaf, lower.certificate, upper.certificate, root.certificate,
                ])
            trial.untrusted.reverse()
        }
    }

    @Test("A path with the required policy, or with the right key identifier, is tried before a shorter one")
    func detours() throws {
        let root = try TestAuthority.root("Root") { $0.policies = [Self.first] }
        let bridge = try root.authority("Bridge") { $0.policies = [Self.first] }
        let long = try bridge.authority("Authority", serial: [3]) { $0.policies = [Self.first] }
        let lax = try root.authority("Authority", key: long.key, serial: [4])
        let misnamed = try root.authority("Authority", key: long.key, serial: [5]) {
            $0.policies = [Self.first]
            $0.subjectKeyIdentifier = .octets([1])
        }
        let leaf = try long.leaf { $0.policies = [Self.first] }
        for short in [lax, misnamed] {
            var trial = Trial(
                trusted: [root.certificate], untrusted: [short, long, bridge].map(\.certificate))
            if short.certificate == lax.certificate {
                trial.configure = { $0.acceptedPolicies = [Self.first] }
            }
            let result = trial.validate(leaf)
            #expect(result.isValid && result.attempts.count == 1)
            #expect(result.path.map(\.certificate)[1] == long.certificate)
        }
    }

    @Test("An anchor whose constraints the leaf violates is tried after a longer path to another anchor")
    func constrainedAnchors() throws {
        let changes: [(inout CertificateTemplate) throws -> Void] = [
            { $0.excludedNames = [.rfc822Name("mail.example")] },
            { $0.permittedNames = [.rfc822Name("other.example")] },
            { $0.basicConstraints?.pathLength = 0 },
        ]
        for (index, change) in changes.enumerated() {
            let (near, far) = (try TestAuthority.root("Near", change), try TestAuthority.root("Far"))
            let bridge = try far.authority("Bridge")
            let authority = try near.authority("Authority", serial: [3])
            let twin = try bridge.authority("Authority", key: authority.key, serial: [4])
            let leaf = try authority.leaf { $0.subjectAlternativeNames = [.rfc822Name("user@mail.example")] }
            var trial = Trial(
                trusted: [near, far].map(\.certificate),
                untrusted: [authority, twin, bridge].map(\.certificate))
            for _ in 0..<2 {
                let result = trial.validate(leaf)
                #expect(result.isValid && result.attempts.count == 1, "\(index)")
                #expect(result.path.last?.certificate == far.certificate)
                trial.untrusted.reverse()
                trial.trusted.reverse()
            }
        }
    }

    @Test("The distance of a name is the number of certificates up to the nearest anchor")
    func distances() throws {
        let (root, other) = (try TestAuthority.root("Root"), try TestAuthority.root("Other"))
        let chain = try ["A", "B", "C"].reduce(into: [root]) { chain, name in
            chain.append(try chain[chain.count - 1].authority(name))
        }
        let short = try other.authority("C", key: chain[3].key, serial: [7])
        let stranger = try TestAuthority.root("Stranger").authority("Lost")
        func distances(_ untrusted: [TestAuthority]) throws -> [Int?] {
            let pool = CertificatePool(
                trusted: [root, other].map(\.certificate), untrusted: untrusted.map(\.certificate))
            return try ["Root", "A", "B", "C", "Lost"].map {
                pool.distance(from: pool.key(of: try TestAuthority.name($0)))
            }
        }
        let lower = Array(chain.dropFirst())
        #expect(try distances(lower + [stranger]) == [1, 2, 3, 4, nil])
        #expect(try distances([short] + lower.reversed()) == [1, 2, 3, 2, nil])
        #expect(try distances([chain[1], chain[3]]) == [1, 2, nil, nil, nil])
    }

    @Test("A path with too many comparisons of names in total is tried after a longer path")
    func comparisons() throws {
        func names(_ count: Int, _ label: String) -> [GeneralName] {
            (0..<count).map { .dNSName("\(label)\($0).example") }
        }
        let root = try TestAuthority.root("Root")
        let constrained = try root.authority("Constrained") { $0.excludedNames = names(350, "x") }
        let bad = try constrained.authority("Authority", serial: [3]) {
            $0.subjectAlternativeNames = names(400, "y")
        }
        let bridges = try ["A", "B", "C"].reduce(into: [root]) { bridges, name in
            bridges.append(try bridges[bridges.count - 1].authority(name, serial: [6]))
        }
        let good = try bridges[3].authority("Authority", key: bad.key, serial: [7])
        let leaf = try bad.leaf { $0.subjectAlternativeNames = names(400, "z") }
        let objects = VerificationObjects()
        #expect(objects.keepsNames(leaf, under: constrained.certificate))
        #expect(objects.keepsNames(bad.certificate, under: constrained.certificate))
        let result = Trial(
            trusted: [root.certificate],
            untrusted: ([constrained, bad, good] + bridges.dropFirst()).map(\.certificate)
        ).validate(leaf)
        #expect(result.isValid && result.attempts.count == 1 && result.path.count == 6)
    }

    @Test(
        "If an authority is not permitted for the purpose, the search continues with its other certificates",
        arguments: [CertificatePurpose.smimesign, .codesign, .smartcardLogon, .sslclient])
    func purposes(_ purpose: CertificatePurpose) throws {
        let root = try TestAuthority.root("Root")
        let wrong = try root.authority("Authority", serial: [3]) {
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.8"]
        }
        let bridge = try root.authority("Bridge")
        let right = try bridge.authority("Authority", key: wrong.key, serial: [4])
        let leaf = try wrong.leaf { $0.extendedKeyUsage = purpose.extendedKeyUsages ?? [] }
        var trial = Trial(
            trusted: [root.certificate], untrusted: [wrong, bridge, right].map(\.certificate))
        trial.configure = { $0.purpose = purpose }
        let result = trial.validate(leaf)
        #expect(result.isValid && result.end == .found, "\(result.verification.checks)")
        #expect(result.path.map(\.certificate)[1] == right.certificate)
    }

    @Test("If every path is too long, the result contains the longest partial path")
    func tooLong() throws {
        let root = try TestAuthority.root("Root")
        let chain = try ["A", "B", "C"].reduce(into: [root]) { chain, name in
            chain.append(try chain[chain.count - 1].authority(name))
        }
        var trial = Trial(
            trusted: [root.certificate], untrusted: chain.dropFirst().map(\.certificate))
        let leaf = try chain[3].leaf()
        for links in 1...5 {
            trial.limits.links = links
            let result = trial.validate(leaf)
            #expect(result.isValid == (links == 5))
            #expect(result.path.count == links && result.attempts.count == 1, "\(links)")
        }
    }

    @Test("Paths through an authority that is known to be revoked are tried last")
    func revokedAuthority() throws {
        let root = try TestAuthority.root("Root")
        let middle = try root.authority("Middle", serial: [3])
        let twin = try root.authority("Middle", key: middle.key, serial: [4])
        let revoked = try middle.authority("Authority", serial: [5])
        let bridges = try ["A", "B", "C"].reduce(into: [root]) { bridges, name in
            bridges.append(try bridges[bridges.count - 1].authority(name, serial: [6]))
        }
        let good = try bridges[3].authority("Authority", key: revoked.key, serial: [7])
        let lists = try (bridges + [good]).map { try $0.list() } + [middle.list([TestAuthority.entry([5])])]
        var trial = Trial(
            trusted: [root.certificate],
            untrusted: ([middle, twin, revoked, good] + bridges.dropFirst()).map(\.certificate), lists: lists)
        for _ in 0..<2 {
            let result = trial.validate(try good.leaf())
            #expect(result.isValid && result.attempts.count == 2)
            #expect(result.path.count == 6)
            trial.untrusted.reverse()
        }
    }

    @Test("An untrusted root is not a part of the longest partial path")
    func untrustedRoot() throws {
        let stranger = try TestAuthority.root("Stranger")
        let authority = try stranger.authority("Authority")
        let leaf = try authority.leaf()
        for untrusted in [[authority, stranger], [stranger, authority]] {
            let result = Trial(
                trusted: [try TestAuthority.root("Root").certificate],
                untrusted: untrusted.map(\.certificate)
            ).validate(leaf)
            #expect(result.path.map(\.certificate) == [leaf, authority.certificate])
        }
    }

    @Test("An untrusted root is not a part of any path, whether it signed the leaf or has an anchor's name")
    func untrustedIssuer() throws {
        let root = try TestAuthority.root("Root")
        let stranger = try TestAuthority.root("Stranger")
        let leaf = try stranger.leaf()
        let alone = Trial(trusted: [root.certificate], untrusted: [stranger.certificate]).validate(leaf)
        #expect(alone.path.map(\.certificate) == [leaf])
        let twin = try TestAuthority.root("Root")
        let below = try twin.authority("Authority").leaf()
        let result = Trial(trusted: [root.certificate], untrusted: [twin.certificate]).validate(below)
        #expect(!result.attempts.contains { $0.certificates.contains(twin.certificate) })
    }

    @Test("At most 16 paths with a wrong signature are tried")
    func wrongSignatures() throws {
        let root = try TestAuthority.root("Root")
        let wrong = try (0..<20).map { try root.authority("Authority", serial: [UInt8($0 + 10)]) }
        // The last partial path is too long, so no path remains without a wrong signature.
        let bridge = try root.authority("Bridge")
        let right = try bridge.authority("Authority")
        let leaf = try right.leaf { $0.authorityKeyIdentifier = .absent }
        var trial = Trial(
            trusted: [root.certificate], untrusted: (wrong + [right, bridge]).map(\.certificate))
        trial.limits.faultyCandidates = 100
        trial.limits.links = 3
        let result = trial.validate(leaf)
        #expect(result.attempts.count == 16 && result.path.count == 3)
    }

    @Test("Certificates accompany only one leaf, and a new pool replaces the old one")
    func accompanying() throws {
        let root = try TestAuthority.root("Root")
        let (first, second) = (try root.authority("First"), try root.authority("Second"))
        let validator = Trial(trusted: [root.certificate]).validator
        func isValid(_ leaf: Certificate, _ others: [TestAuthority]) -> Bool {
            validator.validate(leaf, accompaniedBy: others.map(\.certificate), at: TestAuthority.now).isValid
        }
        #expect(try isValid(first.leaf(), [first]))
        #expect(try isValid(second.leaf(), [second]) && !isValid(first.leaf(), [second]))
        #expect(try !isValid(first.leaf(), [second]))
        validator.pool = validator.pool.adding([first.certificate])
        #expect(try isValid(first.leaf(), [second]))
    }

    @Test("The search also stops at its time limit between two complete paths")
    func timeLimit() throws {
        let names = (0..<6).map { "Ring \($0)" }
        let members = try names.map { try TestAuthority.root($0) }
        var ring: [Certificate] = []
        for (index, member) in members.enumerated() {
            for step in [1, 2, 5] {
                let next = (index + step) % members.count
                ring.append(
                    try member.authority(
                        names[next], key: members[next].key, serial: [UInt8(10 * index + step)]
                    ).certificate)
            }
        }
        let root = try TestAuthority.root("Root")
        // The only way to the anchor has a wrong signature.
        let impostor = try TestAuthority.root("Root").authority(names[0], key: members[0].key, serial: [99])
        var trial = Trial(trusted: [root.certificate], untrusted: ring + [impostor.certificate])
        let leaf = try members[3].leaf()
        trial.limits.steps = 100
        #expect(trial.validate(leaf).end == .stepLimit(100))
        let validator = trial.validator
        let start = ContinuousClock.now
        let clock = SteppingClock(start)
        validator.limits = PathLimits()
        validator.now = { clock.next() }
        let result = validator.validate(leaf, at: TestAuthority.now)
        #expect(result.end == .timeLimit(seconds: 2))
        // No complete path was found before.
        #expect(result.attempts.map(\.isAnchored) == [false])
    }

    @Test("A missing list of an authority and an allowed expiry do not delay the verdict on a defective leaf")
    func finalFaults() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority", serial: [3])
        let twin = try root.authority("Authority", key: authority.key, serial: [4])
        let expired = try authority.leaf { $0.notAfter = TestAuthority.now - 1 }
        var trial = Trial(
            trusted: [root.certificate], untrusted: [authority, twin].map(\.certificate),
            lists: [try authority.list()])
        let result = trial.validate(expired)
        #expect(result.end == .leafFault && result.attempts.count == 1)

        let old = try root.authority("Authority", key: authority.key, serial: [5]) {
            $0.notAfter = TestAuthority.now - 1
        }
        let critical = try authority.leaf {
            $0.extensions = [CertificateExtension(oid: "1.2.3.4", isCritical: true, value: [5, 0])]
        }
        trial = Trial(trusted: [root.certificate], untrusted: [old.certificate])
        trial.configure = { $0.allowsExpired = true }
        #expect(trial.validate(critical).end == .leafFault)
    }

    @Test("An allowed expiry does not delay the paths with the expired authority")
    func allowedExpiry() throws {
        let root = try TestAuthority.root("Root")
        let expired = try root.authority("Expired", serial: [2]) { $0.notAfter = TestAuthority.now - 1 }
        let key = try PrivateKey.generate(.p256)
        // Only OpenSSL detects that the policy is missing.
        func policy(_ template: inout CertificateTemplate) {
            template.extensions = [EncodedExtension.explicitPolicy]
        }
        let wrong = try expired.authority("Authority", key: key, serial: [3], policy)
        let middle = try expired.authority("Middle", serial: [4])
        let right = try middle.authority("Authority", key: key, serial: [5])
        let others = try ["A", "B", "C"].reduce(into: [root]) { others, name in
            others.append(try others[others.count - 1].authority(name, serial: [6]))
        }
        let long = try others[3].authority("Authority", key: key, serial: [7], policy)
        let certificates =
            [expired, wrong, middle, right, long].map(\.certificate) + others.dropFirst().map(\.certificate)
        var trial = Trial(trusted: [root.certificate], untrusted: certificates)
        trial.configure = { $0.allowsExpired = true }
        let result = trial.validate(try right.leaf())
        #expect(result.isValid && result.attempts.count == 2)
    }

    @Test("A revoked leaf ends the search only if its issuer has one key")
    func revokedLeaf() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority", serial: [3])
        let twin = try root.authority("Authority", key: authority.key, serial: [4])
        let other = try root.authority("Authority", serial: [5])
        let leaf = try authority.leaf()
        let lists = [try root.list(), try authority.list([TestAuthority.entry([9])])]
        for (authorities, isFinal) in [([authority, twin], true), ([authority, twin, other], false)] {
            let result = Trial(
                trusted: [root.certificate], untrusted: authorities.map(\.certificate), lists: lists
            ).validate(leaf)
            #expect(!result.isValid && (result.attempts.count == 1) == isFinal)
        }
    }

    @Test("Policies above a mapping are those of the issuer's domain, if the authority asserts them")
    func mappings() {
        let mapping = AuthorityConstraints.PolicyMapping(issuerPolicy: "1.1", subjectPolicy: "1.2")
        let any = "2.5.29.32.0"
        for (leaf, asserted, wanted, meets) in [
            (["1.2"], ["1.1"], "1.1", true), (["1.3"], ["1.1"], "1.1", false),
            (["1.1"], ["1.1"], "1.1", false), (["1.2"], ["1.4"], "1.1", false),
            (["1.2"], [any], "1.1", true), ([any], ["1.1"], "1.1", true), (["1.2"], ["1.1"], "1.2", false),
            (["1.1"], [any], "1.1", false), (["1.3"], [any], "1.3", true),
            (["1.4"], ["1.1", "1.4"], "1.4", true),
        ] as [([String], [String], String, Bool)] {
            var domain = PolicyDomain(leaf: leaf)
            domain.rise(over: asserted, mappings: [mapping])
            #expect(domain.meets([wanted]) == meets, "\(leaf) \(asserted) \(wanted)")
        }
    }
}
