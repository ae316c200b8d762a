import COpenSSL
import Testing

@testable import OpenSSL

@Suite("Explanations of errors on a path", .timeLimit(.minutes(10)))
struct PathReviewTests {
    private func reasons(_ codes: [CInt], depth: Int = 0) throws -> [String] {
        let review = PathReview(
            [try TestPKI.leaf(), TestPKI.root.certificate], CertificateVerifier(), [:], VerificationObjects())
        return review.inPlainWords(
            try codes.map {
                .init(code: Int($0), reason: "code \($0)", depth: depth, subject: try TestPKI.name("x"))
            }
        ).map(\.reason)
    }

    @Test(
        "Each error that no anchor was reached has its own words, and replaces the errors that follow from it"
    )
    func causes() throws {
        let missing =
            "no trusted certificate of its issuer, \(TestPKI.root.certificate.subject), was provided"
        let untrusted = "the certificate is self-signed and not trusted"
        for (code, words) in [
            (X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, missing),
            (X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, missing),
            (X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, untrusted),
            (X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, untrusted),
        ] {
            let all = [X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED, code]
            #expect(try reasons(all) == [words], "\(code)")
        }
        #expect(
            try reasons([X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED])
                == [missing, "code \(X509_V_ERR_CERT_UNTRUSTED)"])
    }

    @Test("An error keeps OpenSSL's words if there are no better ones, or if its certificate is unknown")
    func unknown() throws {
        #expect(try reasons([X509_V_ERR_CERT_HAS_EXPIRED]) == ["code \(X509_V_ERR_CERT_HAS_EXPIRED)"])
        #expect(try reasons([X509_V_ERR_CERT_REVOKED]) == ["code \(X509_V_ERR_CERT_REVOKED)"])
        for depth in [-1, 2] {
            let code = X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN
            #expect(try reasons([code], depth: depth) == ["code \(code)"])
        }
    }

    @Test("A wrong signature is explained with the issuer, if the path contains it")
    func signature() throws {
        let code = X509_V_ERR_CERT_SIGNATURE_FAILURE
        let root = TestPKI.root.certificate
        #expect(
            try reasons([code]) == [
                "its signature was not made with the key of \(root.subject), serial number \(root.serialHex)"
            ])
        #expect(try reasons([code], depth: 1) == ["code \(code)"])
    }

    @Test("Each of OpenSSL's error codes belongs to the groups on which the search for paths depends")
    func codes() throws {
        let subject = try TestPKI.name("x")
        func codes(_ isMember: (Verification.Problem) -> Bool) -> Set<CInt> {
            Set((0...120).filter { isMember(.init(code: Int($0), reason: "", depth: 0, subject: subject)) })
        }
        #expect(codes(\.isRevoked) == [X509_V_ERR_CERT_REVOKED])
        #expect(codes(\.isExpired) == [X509_V_ERR_CERT_HAS_EXPIRED])
        #expect(codes(\.isMissingList) == [X509_V_ERR_UNABLE_TO_GET_CRL])
        #expect(
            codes(\.isWrongSignature) == [
                X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY,
            ])
        #expect(
            codes(\.isCertificatesOwn) == [
                X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED,
                X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD,
                X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL,
                X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION, X509_V_ERR_INVALID_EXTENSION, X509_V_ERR_INVALID_CA,
                X509_V_ERR_KEYUSAGE_NO_CERTSIGN,
            ])
    }

    @Test("There are too many distribution points if the points or their names exceed the limit")
    func distributionPoints() {
        func points(_ count: Int, names: Int) -> [DistributionPoint] {
            (0..<count).map { _ in
                DistributionPoint(
                    urls: [], issuers: [], isForSomeReasons: false, name: [], directoryNames: [],
                    nameCount: names)
            }
        }
        for (points, isTooMany) in [
            (points(64, names: 0), false), (points(65, names: 0), true), (points(64, names: 1), false),
            (points(1, names: 64), false), (points(1, names: 65), true), (points(2, names: 32), false),
            (points(3, names: 22), true), ([], false),
        ] {
            #expect(DistributionPoint.areTooMany(points) == isTooMany, "\(points.count) points")
        }
        #expect(DistributionPoint.areTooMany(points(1, names: 32) + points(1, names: 33)))
    }

    @Test("Without a known requirement, a missing policy is explained only by the policies of the path")
    func missingPolicy() throws {
        let without = try TestPKI.leaf()
        for (leaf, end) in [
            (without, "\(without.subject) has no policy"),
            (try TestPKI.leaf { $0.policies = ["1.2.3.4"] }, "the path is not valid for any"),
        ] {
            let review = PathReview(
                [leaf, TestPKI.root.certificate], CertificateVerifier(), [:], VerificationObjects())
            let problem = Verification.Problem(
                code: Int(X509_V_ERR_NO_EXPLICIT_POLICY), reason: "", depth: 0, subject: leaf.subject)
            #expect(review.inPlainWords([problem]).map(\.reason) == ["a policy is required, and \(end)"])
        }
    }

    @Test("A missing policy is explained by the path's only policies, unless one of them is required")
    func requiredPolicy() throws {
        let leaf = try TestPKI.leaf { $0.policies = ["1.2.3.4"] }
        for (required, end) in [
            ("1.2.3.4", "the path is not valid for any"), ("1.2.3.5", "the path is valid for 1.2.3.4 only"),
        ] {
            var verifier = CertificateVerifier()
            verifier.acceptedPolicies = [required]
            let review = PathReview([leaf, TestPKI.root.certificate], verifier, [:], VerificationObjects())
            let problem = Verification.Problem(
                code: Int(X509_V_ERR_NO_EXPLICIT_POLICY), reason: "", depth: 0, subject: leaf.subject)
            #expect(
                review.inPlainWords([problem]).map(\.reason)
                    == ["you require one of the policies \(required), and \(end)"])
        }
    }

    @Test("An extension that OpenSSL rejected in the same certificate is not reported again")
    func invalidExtension() throws {
        let leaf = try TestPKI.leaf {
            $0.extensions = [CertificateExtension(oid: "2.5.29.19", value: [0x30, 0x05, 0xFF])]
        }
        let review = PathReview(
            [leaf, TestPKI.root.certificate], CertificateVerifier(), [:], VerificationObjects())
        func depths(_ code: CInt, _ depth: Int) -> [Int] {
            let known = Verification.Problem(
                code: Int(code), reason: "", depth: depth, subject: leaf.subject)
            return review.furtherProblems(than: [known])
                .filter { $0.code == Int(X509_V_ERR_INVALID_EXTENSION) }.map(\.depth)
        }
        #expect(depths(X509_V_ERR_INVALID_CA, 0) == [])
        #expect(depths(X509_V_ERR_INVALID_CA, 1) == [0])
        #expect(depths(X509_V_ERR_CERT_HAS_EXPIRED, 0) == [0])
    }
}
