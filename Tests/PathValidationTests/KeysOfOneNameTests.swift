import Foundation
import OpenSSL
import PathValidation
import Testing
import TestSupport

@Suite("Several keys of one authority", .timeLimit(.minutes(10)))
struct KeysOfOneNameTests {
    @Test("A path with a wrong signature is not tried if another path exists, valid or not")
    func wrongSignatures() throws {
        let root = try TestAuthority.root("Root")
        let right = try root.authority("Authority", serial: [50]) {
            $0.permittedNames = [.dNSName("x.example")]
        }
        let wrong = try (0..<20).map { try root.authority("Authority", serial: [UInt8($0 + 10)]) }
        let names: [GeneralName] = [.dNSName("y.example")]
        let leaf = try right.leaf { $0.subjectAlternativeNames = names }
        for others in [
            wrong.map(\.certificate) + [right.certificate], [right.certificate] + wrong.map(\.certificate),
        ] {
            let result = Trial(trusted: [root.certificate], untrusted: others).validate(leaf)
            #expect(result.attempts.count == 1)
            #expect(result.path.map(\.certificate) == [leaf, right.certificate, root.certificate])
            #expect(
                result.verification.checks.filter { $0.outcome == .failed }.map(\.kind) == [.nameConstraints])
        }
        let fine = try right.leaf { $0.subjectAlternativeNames = [.dNSName("x.example")] }
        let result = Trial(
            trusted: [root.certificate], untrusted: wrong.map(\.certificate) + [right.certificate]
        )
        .validate(fine)
        #expect(result.isValid && result.attempts.count == 1)
    }

    @Test("Partial paths with a wrong signature do not count towards the limits")
    func limits() throws {
        let root = try TestAuthority.root("Root")
        let right = try root.authority("Authority", serial: [50]) {
            // A different key identifier ranks the right authority last.
            $0.subjectKeyIdentifier = .octets([1])
        }
        let wrong = try (0..<20).map { try root.authority("Authority", serial: [UInt8($0 + 10)]) }
        let template = try TestAuthority.template("User", serial: [9], isAuthority: false) {
            $0.authorityKeyIdentifier = .absent
        }
        let leaf = try right.issuer.issue(template, to: TestAuthority.leafKey)
        var trial = Trial(
            trusted: [root.certificate], untrusted: [right.certificate] + wrong.map(\.certificate))
        trial.limits.steps = 4
        trial.limits.candidates = 1
        #expect(trial.validate(leaf).isValid)
    }

    @Test("A path with a wrong signature is reported if no other path exists")
    func onlyWrong() throws {
        let root = try TestAuthority.root("Root")
        let wrong = try (0..<3).map { try root.authority("Authority", serial: [UInt8($0 + 10)]) }
        let leaf = try TestAuthority.root("Authority").leaf()
        let result = Trial(trusted: [root.certificate], untrusted: wrong.map(\.certificate)).validate(leaf)
        #expect(!result.isValid && result.path.count == 3)
        let words = result.verification.check(.chain).explanation
        #expect(words.contains("its signature was not made with the key of"), "\(words)")
        #expect(result.verification.problems.map(\.isWrongSignature) == [true])
    }

    @Test("A partial path without an anchor contains no certificate with a wrong signature")
    func deadEnd() throws {
        let stranger = try TestAuthority.root("Stranger")
        let authority = try stranger.authority("Authority")
        let twin = try stranger.authority("Authority", serial: [3])
        let leaf = try authority.leaf()
        for others in [[authority, twin], [twin, authority]] {
            let result = Trial(
                trusted: [try TestAuthority.root("Root").certificate], untrusted: others.map(\.certificate)
            ).validate(leaf)
            #expect(!result.path.map(\.certificate).contains(twin.certificate))
        }
    }

    @Test("If the issuer has two keys, the search continues after a path with an unsettled revocation status")
    func openRevocation() throws {
        let root = try TestAuthority.root("Root")
        let middle = try root.authority("Middle", serial: [3])
        let key = try PrivateKey.generate(.p256)
        // The responder's name violates the constraint, so its response counts only on the second path.
        let constrained = try root.authority("Authority", key: key, serial: [4]) {
            $0.permittedNames = [.rfc822Name("good.example")]
        }
        let free = try middle.authority("Authority", key: key, serial: [5])
        let other = try root.authority("Authority", serial: [6])
        let responderKey = try PrivateKey.generate(.p256)
        let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
            $0.subjectAlternativeNames = [.rfc822Name("ocsp@other.example")]
        }
        let responder = CertificateIssuer(
            certificate: try constrained.issuer.issue(template, to: responderKey), privateKey: responderKey)
        let leaf = try constrained.leaf()
        let request = try StatusClient.request(
            [leaf.serialNumber], of: constrained.certificate.der, digest: "SHA1")
        let response = try StatusResponse(
            der: responder.statusResponse(
                to: OCSPRequest(der: request), thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
            ) { _ in .good })
        let result = Trial(
            trusted: [root.certificate],
            untrusted: [middle, constrained, free, other].map(\.certificate), responses: [response]
        ).validate(leaf)
        #expect(result.isValid, "\(result.verification.checks)")
        #expect(result.attempts.count == 2)
        #expect(result.attempts[0].failures.map(\.kind) == [.revocation])
    }
}
