import Foundation
import OpenSSL
import PathValidation
import Testing

@Suite("Rules that OpenSSL does not check", .timeLimit(.minutes(10)))
struct StricterRulesTests {
    /// Replaces octets of a certificate and signs it again.
    private static func resigned(
        _ certificate: Certificate, replacing old: [UInt8], with new: [UInt8], by authority: TestAuthority
    ) throws -> Certificate {
        let der = certificate.der
        // SEQUENCE { SEQUENCE { … } SEQUENCE { algorithm } BIT STRING }, both outer lengths of two octets.
        let count = Int(der[6]) << 8 + Int(der[7])
        var signed = Array(der[4..<8 + count])
        let place = try #require(signed.firstRange(of: old))
        signed.replaceSubrange(place, with: new)
        let signature = try authority.key.signECDSA(Digest.sha256(signed))
        return try Certificate(
            der: DERText.sequence(signed + ListForm.algorithm + DERText.element(0x03, [0] + signature)))
    }

    @Test(
        "From security level 1, an RSA exponent that is even or less than 65,537 fails",
        arguments: [
            [0x02, 0x03, 0x01, 0x00, 0x00], [0x02, 0x03, 0x00, 0xFF, 0xFF], [0x02, 0x03, 0x01, 0x00, 0x01],
        ] as [[UInt8]])
    func exponents(_ exponent: [UInt8]) throws {
        let root = try TestAuthority.root("Root")
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let template = try TestAuthority.template("User", serial: [9], isAuthority: false)
        let leaf = try Self.resigned(
            root.issuer.issue(template, to: key), replacing: [0x02, 0x03, 0x01, 0x00, 0x01], with: exponent,
            by: root)
        let isWeak = exponent != [0x02, 0x03, 0x01, 0x00, 0x01]
        var trial = Trial(trusted: [root.certificate])
        #expect(trial.failures(leaf) == [])
        trial.configure = { $0.securityLevel = 0 }
        #expect(trial.failures(leaf) == [])
        trial.configure = { $0.securityLevel = 1 }
        #expect(trial.failures(leaf) == (isWeak ? [.strength] : []))
    }

    @Test("The exponent of an authority's key is also checked")
    func authorityExponent() throws {
        let root = try TestAuthority.root("Root")
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let sound = try root.authority("Authority", key: key)
        let weak = try Self.resigned(
            sound.certificate, replacing: [0x02, 0x03, 0x01, 0x00, 0x01],
            with: [0x02, 0x03, 0x00, 0xFF, 0xFF],
            by: root)
        let leaf = try sound.leaf()
        var trial = Trial(trusted: [root.certificate], untrusted: [weak])
        trial.configure = { $0.securityLevel = 1 }
        let result = trial.validate(leaf)
        #expect(result.verification.check(.strength).explanation.contains("the RSA exponent is even or less"))
        // X509_V_ERR_CA_KEY_TOO_SMALL, and not X509_V_ERR_EE_KEY_TOO_SMALL.
        let codes = result.verification.problems.map(\.code)
        #expect(codes.contains(67) && !codes.contains(66))
    }

    private static let dns: [(names: [GeneralName], isFine: Bool)] = [
        ([.dNSName("www.good.example")], true), ([.dNSName("*.good.example")], true),
        ([.dNSName("_sip.good.example")], true), ([.dNSName("www.good.example.")], false),
        ([.dNSName("evil.example\0.good.example")], false), ([.dNSName(".good.example")], false),
        ([.dNSName("a..good.example")], false), ([.dNSName("a b.good.example")], false),
        ([.dNSName(String(repeating: "a", count: 64) + ".good.example")], false),
        ([.dNSName("*.*.good.example")], false), ([.dNSName("")], false),
        ([.dNSName(host(253))], true), ([.dNSName(host(254))], false),
    ]

    /// A host name of 253 or 254 bytes.
    private static func host(_ length: Int) -> String {
        String(repeating: "a", count: length - 193) + "."
            + String(repeating: String(repeating: "b", count: 59) + ".", count: 3)
            + "good.example"
    }

    @Test("A malformed host name fails under any constraint on host names, permitted or excluded")
    func hosts() throws {
        let root = try TestAuthority.root("Root")
        let permitting = try root.authority("Permitting") { $0.permittedNames = [.dNSName("good.example")] }
        let excluding = try root.authority("Excluding") { $0.excludedNames = [.dNSName("other.example")] }
        let free = try root.authority("Free") { $0.permittedNames = [.rfc822Name("good.example")] }
        let trial = Trial(
            trusted: [root.certificate],
            untrusted: [permitting.certificate, excluding.certificate, free.certificate])
        for (names, isFine) in Self.dns {
            for authority in [permitting, excluding] {
                let failures = trial.failures(try authority.leaf { $0.subjectAlternativeNames = names })
                #expect(failures == (isFine ? [] : [.nameConstraints]), "\(names)")
            }
            #expect(trial.failures(try free.leaf { $0.subjectAlternativeNames = names }) == [], "\(names)")
        }
        let dotted = try excluding.leaf { $0.subjectAlternativeNames = [.dNSName("other.example.")] }
        #expect(trial.failures(dotted) == [.nameConstraints])
        // Self-issued certificates are exempt, except the last one (RFC 5280, 6.1.3).
        let selfIssued = try excluding.leaf("Excluding") {
            $0.subjectAlternativeNames = [.dNSName("other.example.")]
        }
        #expect(trial.failures(selfIssued) == [.nameConstraints])
    }

    @Test(
        "A wildcard fails if one of the hosts that it matches is excluded",
        arguments: [
            ("www.evil.example", "*.evil.example", false), ("WWW.Evil.example", "*.eVil.example", false),
            ("evil.example", "*.example", false), ("evil.example", "*.evil.example", false),
            ("evil.example", "*.www.evil.example", false), (".evil.example", "*.evil.example", false),
            ("example", "*.evil.example", false), ("a.www.evil.example", "*.evil.example", true),
            (".www.evil.example", "*.evil.example", true), ("www.evil.example", "*.good.example", true),
            ("www.evil.example", "*.ftp.evil.example", true), ("www.evil.example", "evil.example", true),
            ("www.evil.example", "ftp.evil.example", true), ("evil", "*.good", true),
        ])
    func wildcards(excluded: String, name: String, isValid: Bool) throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.excludedNames = [.dNSName("other.example"), .dNSName(excluded)]
        }
        let leaf = try authority.leaf {
            $0.subjectAlternativeNames = [.dNSName("www.good.example"), .dNSName(name)]
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let result = trial.validate(leaf).verification
        #expect(result.isValid == isValid)
        // X509_V_ERR_EXCLUDED_VIOLATION, once.
        #expect(result.problems.map(\.code) == (isValid ? [] : [48]))
        let words = result.check(.nameConstraints).explanation
        #expect(words.contains("DNS:\(name): ") == !isValid, "\(words)")
        #expect(VerificationObjects().keepsNames(leaf, under: authority.certificate) == isValid)
    }

    @Test("A wildcard of an authority also fails if one of the hosts that it matches is excluded")
    func wildcardOfAuthority() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.excludedNames = [.dNSName("www.evil.example")] }
        for (name, failures) in [
            ("*.good.example", []), ("*.evil.example", [Verification.Kind.nameConstraints]),
        ] {
            let below = try authority.authority("Below") { $0.subjectAlternativeNames = [.dNSName(name)] }
            let trial = Trial(
                trusted: [root.certificate], untrusted: [authority.certificate, below.certificate])
            #expect(trial.failures(try below.leaf()) == failures, "\(name)")
        }
    }

    @Test("A wildcard is permitted only if a permitted subtree contains every host that it matches")
    func permittedWildcards() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.dNSName("www.good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        for (name, isValid) in [("*.good.example", false), ("*.www.good.example", true)] {
            let leaf = try authority.leaf { $0.subjectAlternativeNames = [.dNSName(name)] }
            #expect(trial.failures(leaf) == (isValid ? [] : [.nameConstraints]), "\(name)")
        }
    }

    @Test("A certificate with more than 1,024 policies is not verified", arguments: [512, 1_024, 1_025])
    func policies(count: Int) throws {
        let root = try TestAuthority.root("Root")
        let leaf = try root.leaf { $0.policies = (0..<count).map { "1.3.6.1.4.1.\($0)" } }
        #expect(CertificateVerifier.mostPolicies == 1_024)
        let result = Trial(trusted: [root.certificate]).validate(leaf).verification
        // OpenSSL rejects policy trees with more than 1,000 nodes.
        #expect(result.isValid == (count == 512))
        #expect(result.check(.policies).explanation.contains("which is too many") == (count > 1_024))
    }

    @Test(
        "A URI under constraints on URIs must have a host in the form that is compared",
        arguments: [
            ("http://x.good.example/p?q", true), ("ldap://x.good.example:389/o", true),
            ("http://evil.example#.good.example/", false), ("http://evil.example?.good.example/", false),
            ("http://x.good.example:p@evil.example/", false), ("http://evil.example\\.good.example/", false),
            ("http://x.good.example", true), ("http://x.good.example./", false),
            ("urn:uuid:0", false), ("x:", false), ("http:/xx.good.example", false),
            ("http://x%2Egood.example/", false), ("http://x.good.example?q", false),
        ])
    func hostsOfURIs(text: String, isValid: Bool) throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.permittedNames = [.uniformResourceIdentifier(".good.example")]
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf { $0.subjectAlternativeNames = [.uniformResourceIdentifier(text)] }
        #expect(trial.failures(leaf) == (isValid ? [] : [.nameConstraints]))
        // Without such constraints, every form is allowed.
        let other = try root.leaf { $0.subjectAlternativeNames = [.uniformResourceIdentifier(text)] }
        #expect(trial.failures(other) == [])
    }

    @Test("A path with too many comparisons of names and constraints fails the check of name constraints")
    func comparisons() throws {
        func names(_ count: Int, _ label: String) -> [GeneralName] {
            (0..<count).map { .dNSName("\(label)\($0).example") }
        }
        let root = try TestAuthority.root("Root")
        let first = try root.authority("First") { $0.excludedNames = names(350, "x") }
        let second = try first.authority("Second") { $0.excludedNames = names(350, "y") }
        let trial = Trial(
            trusted: [root.certificate], untrusted: [first.certificate, second.certificate])
        // 400 names are compared with 350 or 700 subtrees; 262,144 comparisons are allowed.
        let change: (inout CertificateTemplate) -> Void = { $0.subjectAlternativeNames = names(400, "z") }
        #expect(trial.failures(try first.leaf("User", change)) == [])
        let result = trial.validate(try second.leaf("User", change))
        #expect(!result.isValid)
        let check = result.verification.check(.nameConstraints)
        #expect(check.outcome == .failed && check.explanation.contains("262144 comparisons of names"))
        #expect(result.verification.check(.chain).outcome == .notChecked)
        #expect(trial.failures(try second.leaf()) == [])
    }

    @Test("A certificate is within constraints up to the limit of comparisons, and not above it")
    func mostComparisons() throws {
        let root = try TestAuthority.root("Root")
        // Each name adds one unit and its part of the certificate's length.
        let leaves = try (470..<490).map { count in
            try root.leaf { $0.subjectAlternativeNames = (0..<count).map { .dNSName("y\($0).example") } }
        }
        let objects = VerificationObjects()
        var comparisons: Set<Int> = []
        for count in 474..<490 {
            let authority = try root.authority("Authority") {
                $0.excludedNames = (0..<count).map { .dNSName("x\($0).example") }
            }.certificate
            for leaf in leaves {
                let needed = objects.nameComparisons(of: leaf, under: authority)
                guard abs(needed - CertificateVerifier.mostNameComparisons) < 600 else { continue }
                let isWithin = objects.keepsNames(leaf, under: authority)
                #expect(isWithin == (needed <= CertificateVerifier.mostNameComparisons), "\(needed)")
                comparisons.insert(needed)
            }
        }
        #expect(comparisons.contains(CertificateVerifier.mostNameComparisons))
        #expect(comparisons.contains { $0 > CertificateVerifier.mostNameComparisons })
    }

    @Test("Long subtrees of name constraints count several times", arguments: [40, 4_000])
    func longSubtrees(length: Int) throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.excludedNames = (0..<60).map { .rfc822Name("\($0)." + String(repeating: "x", count: length)) }
        }
        let leaf = try authority.leaf {
            $0.subjectAlternativeNames = (0..<300).map { .rfc822Name("user\($0)@example.com") }
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        #expect(trial.failures(leaf) == (length < 100 ? [] : [.nameConstraints]))
    }

    @Test("The explanation of a rejected name finds it among the first 256 alternative names")
    func manyNames() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.dNSName("good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        for (count, isNamed) in [(0, true), (255, true), (256, false)] {
            let leaf = try authority.leaf {
                $0.subjectAlternativeNames =
                    (0..<count).map { .dNSName("a\($0).good.example") } + [.dNSName("evil.example")]
            }
            let check = trial.validate(leaf).verification.check(.nameConstraints)
            #expect(check.outcome == .failed)
            #expect(check.explanation.contains("DNS:evil.example: ") == isNamed, "\(count)")
        }
    }

    @Test("Checking signatures, names and constraints leaves OpenSSL's error queue empty")
    func errorQueue() throws {
        let (root, other) = (try TestAuthority.root("Root"), try TestAuthority.root("Root"))
        let leaf = try root.leaf()
        let damaged = try root.authority("Damaged") {
            $0.extensions = ["2.5.29.30", "2.5.29.33", "2.5.29.36", "2.5.29.54", "2.5.29.31"].map {
                CertificateExtension(oid: $0, value: [0xFF])
            }
        }
        let objects = VerificationObjects()
        OpenSSLError.discardQueue()
        let steps: [(String, () -> Void)] = [
            ("signature", { #expect(!objects.isSigned(leaf, by: other.certificate)) }),
            ("self", { #expect(!objects.isSelfSigned(leaf)) }),
            ("names", { #expect(!objects.keepsNames(leaf, under: damaged.certificate)) }),
            ("points", { #expect(objects.distributionPoints(of: damaged.certificate) == []) }),
            ("constraints", { #expect(objects.constraints(of: damaged.certificate).hasNameConstraints) }),
        ]
        for (name, step) in steps {
            step()
            #expect(OpenSSLError.draining("testing").queue.isEmpty, "\(name)")
        }
    }

    @Test(
        "A malformed e-mail address is rejected if an authority constrains addresses",
        arguments: [
            ("user@good.example", true), ("\"a@b\"@good.example", true),
            ("invalid@address@good.example", false),
            (".good.example", false), ("@good.example", false), ("user@good.example.", false),
            ("us er@good.example", false), ("user@", false), ("user\0@good.example", false),
            ("\"\"@good.example", false), ("\"@good.example", false),
        ])
    func mailboxes(_ name: String, _ isFine: Bool) throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.rfc822Name("good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf { $0.subjectAlternativeNames = [.rfc822Name(name)] }
        #expect(trial.failures(leaf) == (isFine ? [] : [.nameConstraints]))
    }

    @Test(
        "A malformed e-mail address is also rejected if an authority excludes addresses",
        arguments: [
            ("user@good.example", true), ("user@[192.0.2.1]", true), ("user@[192.0.2.1", false),
            ("user@192.0.2.1]", false), ("user@[192.0.2.1 ]", false), ("us er@good.example", false),
        ])
    func excludedMailboxes(_ name: String, _ isFine: Bool) throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.excludedNames = [.rfc822Name("evil.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf { $0.subjectAlternativeNames = [.rfc822Name(name)] }
        #expect(trial.failures(leaf) == (isFine ? [] : [.nameConstraints]))
    }

    @Test("A malformed e-mail address in the subject fails under a constraint on addresses")
    func subjectMailbox() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.rfc822Name("good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        for (address, expected) in [
            ("user@good.example", []), ("invalid@address@good.example", [Verification.Kind.nameConstraints]),
        ] {
            let leaf = try authority.leaf {
                $0.subject = try DistinguishedName([.init("CN", "Leaf"), .init("emailAddress", address)])
            }
            #expect(trial.failures(leaf) == expected, "\(address)")
        }
    }

    /// Certificate policies with a NULL qualifier of this type (the contents of an OID).
    private static func policies(qualifier type: [UInt8], isCritical: Bool) -> CertificateExtension {
        let qualifiers = DERText.sequence(
            DERText.sequence(DERText.element(0x06, type) + DERText.element(0x16, [0x78])))
        let policy = DERText.sequence([0x06, 0x02, 0x2A, 0x03] + qualifiers)
        return CertificateExtension(oid: "2.5.29.32", isCritical: isCritical, value: DERText.sequence(policy))
    }

    @Test(
        "A critical policy with an unknown qualifier type is rejected in every certificate except the anchor"
    )
    func qualifiers() throws {
        let unknown: [UInt8] = [0x2A, 0x04]
        let practice: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x02, 0x01]
        let root = try TestAuthority.root("Root") {
            $0.extensions = [Self.policies(qualifier: unknown, isCritical: true)]
        }
        func failures(_ item: CertificateExtension, inAuthority: Bool) throws -> [Verification.Kind] {
            let authority = try root.authority("Authority") { if inAuthority { $0.extensions = [item] } }
            let leaf = try authority.leaf { if !inAuthority { $0.extensions = [item] } }
            return Trial(trusted: [root.certificate], untrusted: [authority.certificate]).failures(leaf)
        }
        for place in [true, false] {
            #expect(
                try failures(Self.policies(qualifier: unknown, isCritical: true), inAuthority: place) == [
                    .policies
                ])
            #expect(
                try failures(Self.policies(qualifier: unknown, isCritical: false), inAuthority: place) == [])
            #expect(
                try failures(Self.policies(qualifier: practice, isCritical: true), inAuthority: place) == [])
        }
        // The policies of an incomplete chain are not checked.
        let leaf = try root.leaf { $0.extensions = [Self.policies(qualifier: unknown, isCritical: true)] }
        #expect(Trial(trusted: []).validate(leaf).verification.check(.policies).outcome == .notChecked)
    }

    @Test("The validity period includes the whole last second of notAfter and nextUpdate")
    func lastSecond() throws {
        let now = TestAuthority.now
        let root = try TestAuthority.root("Root") { $0.notAfter = now }
        let authority = try root.authority("Authority") { $0.notAfter = now }
        let leaf = try authority.leaf { $0.notAfter = now }
        let lists = [try root.list(nextUpdate: now), try authority.list(nextUpdate: now)]
        let validator = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate], lists: lists
        ).validator
        #expect(leaf.isValid(at: now) && leaf.isValid(at: now + 0.9) && !leaf.isValid(at: now + 1))
        for date in [now, now + 0.9] {
            let checks = validator.validate(leaf, at: date).verification.checks
            #expect(checks.allSatisfy { $0.outcome == .passed || $0.outcome == .notChecked }, "\(checks)")
        }
        let after = validator.validate(leaf, at: now + 1).verification
        #expect(
            after.checks.filter { $0.outcome == .failed }.map(\.kind) == [.chain, .validity, .revocation])
    }

    // MARK: - Words

    private func explanation(_ kind: Verification.Kind, _ trial: Trial, _ leaf: Certificate) -> String {
        trial.validate(leaf).verification.check(kind).explanation
    }

    @Test("The explanation contains the name that violates a constraint, the authority and the constraint")
    func rejectedName() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.permittedNames = [.rfc822Name("good.example"), .dNSName("good.example")]
            $0.excludedNames = [.dNSName("bad.good.example")]
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let outside = try authority.leaf {
            $0.subjectAlternativeNames = [.rfc822Name("user@good.example"), .rfc822Name("user@evil.example")]
        }
        let words = explanation(.nameConstraints, trial, outside)
        #expect(
            words.contains(
                "email:user@evil.example: O=Path Tests,CN=Authority permits only email:good.example")
                || words.contains(
                    "email:user@evil.example: CN=Authority,O=Path Tests permits only email:good.example"),
            "\(words)")
        #expect(!words.contains("user@good.example"))
        let excluded = try authority.leaf { $0.subjectAlternativeNames = [.dNSName("bad.good.example")] }
        let reason = explanation(.nameConstraints, trial, excluded)
        #expect(
            reason.contains("DNS:bad.good.example: ") && reason.contains(" excludes DNS:bad.good.example"))
    }

    @Test(
        "The explanation of a missing policy names the certificate that requires one and the certificate without one"
    )
    func missingPolicy() throws {
        let root = try TestAuthority.root("Root")
        let first = "2.16.840.1.101.3.2.1.48.1"
        let second = "2.16.840.1.101.3.2.1.48.2"
        let demanding = try root.authority("Demanding") {
            $0.policies = [first]
            $0.extensions = [EncodedExtension.explicitPolicy]
        }
        var trial = Trial(trusted: [root.certificate], untrusted: [demanding.certificate])
        let other = explanation(.policies, trial, try demanding.leaf { $0.policies = [second] })
        #expect(other.contains("CN=Demanding") && other.contains("requires a policy"), "\(other)")
        #expect(
            other.contains("none of the policies of") && other.contains(first) && other.contains(second),
            "\(other)")
        #expect(other.contains("is permitted by \(demanding.certificate.subject) ("), "\(other)")
        let none = explanation(.policies, trial, try demanding.leaf())
        #expect(none.contains("CN=User") && none.contains("has no policy"), "\(none)")
        trial.configure = { $0.acceptedPolicies = [second] }
        let unaccepted = explanation(.policies, trial, try demanding.leaf { $0.policies = [first] })
        #expect(unaccepted.contains("you require one of the policies"), "\(unaccepted)")
        #expect(unaccepted.contains("the path is valid for") && unaccepted.contains(" only"), "\(unaccepted)")
    }

    @Test("A mapping changes the policies in the explanation only if the authority asserts its policy")
    func mappedPolicies() throws {
        let root = try TestAuthority.root("Root")
        let base = "2.16.840.1.101.3.2.1.48."
        for (mapped, left) in [(1, [3]), (2, [1])] as [(UInt8, [Int])] {
            let authority = try root.authority("Authority") {
                $0.policies = [base + "1"]
                $0.extensions = [EncodedExtension.explicitPolicy, EncodedExtension.mapping(mapped, 3)]
            }
            let leaf = try authority.leaf { $0.policies = [base + "4"] }
            let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
            let words = explanation(.policies, trial, leaf)
            let end = try #require(words.components(separatedBy: "is permitted by ").last)
            let shown = (1...4).filter { end.contains(base + "\($0)") }
            #expect(shown == left, "\(words)")
        }
    }

    @Test("The explanation names a missing issuer only once and contains no OpenSSL error text")
    func missingIssuer() throws {
        let authority = try TestAuthority.root("Stranger").authority("Authority")
        let trial = Trial(
            trusted: [try TestAuthority.root("Root").certificate], untrusted: [authority.certificate])
        let words = explanation(.chain, trial, try authority.leaf())
        #expect(
            words.contains("no trusted certificate of its issuer") && words.contains("CN=Stranger"),
            "\(words)")
        #expect(!words.contains(";") && !words.contains("unable to"), "\(words)")
    }

    @Test("A revocation is shown with its date and reason, from a list and from an OCSP response")
    func revocation() throws {
        let root = try TestAuthority.root("Root")
        let leaf = try root.leaf()
        let list = Trial(trusted: [root.certificate], lists: [try root.list([TestAuthority.entry([9])])])
        let date = "2024-12-03T00:00:00Z"
        #expect(
            explanation(.revocation, list, leaf).contains(
                "certificate revoked at \(date), reason: keyCompromise"))
        let found = try #require(list.validate(leaf).path[0].revocation.first?.revocation)
        #expect(found.date == TestAuthority.start && found.reasonName == "keyCompromise")
        let silent = CertificateRevocationList.Entry(serialNumber: [9], date: TestAuthority.start)
        let unexplained = Trial(trusted: [root.certificate], lists: [try root.list([silent])])
        #expect(explanation(.revocation, unexplained, leaf).contains("revoked at \(date), no reason given"))
        #expect(list.validate(try root.leaf(serial: [10])).path[0].revocation.first?.revocation == nil)
    }
}
