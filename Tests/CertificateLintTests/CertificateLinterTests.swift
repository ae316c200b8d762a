import CertificateLint
import Foundation
import OpenSSL
import Testing

@Suite("CertificateLinter", .timeLimit(.minutes(10)))
struct CertificateLinterTests {
    private static func findings(_ raw: RawCertificate) throws -> [LintFinding] {
        CertificateLinter.findings(in: try Certificate(der: raw.der), at: RawCertificate.date)
    }

    private static func findings(_ raw: RawList) throws -> [LintFinding] {
        CertificateLinter.findings(in: try CertificateRevocationList(der: raw.der), at: RawCertificate.date)
    }

    private static func findings(_ raw: RawResponse) throws -> [LintFinding] {
        CertificateLinter.findings(in: try StatusResponse(der: raw.der), at: RawCertificate.date)
    }

    @Test("Certificates of persons, PIV cards and authorities that follow the rules have no findings")
    func sound() throws {
        #expect(try Self.findings(.person) == [])
        #expect(try Self.findings(.piv) == [])
        #expect(try Self.findings(.authority) == [])
        #expect(try Self.findings(RawList()) == [])
        #expect(try Self.findings(RawResponse()) == [])
    }

    @Test("The rules for e-mail and for PIV are not applied to certificates for other purposes")
    func otherPurposes() throws {
        var client = RawCertificate.person
        client.extensions?.remove("2.5.29.17")
        client.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("1.3.6.1.5.5.7.3.2")))
        client.notAfter = Raw.utc("280101000000Z")
        client.key = Raw.rsa(octets: 512)
        let codes = try Self.findings(client).map(\.code)
        #expect(!codes.contains { $0.hasPrefix("mail-") || $0.hasPrefix("piv-") })
    }

    @Test("The local part of an address may be a quoted string")
    func quotedAddress() throws {
        for (address, isSyntaxValid) in [
            (#""user name"@mail.example"#, true), (#""@mail.example"#, false),
            (#"user name@mail.example"#, false),
            (#""user@mail.example"#, false), ("\"user\tname\"@mail.example", false),
        ] {
            var certificate = RawCertificate.person
            certificate.extensions?.set("2.5.29.17", Raw.sequence(RawCertificate.address(address)))
            let codes = try Self.findings(certificate).map(\.code)
            #expect(codes.contains("alternative-name-email") != isSyntaxValid, "\(address): \(codes)")
        }
    }

    @Test(
        "A certificate that breaks a rule has the finding of that rule, and the unchanged certificate does not",
        arguments: CertificateCase.all)
    func certificates(_ each: CertificateCase) throws {
        var raw = each.base()
        #expect(try !Self.findings(raw).contains { $0.code == each.code })
        each.change(&raw)
        let found = try Self.findings(raw).filter { $0.code == each.code }
        #expect(!found.isEmpty)
        #expect(found.allSatisfy { !$0.message.isEmpty && !$0.message.hasSuffix(".") })
    }

    @Test(
        "A revocation list that breaks a rule has the finding of that rule, and the unchanged list does not",
        arguments: ListCase.all)
    func lists(_ each: ListCase) throws {
        var raw = RawList()
        each.change(&raw)
        #expect(try Self.findings(raw).contains { $0.code == each.code })
    }

    private static let responses: [(code: String, change: @Sendable (inout RawResponse) -> Void)] = [
        ("response-without-status", { $0.status = 6 }),
        (
            "response-weak-signature-digest",
            { $0.algorithm = Raw.algorithm("1.2.840.113549.1.1.5", Raw.null) }
        ),
        ("response-empty", { $0.count = 0 }),
        ("response-next-update-missing", { $0.nextUpdate = [] }),
        (
            "response-next-update-reversed",
            { $0.nextUpdate = Raw.tlv(0xA0, Raw.generalized("20240101000000Z")) }
        ),
        ("response-produced-early", { $0.producedAt = Raw.generalized("20240101000000Z") }),
        ("response-expired", { $0.nextUpdate = Raw.tlv(0xA0, Raw.generalized("20250201000000Z")) }),
    ]

    @Test("An OCSP response that breaks a rule has the rule's finding")
    func statusResponses() throws {
        for each in Self.responses {
            var raw = RawResponse()
            each.change(&raw)
            #expect(try Self.findings(raw).contains { $0.code == each.code }, "\(each.code)")
        }
    }

    private static let payload = LintedProfile.Payload(
        type: "com.apple.security.root", identifier: "example.root",
        uuid: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6")
    private static let profile = LintedProfile(
        header: .init(
            type: "Configuration", identifier: "example", uuid: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF7"),
        payloads: [payload], isSigned: true)

    private static let profiles: [(code: String, change: @Sendable (inout LintedProfile) throws -> Void)] = [
        ("profile-unsigned", { $0.isSigned = false }), ("profile-type", { $0.header.type = "Other" }),
        ("profile-key-missing", { $0.payloads[0].identifier = nil }),
        ("profile-key-missing", { $0.payloads[0].type = nil }),
        ("profile-key-missing", { $0.payloads[0].uuid = nil }),
        ("profile-key-missing", { $0.header.identifier = nil }),
        ("profile-uuid-malformed", { $0.header.uuid = "none" }),
        ("profile-uuid-duplicate", { $0.payloads[0].uuid = $0.header.uuid?.lowercased() }),
        ("profile-uuid-malformed", { $0.payloads[0].uuid = "none" }),
        ("profile-uuid-duplicate", { $0.payloads.append($0.payloads[0]) }),
        ("profile-certificate-unreadable", { $0.payloads[0].lacksCertificate = true }),
        (
            "profile-root-not-self-signed",
            { $0.payloads[0].certificates = [try Certificate(der: RawCertificate.authority.der)] }
        ),
    ]

    @Test("A configuration profile that breaks a rule has the rule's finding")
    func configurationProfiles() throws {
        #expect(CertificateLinter.findings(in: Self.profile) == [])
        for each in Self.profiles {
            var profile = Self.profile
            try each.change(&profile)
            #expect(CertificateLinter.findings(in: profile).map(\.code) == [each.code])
        }
        var intermediate = Self.profile
        intermediate.payloads[0].type = "com.apple.security.pkcs1"
        intermediate.payloads[0].certificates = [try Certificate(der: RawCertificate.authority.der)]
        #expect(CertificateLinter.findings(in: intermediate) == [])
    }

    @Test("A certificate is compared with its issuer's certificate")
    func issuers() throws {
        let issuer = try Certificate(der: RawCertificate.authority.der)
        var raw = RawCertificate.person
        raw.issuer = Raw.name("Test Email CA")
        raw.notAfter = Raw.utc("270201000000Z")
        let child = try Certificate(der: raw.der)
        let found = CertificateLinter.findings(in: child, at: RawCertificate.date, issuer: issuer)
        #expect(found.map(\.code) == ["validity-beyond-issuer", "authority-key-identifier-mismatch"])
        #expect(CertificateLinter.issuer(of: child, among: [child, issuer]) == nil)
        raw.extensions?.set("2.5.29.35", Raw.sequence(Raw.tlv(0x80, [5, 6, 7, 8])))
        raw.notAfter = Raw.utc("270101000000Z")
        let other = try Certificate(der: raw.der)
        #expect(CertificateLinter.issuer(of: other, among: [other, issuer]) == issuer)
        #expect(CertificateLinter.findings(in: other, at: RawCertificate.date, issuer: issuer) == [])
    }

    @Test("Every rule has a test case, a unique code, a source and a meaning")
    func cases() {
        let tested =
            CertificateCase.all.map(\.code) + ListCase.all.map(\.code) + Self.responses.map(\.code)
            + Self.profiles.map(\.code) + ["validity-beyond-issuer", "authority-key-identifier-mismatch"]
            + MessageLintTests.tested
        let codes = CertificateLinter.rules.map(\.code)
        #expect(Set(tested) == Set(codes))
        #expect(Set(codes).count == codes.count)
        #expect(codes.count > 100)
        for rule in CertificateLinter.rules {
            #expect(rule.code.wholeMatch(of: #/[a-z0-9]+(-[a-z0-9]+)*/#) != nil, "\(rule.code)")
            #expect(!rule.reference.isEmpty && !rule.meaning.isEmpty && !rule.meaning.hasSuffix("."))
        }
    }

    @Test(
        "A self-signed certificate with RSA-1024, SHA-1 and 25 years has findings about key, digest and key usage"
    )
    func outdated() throws {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "Old")]), serialNumber: [1],
            notBefore: RawCertificate.date, notAfter: RawCertificate.date + 25 * 365 * 86_400)
        template.basicConstraints = .init(isCertificateAuthority: true)
        let issuer = try CertificateIssuer(
            selfSigned: template, privateKey: try .generate(.rsa(bits: 1_024)), digest: .sha1)
        let codes = CertificateLinter.findings(in: issuer.certificate, at: RawCertificate.date).map(\.code)
        #expect(codes == ["serial-short", "weak-signature-digest", "key-usage-missing", "weak-rsa-key"])
    }

    @Test("The findings of each rule are limited in number, and a megabyte of extensions is examined quickly")
    func bounded() throws {
        var raw = RawCertificate.person
        let item = Raw.Extension(oid: "1.2.3.9", critical: true, value: Raw.null)
        raw.extensions? += [Raw.Extension](repeating: item, count: 72_000)
        #expect(raw.der.count > 1_000_000)
        let certificate = try Certificate(der: raw.der)
        let start = ContinuousClock.now
        let found = CertificateLinter.findings(in: certificate, at: RawCertificate.date)
        #expect(ContinuousClock.now - start < .seconds(60))
        #expect(found.count { $0.code == "extension-unknown-critical" } <= 8)
        #expect(found.count < 100)
    }

    @Test("Truncated and altered objects never crash the process")
    func hostile() throws {
        var random = SystemRandomNumberGenerator()
        let samples = [
            RawCertificate.person.der, RawCertificate.authority.der, RawList().der, RawResponse().der,
        ]
        for sample in samples {
            for _ in 0..<400 {
                var bytes = sample
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
                        in: 0...255, using: &random)
                }
                Self.examine(bytes)
            }
            for length in stride(from: 0, to: sample.count, by: 7) {
                Self.examine(Array(sample.prefix(length)))
            }
        }
    }

    private static func examine(_ bytes: [UInt8]) {
        let date = RawCertificate.date
        if let certificate = try? Certificate(der: bytes) {
            #expect(CertificateLinter.findings(in: certificate, at: date, issuer: certificate).count < 1_000)
        }
        if let list = try? CertificateRevocationList(der: bytes) {
            #expect(CertificateLinter.findings(in: list, at: date).count < 1_000)
        }
        if let response = try? StatusResponse(der: bytes) {
            #expect(CertificateLinter.findings(in: response, at: date).count < 1_000)
        }
    }
}
