import Foundation
import PathValidation
import SecretMemory
import TestSupport
import Testing

@testable import OpenSSL

@Suite("Weak signatures of lists and responses", .timeLimit(.minutes(10)))
struct WeakSignatureTests {
    private let root: TestAuthority
    private let authority: TestAuthority
    private let leaf: Certificate

    init() throws {
        root = try TestAuthority.root("Root")
        authority = try root.authority("Authority")
        leaf = try authority.leaf()
    }

    private func check(
        _ lists: [EncodedRevocationList], _ responses: [StatusResponse] = [], level: Int? = 2,
        isRequired: Bool = true
    ) -> Verification.Check {
        var trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        trial.configure = { $0.securityLevel = level }
        let validator = trial.validator
        validator.revocation = RevocationPool(isRequired: isRequired).adding(
            lists: lists, responses: responses)
        return validator.validate(leaf, at: TestAuthority.now).verification.check(.revocation)
    }

    /// A list that is signed with SHA-1.
    private func weak(
        _ revoked: [UInt8] = [], by issuer: TestAuthority, age: TimeInterval = 3_600,
        _ extensions: [CertificateExtension] = []
    ) throws -> EncodedRevocationList {
        try EncodedRevocationList(
            der: issuer.issuer.revocationList(
                revoked.map { TestAuthority.entry([$0]) }, thisUpdate: TestAuthority.now - age,
                nextUpdate: TestAuthority.end, number: [2], extensions: extensions, digest: .sha1
            ).der)
    }

    private static let reason = "the digest of its signature is SHA1, below security level 2"

    @Test("A list does not settle the revocation status if its signature is below the security level")
    func list() throws {
        let list = try weak(by: authority)
        for level in [nil, 0] { #expect(check([list], level: level).outcome == .passed) }
        for level in 1...3 { #expect(check([list], level: level).outcome == .unsettled) }
        let result = check([list])
        let name = authority.certificate.subject
        #expect(
            result.explanation
                == "a list of \(name) is required: no other list of that issuer was provided; "
                + "the list of \(name) was not used: \(Self.reason)")
        // SHA-256 reaches level 3.
        let strong = try authority.list()
        for level in 1...3 { #expect(check([strong], level: level).outcome == .passed) }
        #expect(check([strong], level: 4).outcome == .unsettled)
        #expect(check([list], isRequired: false).outcome == .notChecked)
    }

    @Test("A list of an authority's issuer is also not used if its signature is too weak")
    func authorityList() throws {
        let result = check([try authority.list(), try weak(by: root)])
        #expect(result.outcome == .passed)
        #expect(result.explanation.contains("the certificate is not revoked; "))
        #expect(
            result.explanation.hasSuffix(
                "the list of \(root.certificate.subject) was not used: \(Self.reason)"))
    }

    @Test("A list with a weak signature can revoke a certificate")
    func revocation() throws {
        for isRequired in [true, false] {
            #expect(check([try weak([9], by: authority)], isRequired: isRequired).outcome == .failed)
            #expect(check([try weak([2], by: root)], isRequired: isRequired).outcome == .failed)
        }
        let result = check([try authority.list(), try weak([2], by: root)])
        #expect(result.outcome == .failed)
        #expect(result.explanation.contains("certificate revoked") && !result.explanation.contains("SHA1"))
        let forger = try TestAuthority.root("Authority")
        #expect(check([try weak([9], by: forger)]).outcome == .unsettled)
    }

    @Test("A list with a weak signature matters only if it revokes the certificate")
    func precedence() throws {
        let good = try authority.list()
        #expect(check([good, try weak(by: authority)]).outcome == .passed)
        #expect(check([good, try weak([9], by: authority)]).outcome == .failed)
        #expect(check([good, try weak([9], by: authority, [EncodedExtension.delta])]).outcome == .failed)
        let newer = try authority.list(thisUpdate: TestAuthority.now)
        #expect(check([newer, try weak([9], by: authority)]).outcome == .failed)
        let revoking = try authority.list([TestAuthority.entry([9])])
        #expect(check([revoking, try weak(by: authority)]).outcome == .failed)
        // A newer list without the certificate does not release it if its signature is weak.
        let lists = [good, try weak([9], by: authority), try weak(by: authority, age: 60)]
        #expect(check(lists).outcome == .failed)
    }

    @Test("An authentic list with a weak signature that is newer and unusable may revoke the certificate")
    func unusable() throws {
        // The list is unusable because it names the issuer of an entry and is not indirect.
        func list(by issuer: TestAuthority, age: TimeInterval = 3_600) throws -> EncodedRevocationList {
            let date = TestAuthority.now - age
            let entries = [
                TestAuthority.entry([9]), TestAuthority.entry([8], issuer: root.certificate.subject),
            ]
            let list = try issuer.issuer.revocationList(
                entries, thisUpdate: date, nextUpdate: TestAuthority.end, number: [2], digest: .sha1)
            return try EncodedRevocationList(der: list.der)
        }
        let good = try authority.list()
        #expect(check([good, try list(by: authority)]).outcome == .failed)
        #expect(check([try list(by: authority)]).outcome == .failed)
        #expect(check([good, try list(by: authority, age: 172_800)]).outcome == .passed)
        let forged = try list(by: TestAuthority.root("Authority"))
        #expect(check([good, forged]).outcome == .passed)
        #expect(check([forged]).outcome == .unsettled)
    }

    @Test("A response with a weak signature can revoke a certificate, but cannot settle its status")
    func response() throws {
        func response(_ status: CertificateStatus, digest: SignatureDigest?) throws -> StatusResponse {
            let request = try StatusClient.request([leaf.serialNumber], of: authority.certificate.der)
            let der = try authority.issuer.statusResponse(
                to: try OCSPRequest(der: request), thisUpdate: TestAuthority.start,
                nextUpdate: TestAuthority.end, digest: digest
            ) { _ in status }
            return try StatusResponse(der: der)
        }
        let weak = try response(.good, digest: .sha1)
        for level in [nil, 0] { #expect(check([], [weak], level: level).outcome == .passed) }
        for level in 1...3 { #expect(check([], [weak], level: level).outcome == .unsettled) }
        #expect(check([], [weak]).explanation.hasSuffix("the OCSP response was not used: \(Self.reason)"))
        #expect(check([try authority.list()], [weak]).outcome == .passed)
        #expect(check([], [try response(.good, digest: nil)]).outcome == .passed)
        let revoked = CertificateStatus.revoked(TestAuthority.start, reason: 1)
        #expect(check([], [try response(revoked, digest: .sha1)]).outcome == .failed)
    }

    @Test("A signer of lists or a responder with a weak RSA exponent can revoke, but settles nothing")
    func weakExponent() throws {
        let scratch = try ScratchFolder()
        try scratch.shell(
            """
            openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -pkeyopt rsa_keygen_pubexp:3 -out key.pem
            openssl pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key.der
            """)
        let key = try PrivateKey(pkcs8: SecretBytes(scratch.read("key.der")))
        let signer = try root.authority("Authority", key: key, serial: [5])
        func outcome(
            _ lists: [EncodedRevocationList], _ responses: [StatusResponse] = [],
            others: [TestAuthority] = [], level: Int? = 2
        ) throws -> Verification.Outcome {
            var trial = Trial(
                trusted: [root.certificate],
                untrusted: ([authority, signer] + others).map(\.certificate),
                lists: [try root.list()] + lists, responses: responses)
            trial.configure = { $0.securityLevel = level }
            return trial.validate(leaf).verification.check(.revocation).outcome
        }
        #expect(try outcome([signer.list()], level: 0) == .passed)
        #expect(try outcome([signer.list()]) == .failed)
        #expect(try outcome([signer.list([TestAuthority.entry([9])])]) == .failed)
        #expect(try outcome([authority.list()]) == .passed)
        // A signer that no authority of the path certified.
        let middle = try root.authority("Middle", serial: [6])
        let other = try middle.authority("Authority", key: key, serial: [7])
        let revoking = [
            try authority.list(), try middle.list(), try other.list([TestAuthority.entry([9])]),
        ]
        #expect(try outcome(revoking, others: [middle, other]) == .failed)
        // A signer below the weak key.
        let below = try signer.authority("Authority", serial: [4])
        #expect(try outcome([signer.list(), below.list()], others: [below], level: 0) == .passed)
        #expect(try outcome([signer.list(), below.list()], others: [below]) == .failed)

        let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
        }
        let responder = CertificateIssuer(
            certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        let request = try StatusClient.request([leaf.serialNumber], of: authority.certificate.der)
        func response(_ status: CertificateStatus) throws -> StatusResponse {
            try StatusResponse(
                der: responder.statusResponse(
                    to: OCSPRequest(der: request), thisUpdate: TestAuthority.start,
                    nextUpdate: TestAuthority.end
                ) { _ in status })
        }
        let good = try response(.good)
        #expect(try outcome([], [good], level: 0) == .passed)
        #expect(try outcome([], [good]) == .unsettled)
        #expect(check([], [good]).explanation.contains("its responder has a weak key: the RSA exponent"))
        #expect(try outcome([], [response(.revoked(TestAuthority.start, reason: 1))]) == .failed)
    }

    @Test("A response of a responder with a short key can revoke a certificate, but settles nothing")
    func shortKey() throws {
        let scratch = try ScratchFolder()
        try scratch.shell(
            """
            openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out key.pem
            openssl pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key.der
            """)
        let key = try PrivateKey(pkcs8: SecretBytes(scratch.read("key.der")))
        let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
        }
        let responder = CertificateIssuer(
            certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        let request = try StatusClient.request([leaf.serialNumber], of: authority.certificate.der)
        for (status, outcome) in [
            (CertificateStatus.good, Verification.Outcome.unsettled),
            (.revoked(TestAuthority.start, reason: 1), .failed),
        ] {
            let response = try StatusResponse(
                der: responder.statusResponse(
                    to: OCSPRequest(der: request), thisUpdate: TestAuthority.start,
                    nextUpdate: TestAuthority.end
                ) { _ in status })
            #expect(check([], [response]).outcome == outcome)
            #expect(
                check([try authority.list()], [response]).outcome == (outcome == .failed ? .failed : .passed))
        }
    }

    /// The contents of the OID for RSASSA-PSS.
    private static let pss: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]
    /// The PSS parameters with the hash algorithm SHA-256.
    private static let pssWithSHA256 = DERText.sequence(
        DERText.element(
            0xA0, DERText.sequence([0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01])))

    @Test(
        "The digest of a list is read from its signature algorithm, for RSASSA-PSS from the parameters",
        arguments: [
            // ecdsa-with-SHA1, ecdsa-with-SHA256, md5WithRSAEncryption, Ed25519, an unknown algorithm.
            ([0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01], "SHA1"),
            ([0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02], nil),
            ([0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x04, 0x05, 0x00], "MD5"),
            ([0x06, 0x03, 0x2B, 0x65, 0x70], nil), ([0x06, 0x02, 0x2A, 0x03], nil),
            (pss + DERText.sequence([]), "SHA1"), (pss + pssWithSHA256, nil), (pss, nil),
        ] as [([UInt8], String?)])
    func digests(algorithm: [UInt8], weak name: String?) throws {
        let form = ListForm(
            algorithm: DERText.sequence(algorithm), outerAlgorithm: DERText.sequence(algorithm))
        let list = try EncodedRevocationList(der: form.der(by: root))
        #expect(
            DigestStrength.weakness(ofDigest: list.digest, below: 2)
                == name.map { "the digest of its signature is \($0), below security level 2" })
    }
}
