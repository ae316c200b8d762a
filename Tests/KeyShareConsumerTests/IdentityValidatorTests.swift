import Foundation
import KeySharing
import OpenSSL
import PathValidation
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("IdentityValidator", .timeLimit(.minutes(10)))
struct IdentityValidatorTests {
    private let date = Date(timeIntervalSince1970: 1_800_000_000)

    private func validator(trusting trusted: [Certificate], at date: Date? = nil) -> IdentityValidator {
        var verifier = CertificateVerifier()
        verifier.securityLevel = 2
        return IdentityValidator(
            verifier, pool: CertificatePool(trusted: trusted, untrusted: []), at: date ?? self.date)
    }

    /// The outcomes of the named checks, in the order of the names.
    private func outcomes(_ report: ValidationReport, _ names: String...) -> [Verification.Outcome?] {
        names.map { name in report.checks.first { $0.name == name }?.outcome }
    }

    @Test("An identity whose chain is trusted and whose key matches is valid")
    func valid() async throws {
        let identity = try TestIdentity("a")
        let report = await validator(trusting: [identity.certificate]).validate(
            ValidationSubject(certificate: identity.certificate, privateKey: .success(identity.privateKey)))
        #expect(
            outcomes(report, "key match", "chain", "validity", "key usage")
                == [.passed, .passed, .passed, .passed])
        #expect(report.identity.label == identity.certificate.label)
        #expect(report.checks.first?.name == "key match" && report.keyError == nil)
    }

    @Test("An identity without a trusted issuer fails the chain check")
    func untrusted() async throws {
        let (identity, other) = (try TestIdentity("a"), try TestIdentity("b"))
        let report = await validator(trusting: [other.certificate]).validate(
            ValidationSubject(certificate: identity.certificate, privateKey: .success(identity.privateKey)))
        #expect(outcomes(report, "key match", "chain") == [.passed, .failed])
        #expect(!report.isValid && report.hasFailed)
    }

    @Test("A private key of another certificate fails the key check")
    func foreignKey() async throws {
        let (identity, other) = (try TestIdentity("a"), try TestIdentity("b"))
        let report = await validator(trusting: [identity.certificate]).validate(
            ValidationSubject(certificate: identity.certificate, privateKey: .success(other.privateKey)))
        #expect(outcomes(report, "key match", "chain") == [.failed, .passed])
        #expect(!report.isValid && report.hasFailed)
    }

    @Test("A private key with the public half of another key fails the key check, also in a file")
    func copiedPublicHalf() async throws {
        let (identity, other) = (try TestIdentity("a"), try TestIdentity("b"))
        var encoded = try other.privateKey.pkcs8().withTransientArray { Array($0) }
        let place = try #require(encoded.firstRange(of: other.privateKey.publicKey.keyOctets))
        encoded.replaceSubrange(place, with: identity.privateKey.publicKey.keyOctets)
        let forged = try PrivateKey(pkcs8: SecretBytes(encoded))
        #expect(forged.matches(identity.certificate))
        let report = await validator(trusting: [identity.certificate]).validate(
            ValidationSubject(certificate: identity.certificate, privateKey: .success(forged)))
        #expect(outcomes(report, "key match", "chain") == [.failed, .passed])
        let file = try PKCS12.create(
            privateKey: forged, certificate: identity.certificate, chain: [], friendlyName: "test",
            password: SecretBytes(utf8: "password"), profile: .modern)
        let contents = try PKCS12.read(file, password: .text(SecretBytes(utf8: "password")))
        let subjects = ValidationSubject.all(in: contents)
        #expect(try subjects.map { try $0.keyMatches?.get() } == [false])
    }

    @Test("An identity whose private key cannot be read skips the key check and is not valid")
    func unreadableKey() async throws {
        let identity = try TestIdentity("a")
        let error = ImportError(.noPassword, "the device is locked")
        let report = await validator(trusting: [identity.certificate]).validate(
            ValidationSubject(certificate: identity.certificate, privateKey: .failure(error)))
        #expect(outcomes(report, "key match") == [.notChecked])
        #expect(report.keyError as? ImportError == error)
        #expect(!report.isValid)
    }

    @Test("A certificate is validated at the date of the validator")
    func validityDate() async throws {
        let identity = try TestIdentity("a")
        let report = await validator(
            trusting: [identity.certificate], at: Date(timeIntervalSince1970: 1_900_000_001)
        ).validate(
            ValidationSubject(certificate: identity.certificate, privateKey: .success(identity.privateKey)))
        #expect(outcomes(report, "validity") == [.failed])
    }

    @Test("An expired identity has only expired if its private key is readable and matches")
    func onlyExpired() async throws {
        let (identity, other) = (try TestIdentity("a"), try TestIdentity("b"))
        let keys: [(Result<PrivateKey, any Error>?, Bool)] = [
            (nil, true), (.success(identity.privateKey), true), (.success(other.privateKey), false),
            (.failure(ImportError(.noPassword, "the device is locked")), false),
        ]
        for (key, hasOnlyExpired) in keys {
            let report = await validator(
                trusting: [identity.certificate], at: identity.certificate.notAfter + 1
            ).validate(ValidationSubject(certificate: identity.certificate, privateKey: key))
            #expect(!report.isValid && report.hasOnlyExpired == hasOnlyExpired)
        }
    }

    private func template(
        _ name: String, serial: UInt8 = 2, isAuthority: Bool = true, notAfter: Date
    ) throws -> CertificateTemplate {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", name)]), serialNumber: [serial],
            notBefore: date - 86_400, notAfter: notAfter)
        template.basicConstraints = isAuthority ? .init(isCertificateAuthority: true) : nil
        template.keyUsage = isAuthority ? .keyCertSign : .digitalSignature
        return template
    }

    @Test("An identity has only expired if an authority of its path has expired")
    func expiredAuthority() async throws {
        let key = try PrivateKey.generate(.p256)
        let root = try CertificateIssuer(
            selfSigned: template("Root", notAfter: date + 86_400), privateKey: key)
        let authority = CertificateIssuer(
            certificate: try root.issue(template("Authority", notAfter: date - 1), to: key), privateKey: key)
        let leaf = try authority.issue(
            template("User", isAuthority: false, notAfter: date + 86_400), to: key)
        let report = await validator(trusting: [root.certificate]).validate(
            ValidationSubject(
                certificate: leaf, privateKey: nil, intermediates: [authority.certificate]))
        #expect(!report.isValid && report.hasOnlyExpired)
    }

    @Test("The path searches of a run share a time limit, to which each identity adds")
    func totalTime() async throws {
        let key = try PrivateKey.generate(.p256)
        let root = try CertificateIssuer(
            selfSigned: template("Root", notAfter: date + 86_400), privateKey: key)
        let authorities = try (2..<5).map {
            CertificateIssuer(
                certificate: try root.issue(
                    template("Authority", serial: $0, notAfter: date - 1), to: key), privateKey: key)
        }
        let leaf = try authorities[0].issue(
            template("User", isAuthority: false, notAfter: date + 86_400), to: key)
        for (total, identity, end) in [
            (Duration.zero, Duration.zero, PathValidation.End.timeLimit(seconds: 0)),
            (.zero, .seconds(3_600), .exhausted), (.seconds(3_600), .zero, .exhausted),
        ] {
            let validator = validator(trusting: [root.certificate])
            validator.limits.totalTime = total
            validator.limits.identityTime = identity
            for _ in 0..<2 {
                let report = await validator.validate(
                    ValidationSubject(
                        certificate: leaf, privateKey: nil, intermediates: authorities.map(\.certificate)))
                #expect(report.validation.end == end && !report.isValid)
            }
        }
    }

    @Test("The key usage that one identity needs is not required of the next certificate")
    func expectations() async throws {
        let (signature, encryption) = (
            try TestIdentity("a"), try TestIdentity("b", usage: .keyAgreement)
        )
        let validator = validator(trusting: [signature.certificate, encryption.certificate])
        let first = await validator.validate(
            ValidationSubject(certificate: signature.certificate, privateKey: .success(signature.privateKey)))
        #expect(outcomes(first, "key usage") == [.passed])
        let second = await validator.validate(
            ValidationSubject(certificate: encryption.certificate, privateKey: nil))
        #expect(outcomes(second, "key usage", "extended key usage") == [.notChecked, .notChecked])
    }

    @Test("Each identity in a file is validated with the file's other certificates as intermediates")
    func subjects() throws {
        let (identity, authority) = (try TestIdentity("a"), try TestIdentity("authority"))
        let contents = try PKCS12.read(
            try identity.file(chain: [authority.certificate]),
            password: .text(SecretBytes(utf8: "password")))
        let subjects = ValidationSubject.all(in: contents)
        #expect(subjects.map(\.certificate.label) == [identity.certificate.label])
        #expect(subjects.first?.intermediates.map(\.label) == [authority.certificate.label])
        #expect(try subjects.first?.keyMatches?.get() == true)
    }
}
