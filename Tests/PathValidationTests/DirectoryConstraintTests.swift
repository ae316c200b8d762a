import OpenSSL
import PathValidation
import Testing

@Suite("Name constraints on directory names", .timeLimit(.minutes(10)))
struct DirectoryConstraintTests {
    /// The failed checks of a certificate with this subject below an authority that excludes one name.
    private func failures(
        excluded: [DistinguishedName.Attribute], subject: [DistinguishedName.Attribute],
        alternativeName: [DistinguishedName.Attribute]? = nil
    ) throws -> [Verification.Kind] {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.excludedNames = [.directoryName(try DistinguishedName(excluded))]
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf {
            $0.subject = try DistinguishedName(subject)
            if let alternativeName {
                $0.subjectAlternativeNames = [.directoryName(try DistinguishedName(alternativeName))]
            }
        }
        let objects = VerificationObjects()
        let found = trial.failures(leaf)
        #expect(objects.keepsNames(leaf, under: authority.certificate) == found.isEmpty)
        return found
    }

    @Test(
        "An excluded directory name excludes the same name with other case, spaces and normalization",
        arguments: [
            ("M\u{DC}LLER", "m\u{FC}ller", false), ("M\u{FC}ller", "Mu\u{308}ller", false),
            ("M\u{FC}ller", "MU\u{308}LLER", false), ("STRASSE", "stra\u{DF}e", false),
            ("Gro\u{DF}", "GRO\u{1E9E}", false), ("GROSS", "gro\u{1E9E}", false),
            ("\u{3A3}\u{3A3}", "\u{3C3}\u{3C2}", false), ("Evil Corp", "Evil\u{A0}Corp", false),
            ("Evil Corp", " evil \u{2003} CORP ", false), ("Evil Corp", "Evil\u{AD} Corp", false),
            ("Evil Corp", "Evil\u{200B} Co\u{34F}rp\u{FE0F}", false),
            ("Evil Corp", "E\u{FF36}il Corp", false), ("Evil TEL", "Evil \u{2121}", false),
            ("Evil Corp", "Evil\u{FFFC} Corp\u{1806}", false), ("Evil Corp", "EvilCorp", true),
            ("Evil Corp", "Evil Corp Ltd", true), ("Evil Corp", "Evil", true),
            ("M\u{FC}ller", "Muller", true), ("M\u{FC}ller", "M\u{FA}ller", true),
        ])
    func forms(excluded: String, organization: String, isValid: Bool) throws {
        let expected: [Verification.Kind] = isValid ? [] : [.nameConstraints]
        let subtree = [DistinguishedName.Attribute("O", excluded)]
        let name = [DistinguishedName.Attribute("O", organization), .init("CN", "User")]
        #expect(try failures(excluded: subtree, subject: name) == expected)
        let other = [DistinguishedName.Attribute("CN", "User")]
        #expect(try failures(excluded: subtree, subject: other, alternativeName: name) == expected)
    }

    @Test("An excluded directory name is compared with the first relative names")
    func positions() throws {
        let upper = "M\u{DC}LLER"
        let lower = DistinguishedName.Attribute("O", "m\u{FC}ller")
        let (unit, user) = (DistinguishedName.Attribute("OU", "a"), DistinguishedName.Attribute("CN", "User"))
        let rejected: [Verification.Kind] = [.nameConstraints]
        #expect(try failures(excluded: [.init("O", upper)], subject: [lower, unit, user]) == rejected)
        #expect(try failures(excluded: [.init("O", upper)], subject: [unit, lower, user]) == [])
        let long = [DistinguishedName.Attribute("O", upper), .init("OU", "A")]
        #expect(try failures(excluded: long, subject: [lower, unit]) == rejected)
        #expect(try failures(excluded: long, subject: [lower, user]) == [])
        #expect(try failures(excluded: long, subject: [lower]) == [])
        #expect(try failures(excluded: [.init("CN", upper)], subject: [lower]) == [])
    }

    @Test("A value that is too long or has too many combining marks equals every excluded value of its type")
    func longValues() throws {
        let rejected: [Verification.Kind] = [.nameConstraints]
        for (text, count, isValid) in [
            ("a", 1_023, true), ("a", 1_024, false), ("\u{AD}", 2_000, false), ("\u{301}", 30, true),
            ("\u{301}", 31, false), ("\u{301}\u{34F}", 31, false),
        ] {
            let value = "E" + String(repeating: text, count: count)
            let name = [DistinguishedName.Attribute("description", value), .init("CN", "User")]
            let found = try failures(excluded: [.init("description", "Evil")], subject: name)
            #expect(found == (isValid ? [] : rejected), "\(count)")
            #expect(try failures(excluded: [.init("O", "Evil")], subject: name) == [])
        }
    }

    @Test("Values after 4,096 characters outside ASCII in a certificate equal every excluded value")
    func manyCharacters() throws {
        for (count, isValid) in [(4, true), (5, false)] {
            let text = String(repeating: "\u{FDFA}", count: 1_000)
            let value = DistinguishedName.Attribute("description", text)
            let equal = Array(repeating: value, count: count - 1)
            let found = try failures(excluded: equal + [.init("description", "a")], subject: equal + [value])
            #expect(found == (isValid ? [] : [.nameConstraints]))
        }
    }

    @Test("The explanation contains the name, the authority and the excluded subtree")
    func explanation() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") {
            $0.excludedNames = [.directoryName(try DistinguishedName([.init("O", "M\u{DC}LLER")]))]
        }
        let leaf = try authority.leaf { $0.subject = try DistinguishedName([.init("O", "m\u{FC}ller")]) }
        let words = Trial(trusted: [root.certificate], untrusted: [authority.certificate]).validate(leaf)
            .verification.check(.nameConstraints).explanation
        #expect(words.contains("O=m\u{FC}ller: ") && words.contains(" excludes DirName:O=M\u{DC}LLER"))
    }
}
