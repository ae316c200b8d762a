import CertificateLint
import CertificateReading
@testable import TestCredentials
import Foundation
import KeySharing
import OpenSSL
import TestSupport
@testable import TestVectors
import Testing

import KeyShareProvider

@Suite("Credential profiles", .timeLimit(.minutes(10)))
struct ProfileTests {
    private static let date = Date(timeIntervalSince1970: 1_767_225_600)
    private static let validity = date.addingTimeInterval(-86_400)..<date.addingTimeInterval(86_400 * 1000)
    private static let source = RandomSource.seeded(Seed("profiles"))
    private static let authority = Result { () throws -> TestAuthority in
        try TestAuthority(algorithm: .p256, validity: validity, from: source)
    }

    /// One key of each kind, which all certificates share, because their other contents do not depend on the key.
    private static let keys = Dictionary(
        uniqueKeysWithValues: KeyAlgorithm.allCases.compactMap { algorithm in
            (try? PrivateKey.generate(algorithm)).map { (algorithm, $0) }
        })

    private static func issue(
        _ profile: CredentialProfile, _ type: CredentialType, _ algorithm: KeyAlgorithm = .p256,
        arc: PolicyArc = .test, account: SecurityIdentifier? = nil
    ) throws -> Certificate {
        var random = source.child("\(profile.name) \(type)").generator()
        var person = TestPerson(using: &random)
        person.givenSecurityIdentifier = account
        let spec = CredentialSpec(
            type: type, profile: profile, algorithm: algorithm, validity: validity, policyArc: arc)
        let key = try #require(keys[algorithm])
        return try authority.get()[spec.issuer].issue(
            try spec.template(
                for: person, serialNumber: SerialNumber.random(using: &random), below: authority.get(),
                in: .example, using: &random), to: key)
    }

    @Test("The built-in profiles match the files in the folder, and each series is sorted by date")
    func areRead() throws {
        let folder = PackageFolder.path + "/Sources/TestCredentials/Data/Profiles"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(files.sorted() == CredentialProfile.all.map { "\($0.name).json" }.sorted())
        #expect(
            CredentialProfile.all.map(\.name) == [
                "dod-2018", "dod-2021", "dod-2024", "derived-piv", "piv-i", "device",
            ])
        #expect(CredentialProfile.all.allSatisfy { $0.types.allSatisfy($0.has) })
    }

    @Test(
        "The profile of a series is chosen by date",
        arguments: [
            ("2010-01-01", "dod-2018"), ("2018-11-03", "dod-2018"), ("2021-12-04", "dod-2021"),
            ("2024-12-03", "dod-2024"), ("2040-01-01", "dod-2024"),
        ])
    func series(day: String, name: String) throws {
        let date = try Date(day, strategy: .iso8601.year().month().day())
        #expect(CredentialProfile.named("dod", at: date)?.name == name)
        #expect(CredentialProfile.named("dod-2018", at: date)?.name == "dod-2018")
        #expect(CredentialProfile.named("nothing", at: date) == nil)
    }

    @Test(
        "Certificates of every profile have the intended type, pass strict verification and have no findings",
        arguments: CredentialProfile.all.map(\.name), KeyAlgorithm.allCases)
    func certificates(name: String, algorithm: KeyAlgorithm) throws {
        let profile = try #require(CredentialProfile.named(name, at: Self.date))
        let authority = try Self.authority.get()
        var verifier = TrustingVerifier(trustAnchors: [authority[.root].certificate])
        verifier.intermediates = authority.issuers.map(\.issuer.certificate)
        verifier.revocationLists = try authority.revocationLists(
            revoked: [], at: Self.date, from: Self.source)
        verifier.isStrict = true
        verifier.securityLevel = 2
        for type in profile.types {
            let certificate = try Self.issue(profile, type, algorithm)
            let facts = CertificateFacts(certificate)
            #expect(Classification(facts, under: .keySharing2025).type == type)
            #expect(Classification(facts, under: .legacy).type == (type == .device ? .multi : type))
            #expect(CertificateFinding.all(in: certificate) == [])
            #expect(Self.findings(certificate, among: authority) == [])
            verifier.expectedKeyUsage = type.expectedKeyUsage(isEllipticCurve: algorithm.isEllipticCurve)
            verifier.expectedExtendedKeyUsage = type.expectedExtendedKeyUsage
            verifier.acceptedPolicies = certificate.policies
            let verification = verifier.verify(certificate, at: Self.date)
            #expect(verification.isValid, "\(verification.checks)")
        }
    }

    /// The errors and warnings about a certificate whose issuer is one of the authorities.
    private static func findings(_ certificate: Certificate, among authority: TestAuthority) -> [LintFinding]
    {
        let issuers = [authority[.root].certificate] + authority.issuers.map(\.issuer.certificate)
        let issuer = CertificateLinter.issuer(of: certificate, among: issuers)
        return CertificateLinter.findings(in: certificate, at: date, issuer: issuer).filter {
            $0.severity != .notice
        }
    }

    @Test("Authorities and their revocation lists have no errors and no warnings")
    func authorities() throws {
        let authority = try Self.authority.get()
        for issuer in [authority[.root].certificate] + authority.issuers.map(\.issuer.certificate) {
            #expect(Self.findings(issuer, among: authority) == [])
        }
        for list in try authority.revocationLists(revoked: [], at: Self.date, from: Self.source) {
            let findings = CertificateLinter.findings(in: list, at: Self.date)
            #expect(findings.filter { $0.severity != .notice } == [])
        }
    }

    @Test("Certificates contain policies of the test arc unless real ones are requested")
    func policies() throws {
        for profile in CredentialProfile.all {
            for type in profile.types {
                let test = try Self.issue(profile, type).policies
                #expect(!test.isEmpty)
                #expect(test.allSatisfy { $0.hasPrefix("2.16.840.1.101.3.2.1.48.") })
                #expect(try Self.issue(profile, type, arc: .dod).policies != test)
            }
        }
    }

    @Test("A certificate names a Windows account if the profile requires one or the person has one")
    func accounts() throws {
        let given = try #require(SecurityIdentifier("S-1-5-21-1-2-3-1001"))
        for profile in CredentialProfile.all {
            for type in profile.types {
                func account(_ given: SecurityIdentifier?) throws -> SecurityIdentifier? {
                    let certificate = try Self.issue(profile, type, account: given)
                    let value = certificate.extensions.first { $0.oid == SecurityIdentifier.extensionType }
                    if type != .device {
                        #expect(TestPerson(of: certificate)?.givenSecurityIdentifier == given)
                    }
                    return value.flatMap { SecurityIdentifier(extensionValue: $0.value) }
                }
                let contents = try #require(profile.certificate(type))
                #expect(try (account(nil) != nil) == (profile.name == "derived-piv"))
                if contents.namesPrincipal { #expect(try account(given) == given) }
            }
        }
    }

    @Test("The purposes of a series change over the years")
    func purposes() throws {
        func purposes(_ name: String, _ type: CredentialType) throws -> [String]? {
            let profile = try #require(CredentialProfile.named(name, at: Self.date))
            return try Self.issue(profile, type).extendedKeyUsage
        }
        #expect(try purposes("dod-2018", .encryption) == nil)
        #expect(try purposes("dod-2024", .encryption) == ["1.3.6.1.5.5.7.3.4"])
        #expect(
            try purposes("dod-2021", .signature) == [
                "1.3.6.1.4.1.311.20.2.2", "1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.4",
            ])
        #expect(
            try purposes("dod-2024", .signature) == ["1.3.6.1.5.5.7.3.4", "1.3.6.1.4.1.311.10.3.12"])
        #expect(try purposes("derived-piv", .authentication) == ["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.2.3.4"])
    }
}
