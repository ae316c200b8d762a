import OpenSSL
import PathValidation
import Testing

@Suite("Name constraints on e-mail addresses", .timeLimit(.minutes(10)))
struct MailConstraintTests {
    /// A SmtpUTF8Mailbox (RFC 9598 3).
    private static func international(_ text: String) -> GeneralName {
        .otherName(type: "1.3.6.1.5.5.7.8.9", value: .utf8String(text))
    }

    /// The failed checks of a certificate with this name below an authority with these constraints.
    private func failures(
        _ name: GeneralName, permitted: [String] = [], excluded: [String] = []
    ) throws -> [Verification.Kind] {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.permittedNames = permitted.map { .rfc822Name($0) }
            $0.excludedNames = excluded.map { .rfc822Name($0) }
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        return trial.failures(try authority.leaf { $0.subjectAlternativeNames = [name] })
    }

    @Test(
        "An excluded address is rejected in every form in which it can be written",
        arguments: [
            Self.international("ceo@corp.example"), Self.international("ceo@CORP.example"),
            Self.international("\"ceo\"@corp.example"), .rfc822Name("ceo@corp.example"),
            .rfc822Name("ceo@CORP.example"), .rfc822Name("\"ceo\"@corp.example"),
            .rfc822Name("\"c\\eo\"@corp.example"),
        ])
    func excludedForms(_ name: GeneralName) throws {
        for subtree in [
            "ceo@corp.example", "\"ceo\"@corp.example", "corp.example", "Corp.Example", ".example",
        ] {
            #expect(try failures(name, excluded: [subtree]) == [.nameConstraints], "\(subtree)")
        }
    }

    @Test("The addresses of a self-issued authority are not constrained, except those of the leaf")
    func selfIssued() throws {
        let root = try TestAuthority.root("Root")
        let constrained = try root.authority("Authority") { $0.excludedNames = [.rfc822Name("corp.example")] }
        for name in [Self.international("ceo@corp.example"), .rfc822Name("\"ceo\"@corp.example")] {
            for (subject, failures) in [("Authority", []), ("Other", [Verification.Kind.nameConstraints])] {
                let next = try constrained.authority(subject, serial: [3]) {
                    $0.subjectAlternativeNames = [name]
                }
                let trial = Trial(
                    trusted: [root.certificate], untrusted: [constrained.certificate, next.certificate])
                #expect(trial.failures(try next.leaf()) == failures, "\(name), \(subject)")
            }
        }
    }

    @Test(
        "An empty excluded subtree excludes every address, also with dots or an @",
        arguments: ["", ".", "..", "@", "@."])
    func emptySubtree(_ subtree: String) throws {
        for name in [Self.international("d\u{E4}na@corp.example"), .rfc822Name("dana@corp.example")] {
            #expect(try failures(name, excluded: [subtree]) == [.nameConstraints])
        }
        #expect(try failures(.dNSName("www.corp.example"), excluded: [subtree]) == [])
    }

    @Test("An empty excluded subtree also excludes the address of the subject")
    func emptySubtreeAndSubject() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.excludedNames = [.rfc822Name("")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf {
            $0.subject = try DistinguishedName([.init("CN", "Leaf"), .init("emailAddress", "a@b.example")])
        }
        #expect(trial.failures(leaf) == [.nameConstraints])
        #expect(trial.failures(try authority.leaf()) == [])
    }

    @Test(
        "A malformed excluded subtree excludes every address",
        arguments: [
            "mailto:ceo@corp.example", "ceo@corp.example ", " corp.example", "ceo@", "corp.example/",
            "*.corp.example", "..corp.example", "@*.corp.example", "@.corp.example", "@corp.example ",
            "@<corp.example>", "smtp:ceo@corp.example",
        ])
    func malformedSubtree(_ subtree: String) throws {
        for name in [Self.international("d\u{E4}na@other.example"), .rfc822Name("dana@other.example")] {
            #expect(try failures(name, excluded: [subtree]) == [.nameConstraints])
        }
        #expect(try failures(.dNSName("www.corp.example"), excluded: [subtree]) == [])
    }

    @Test("A SmtpUTF8Mailbox is rejected below any constraint of that type", arguments: [false, true])
    func internationalSubtree(isPermitted: Bool) throws {
        let subtrees = [Self.international("corp.example")]
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            if isPermitted { $0.permittedNames = subtrees } else { $0.excludedNames = subtrees }
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        for (name, isValid) in [
            (Self.international("d\u{E4}na@corp.example"), false),
            (Self.international("d\u{E4}na@other.example"), false), (.rfc822Name("dana@corp.example"), true),
        ] {
            let leaf = try authority.leaf { $0.subjectAlternativeNames = [name] }
            let check = trial.validate(leaf).verification.check(.nameConstraints)
            #expect(check.outcome == (isValid ? .passed : .failed), "\(name)")
            let words = ": constraints of this type are not supported, constrained by CN=Authority"
            #expect(check.explanation.contains(words) == !isValid, "\(check.explanation)")
        }
    }

    @Test("A search for paths compares addresses like the validation")
    func search() throws {
        let root = try TestAuthority.root("Root")
        let excluding = try root.authority("Excluding") {
            $0.excludedNames = [.rfc822Name("ceo@corp.example")]
        }
        let permitting = try root.authority("Permitting") {
            $0.permittedNames = [.rfc822Name("corp.example")]
        }
        for (text, isExcluded, isPermitted) in [
            ("ceo@corp.example", true, true), ("dana@corp.example", false, true),
            ("ceo@other.example", false, false), ("ceo@corp.example.", true, false),
        ] {
            for name in [Self.international(text), .rfc822Name(text)] {
                let leaf = try root.leaf { $0.subjectAlternativeNames = [name] }
                let objects = VerificationObjects()
                for _ in 0..<2 {
                    #expect(objects.keepsNames(leaf, under: excluding.certificate) == !isExcluded, "\(text)")
                    #expect(objects.keepsNames(leaf, under: permitting.certificate) == isPermitted, "\(text)")
                    #expect(objects.keepsNames(leaf, under: root.certificate))
                }
            }
        }
    }

    @Test(
        "A host that is not canonical is rejected below any constraint on addresses",
        arguments: [
            Self.international("ceo@\u{FF43}orp.example"), Self.international("ceo@co\u{AD}rp.example"),
            Self.international("ceo@corp\u{3002}example"), Self.international("ceo@corp.example."),
            Self.international("ceo@B\u{DC}CHER.example"), Self.international("ceo@bu\u{308}cher.example"),
            Self.international("ceo@xn--corp.example"), Self.international("ceo@corp.example\u{3000}"),
            Self.international("ceo\u{A0}@corp.example"), Self.international("ceo"),
            .rfc822Name("ceo@xn--corp.example"),
            .otherName(type: "1.3.6.1.5.5.7.8.9", value: .octetString(Array("ceo@corp.example".utf8))),
        ])
    func foreignForms(_ name: GeneralName) throws {
        #expect(try failures(name, excluded: ["other.example"]) == [.nameConstraints])
        #expect(try failures(name, permitted: ["corp.example"]) == [.nameConstraints])
        if case .otherName(_, .octetString) = name { return }
        #expect(try failures(name) == [])
    }

    @Test("An international host equals the same host in A-labels")
    func hosts() throws {
        for host in ["b\u{FC}cher.example", "xn--bcher-kva.example"] {
            let name = Self.international("d\u{E4}na@\(host)")
            #expect(try failures(name, excluded: ["xn--bcher-kva.example"]) == [.nameConstraints])
            #expect(try failures(name, excluded: ["bucher.example"]) == [])
        }
    }

    @Test("Addresses outside the excluded subtrees are accepted, and permitted ones too")
    func accepted() throws {
        for name in [Self.international("d\u{E4}na@corp.example"), .rfc822Name("dana@corp.example")] {
            #expect(
                try failures(name, excluded: ["ceo@corp.example", ".corp.example", "orp.example"]) == [])
            #expect(try failures(name, permitted: ["other.example", "corp.example"]) == [])
            #expect(try failures(name, permitted: [".corp.example"]) == [.nameConstraints])
        }
    }

    @Test("An excluded address is reported for each certificate of the path that contains one")
    func severalCertificates() throws {
        let root = try TestAuthority.root("Root")
        let upper = try root.authority("Upper") { $0.excludedNames = [.rfc822Name("corp.example")] }
        let lower = try upper.authority("Lower") {
            $0.subjectAlternativeNames = [.rfc822Name("ca@corp.example")]
        }
        let leaf = try lower.leaf { $0.subjectAlternativeNames = [Self.international("ceo@corp.example")] }
        let problems = Trial(
            trusted: [root.certificate], untrusted: [upper, lower].map(\.certificate)
        ).validate(leaf).verification.problems
        // X509_V_ERR_EXCLUDED_VIOLATION.
        #expect(problems.filter { $0.code == 48 }.map(\.depth).sorted() == [0, 1])
    }

    @Test("The explanation contains the address, the authority and the excluded subtree")
    func explanation() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.excludedNames = [.rfc822Name("ceo@corp.example")]
        }
        let leaf = try authority.leaf {
            $0.subjectAlternativeNames = [Self.international("ceo@corp.example")]
        }
        let words = Trial(trusted: [root.certificate], untrusted: [authority.certificate]).validate(leaf)
            .verification.check(.nameConstraints).explanation
        #expect(words.contains("ceo@corp.example: ") && words.contains(" excludes email:ceo@corp.example"))
    }
}
