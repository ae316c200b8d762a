import OpenSSL
import PathValidation
import TestSupport
import Testing

extension PKITS {
    /// Cases that OpenSSL does not support: inherited DSA parameters, and a list that is the only source for its own
    /// signer's revocation, on which implementations disagree.
    static let exceptions: Set<String> = ["4.1.5", "4.14.30"]
}

extension PKITS.Case {
    /// The check that must fail in an invalid case, by the section of the suite.
    var failingCheck: Verification.Kind {
        let section = test.split(separator: ".").compactMap { Int($0) }
        return switch (section[1], section[2]) {
        case (2, _): ["4.2.1", "4.2.5"].contains(test) ? .chain : .validity
        case (4, _), (14, _), (15, _): .revocation
        case (5, 2), (5, 5), (5, 7): .revocation
        case (7, 4), (7, 5): .revocation
        case (8...12, _): .policies
        case (13, _): .nameConstraints
        default: .chain
        }
    }

    func validate() throws -> PathValidation {
        let certificates = try readCertificates()
        let validator = PathValidator(
            verifier, pool: Self.pool(certificates), revocation: RevocationPool(lists: try readLists()))
        return validator.validate(certificates[certificates.count - 1], at: PKITS.date)
    }
}

@Suite(
    "NIST PKITS", .enabled(if: !PKITS.cases.isEmpty, Comment(rawValue: PKITS.skipped)),
    .timeLimit(.minutes(10)))
struct PKITSTests {
    @Test(
        "Each case of the suite has the expected verdict, and the expected check fails",
        arguments: PKITS.cases)
    func verdict(_ item: PKITS.Case) throws {
        guard !PKITS.exceptions.contains(item.test) else { return }
        OpenSSLError.discardQueue()
        let result = try item.validate()
        #expect(OpenSSLError.draining("validating").queue.isEmpty)
        let checks = result.verification.checks.filter { $0.outcome != .passed && $0.outcome != .notChecked }
        #expect(result.isValid == item.valid, "\(checks)")
        if !item.valid {
            #expect(checks.contains { $0.kind == item.failingCheck }, "\(checks)")
        }
    }
}
