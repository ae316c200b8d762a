import OpenSSL
import PathValidation
import Testing

@Suite("Name constraints on hosts", .timeLimit(.minutes(10)))
struct HostConstraintTests {
    /// The failed checks of a certificate below an authority that excludes one name.
    private func failures(
        excluded: GeneralName, commonName: String = "User", _ names: GeneralName...,
        extendedKeyUsage: [String] = []
    ) throws -> [Verification.Kind] {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.excludedNames = [excluded] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf {
            $0.subject = try DistinguishedName([.init("CN", commonName)])
            $0.subjectAlternativeNames = names
            $0.extendedKeyUsage = extendedKeyUsage
        }
        return trial.failures(leaf)
    }

    @Test(
        "A URI whose host is an IP address fails under constraints on URIs",
        arguments: [
            ("http://good.example/", true), ("http://192.0.2.example/", true), ("http://0xg/", true),
            ("http://192.0.2.1/", false), ("http://192.0.2.1:80/", false), ("http://3221225985", false),
            ("http://192.0.2.0x1/", false), ("http://0XC0000201/", false), ("http://[2001:db8::1]/", false),
        ])
    func addresses(text: String, isValid: Bool) throws {
        let name = GeneralName.uniformResourceIdentifier(text)
        let expected: [Verification.Kind] = isValid ? [] : [.nameConstraints]
        #expect(try failures(excluded: .uniformResourceIdentifier("evil.example"), name) == expected)
        #expect(try failures(excluded: .dNSName("evil.example"), name) == [])
    }

    @Test(
        "An excluded host name with final dots excludes the same hosts as without them",
        arguments: [
            ("evil.example.", "evil.example", false), ("Evil.Example.", "www.eVil.example", false),
            ("evil.example.", "*.evil.example", false), ("evil.example..", "evil.example", false),
            (".evil.example.", "www.evil.example", false), (".evil.example.", "evil.example", true),
            ("www.evil.example.", "*.evil.example", false), ("www.evil.example.", "evil.example", true),
            ("evil.example.", "notevil.example", true), ("evil.example.", "good.example", true),
            (".", "good.example", false),
        ])
    func finalDots(excluded: String, name: String, isValid: Bool) throws {
        let expected: [Verification.Kind] = isValid ? [] : [.nameConstraints]
        #expect(try failures(excluded: .dNSName(excluded), .dNSName(name)) == expected)
    }

    @Test(
        "A malformed excluded subtree of host names excludes every host name",
        arguments: [
            "*.evil.example", "evil.example/", "http://evil.example", "evil.example:443", " evil.example",
            "evil.example ", "..evil.example",
        ])
    func malformedSubtree(excluded: String) throws {
        #expect(try failures(excluded: .dNSName(excluded), .dNSName("good.example")) == [.nameConstraints])
        #expect(try failures(excluded: .dNSName(excluded), .rfc822Name("dana@good.example")) == [])
    }

    @Test(
        "An excluded URI host with a final dot excludes the same hosts as without it",
        arguments: [
            ("evil.example.", "http://Evil.example:80/p", false),
            ("evil.example.", "http://www.evil.example", true),
            (".evil.example.", "http://www.evil.example", false),
            (".evil.example.", "http://evil.example", true),
        ])
    func finalDotsOfURIs(excluded: String, name: String, isValid: Bool) throws {
        let expected: [Verification.Kind] = isValid ? [] : [.nameConstraints]
        let found = try failures(
            excluded: .uniformResourceIdentifier(excluded), .uniformResourceIdentifier(name))
        #expect(found == expected)
    }

    @Test(
        "An excluded subtree of URIs that is empty or not a host excludes every URI",
        arguments: [
            "", ".", "http://evil.example", "evil.example/", "evil.example:80", "*.evil.example", "..evil",
        ])
    func malformedSubtreesOfURIs(_ excluded: String) throws {
        let subtree = GeneralName.uniformResourceIdentifier(excluded)
        let name = GeneralName.uniformResourceIdentifier("http://good.example/")
        #expect(try failures(excluded: subtree, name) == [.nameConstraints])
        #expect(try failures(excluded: subtree, .dNSName("good.example")) == [])
    }

    @Test("An excluded e-mail domain with a final dot excludes the same addresses as without it")
    func finalDotsOfMailDomains() throws {
        for (excluded, isValid) in [
            ("evil.example.", false), (".example.", false), ("user@evil.example.", false),
            ("ceo@evil.example.", true), ("good.example.", true),
        ] {
            let found = try failures(excluded: .rfc822Name(excluded), .rfc822Name("user@evil.example"))
            #expect(found == (isValid ? [] : [.nameConstraints]), "\(excluded)")
        }
    }

    @Test("A common name with the form of a host is compared if no alternative name is a host name")
    func commonNames() throws {
        for (excluded, commonName, isValid) in [
            ("www.evil.example", "*.evil.example", false), ("www.evil.example", "*.good.example", true),
            ("evil.example.", "www.evil.example", false), ("evil.example.", "www evil.example", true),
            ("evil.example", "www.evil.example", false), ("evil.example", "*.evil.example", false),
            ("evil.example", "*.www.evil.example", false), ("evil.example", "www.evil.example\0", false),
            ("evil.example", "w*.evil.example", false), ("www.evil.example", "w*.evil.example", false),
            ("www.evil.example", "w*.good.example", true), ("evil.example", "*.*.evil.example", false),
            ("evil.example", "www-.evil.example", false), ("evil.example", "-www.evil.example", false),
            ("evil.example", "www.evil.example.", false), ("evil.example", "evil.example.", false),
            ("www.evil.example", "x*.evil.example", true), ("evil.example", "Acme.", true),
            ("evil.example", "a..evil.example", false), ("evil.example", "www-.good.example", true),
        ] {
            let name = GeneralName.dNSName(excluded)
            let address = GeneralName.rfc822Name("user@good.example")
            let found = try failures(excluded: name, commonName: commonName, address)
            #expect(found == (isValid ? [] : [.nameConstraints]), "\(commonName)")
            let host = GeneralName.dNSName("www.good.example")
            #expect(try failures(excluded: name, commonName: commonName, host) == [], "\(commonName)")
        }
    }

    @Test(
        "A common name with a wildcard must be below a permitted host, and an authority's may be a host, too")
    func permittedCommonNames() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.dNSName("good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        for (name, isAuthority, isValid) in [
            ("*.good.example", false, true), ("*.www.good.example", false, true), ("*.example", false, false),
            ("*.evil.example", false, false), ("www.evil.example", true, false), ("*", false, false),
            ("w*.evil.example", false, false), ("w*.good.example", false, true),
            ("www-.evil.example", false, false), ("www-.good.example.", false, true),
            ("www.good.example", true, true),
        ] {
            let leaf = try authority.leaf {
                $0.subject = try DistinguishedName([.init("CN", name)])
                $0.subjectAlternativeNames = []
                if isAuthority { $0.basicConstraints = .init(isCertificateAuthority: true) }
            }
            #expect(trial.failures(leaf).contains(.nameConstraints) != isValid, "\(name)")
        }
    }

    @Test("A common name of one label is compared if the extended key usage includes TLS servers")
    func commonNamesOfOneLabel() throws {
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority") { $0.permittedNames = [.dNSName("corp.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let address = GeneralName.rfc822Name("user@good.example")
        for (commonName, usages, isCompared) in [
            ("Intranet", ["1.3.6.1.5.5.7.3.1"], true), ("intranet", ["1.3.6.1.4.1.311.10.3.3"], true),
            ("intranet", [], false), ("intranet", ["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"], false),
            ("intranet", ["1.3.6.1.5.5.7.3.4"], false), ("In tranet", ["1.3.6.1.5.5.7.3.1"], false),
        ] as [(String, [String], Bool)] {
            let expected: [Verification.Kind] = isCompared ? [.nameConstraints] : []
            let found = try failures(
                excluded: .dNSName("intranet"), commonName: commonName, address, extendedKeyUsage: usages)
            #expect(found == expected, "\(commonName) \(usages)")
            let leaf = try authority.leaf {
                $0.subject = try DistinguishedName([.init("CN", commonName)])
                $0.extendedKeyUsage = usages
            }
            #expect(trial.failures(leaf) == expected, "\(commonName) \(usages)")
        }
        let host = GeneralName.dNSName("www.good.example")
        let found = try failures(
            excluded: .dNSName("intranet"), commonName: "intranet", host,
            extendedKeyUsage: ["1.3.6.1.5.5.7.3.1"])
        #expect(found == [])
    }

    @Test("The common name of a person is not compared with constraints on hosts")
    func commonNamesOfPersons() throws {
        for (name, usages, isValid) in [
            ("EXAMPLE.DANA.1234567890", [], true), ("EXAMPLE.DANA", [], false),
            ("EXAMPLE.DANA", ["1.3.6.1.5.5.7.3.4"], true), ("EXAMPLE.DANA", ["1.3.6.1.5.5.7.3.1"], false),
            ("EXAMPLE.DANA", ["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"], false), ("EXAMPLE.DANA.10", [], false),
            ("EXAMPLE.DANA.1234567890", ["2.5.29.37.0"], true),
            ("EXAMPLE.DANA.1234567890", ["1.3.6.1.5.5.7.3.1"], false),
            ("EXAMPLE.DANA", ["2.16.840.1.113730.4.1"], false),
            ("EXAMPLE.DANA", ["1.3.6.1.4.1.311.10.3.3"], false), ("www.evil\0.1234567890", [], false),
            ("www.evil\0.1234567890", ["1.3.6.1.5.5.7.3.4"], false),
        ] {
            let found = try failures(
                excluded: .dNSName(""), commonName: name, .rfc822Name("dana@mail.example"),
                extendedKeyUsage: usages)
            #expect(found == (isValid ? [] : [.nameConstraints]), "\(name) \(usages)")
        }
    }

    @Test("The common name of an authority is not compared with constraints on hosts")
    func commonNameOfAuthority() throws {
        let root = try TestAuthority.root("Root")
        let above = try root.authority("Above") { $0.excludedNames = [.dNSName("www.evil.example")] }
        let below = try above.authority("*.evil.example")
        let trial = Trial(trusted: [root.certificate], untrusted: [above.certificate, below.certificate])
        #expect(trial.failures(try below.leaf()) == [])
    }
}
