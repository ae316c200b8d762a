import Foundation
import OpenSSL
import PathValidation
import TestSupport
import Testing

/// NIST's Public Key Interoperability Test Suite, if it is available in the corpora.
enum PKITS {
    /// One run of the suite: certificates, lists, policy inputs and the expected verdict.
    struct Case: Decodable, CustomTestStringConvertible {
        let test: String
        let title: String
        let certificates: [String]
        let crls: [String]
        let policies: [String]
        let explicitPolicy: Bool
        let inhibitPolicyMapping: Bool
        let inhibitAnyPolicy: Bool
        let valid: Bool

        var testDescription: String { "\(test) \(title)" }
    }

    static let folder = Corpora.folder + "/pkits-path"
    static let skipped =
        "there is no pkits-path in the corpora beside the package (KEYSHARE_CORPORA names another place)"
    /// 2011-04-15 00:00:00 UTC, at which the suite's certificates are valid.
    static let date = Date(timeIntervalSince1970: 1_302_825_600)

    /// The runs; empty if the suite is not available.
    static let cases: [Case] = {
        guard let data = FileManager.default.contents(atPath: folder + "/cases.json") else { return [] }
        return (try? JSONDecoder().decode([Case].self, from: data)) ?? []
    }()

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + path)))
    }

    static func certificate(_ name: String) throws -> Certificate {
        try Certificate(der: bytes("certs/\(name).crt"))
    }

    static func list(_ name: String) throws -> EncodedRevocationList {
        try EncodedRevocationList(der: bytes("crls/\(name).crl"))
    }

    /// Cases that OpenSSL does not support: inherited DSA parameters, and a list that is the only source for its own
    /// signer's revocation, on which implementations disagree.
    static let exceptions: Set<String> = ["4.1.5", "4.14.30"]

    /// The check that must fail in an invalid case, by the section of the suite.
    static func failingCheck(_ item: Case) -> Verification.Kind {
        let section = item.test.split(separator: ".").compactMap { Int($0) }
        return switch (section[1], section[2]) {
        case (2, _): ["4.2.1", "4.2.5"].contains(item.test) ? .chain : .validity
        case (4, _), (14, _), (15, _): .revocation
        case (5, 2), (5, 5), (5, 7): .revocation
        case (7, 4), (7, 5): .revocation
        case (8...12, _): .policies
        case (13, _): .nameConstraints
        default: .chain
        }
    }

    static func validate(_ item: Case) throws -> PathValidation {
        let certificates = try item.certificates.map(certificate)
        var verifier = CertificateVerifier()
        verifier.securityLevel = 0
        if item.policies != ["2.5.29.32.0"] { verifier.acceptedPolicies = item.policies }
        verifier.requiresExplicitPolicy = item.explicitPolicy
        verifier.inhibitsPolicyMapping = item.inhibitPolicyMapping
        verifier.inhibitsAnyPolicy = item.inhibitAnyPolicy
        let pool = CertificatePool(
            trusted: [certificates[0]], untrusted: Array(certificates.dropFirst().dropLast()))
        let validator = PathValidator(
            verifier, pool: pool, revocation: RevocationPool(lists: try item.crls.map(list)))
        return validator.validate(certificates[certificates.count - 1], at: date)
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
        let result = try PKITS.validate(item)
        let checks = result.verification.checks.filter { $0.outcome != .passed && $0.outcome != .notChecked }
        #expect(result.isValid == item.valid, "\(checks)")
        if !item.valid {
            #expect(checks.contains { $0.kind == PKITS.failingCheck(item) }, "\(checks)")
        }
    }
}
