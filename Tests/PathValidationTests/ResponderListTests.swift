import Foundation
import KeySharing
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("Lists that revoke the responder of an OCSP response", .timeLimit(.minutes(10)))
struct ResponderListTests {
    private let root: TestAuthority
    private let authority: TestAuthority
    private let leaf: Certificate

    init() throws {
        root = try TestAuthority.root("Root")
        authority = try root.authority("Authority", serial: [3])
        leaf = try authority.leaf()
    }

    /// A responder of the authority.
    private func responder(
        serial: [UInt8], _ extensions: [CertificateExtension] = []
    ) throws -> TestAuthority {
        let key = try PrivateKey.generate(.p256)
        let template = try TestAuthority.template("Responder", serial: serial, isAuthority: false) {
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
            $0.extensions = extensions
        }
        return TestAuthority(
            issuer: CertificateIssuer(
                certificate: try authority.issuer.issue(template, to: key), privateKey: key))
    }

    /// A good response by a responder with the serial number 7.
    private func response(_ extensions: [CertificateExtension] = []) throws -> StatusResponse {
        try response(
            of: try responder(serial: [7], extensions), about: leaf.serialNumber, .good, issuer: authority)
    }

    /// The check of a good response by a responder with the serial number 7.
    private func check(
        _ lists: [EncodedRevocationList], _ extensions: [CertificateExtension] = [],
        untrusted: [TestAuthority] = []
    ) throws -> Verification.Outcome {
        var trial = Trial(
            trusted: [root.certificate], untrusted: ([authority] + untrusted).map(\.certificate),
            lists: lists, responses: [try response(extensions)])
        trial.configure = { $0.securityLevel = 2 }
        return trial.validate(leaf).verification.check(.revocation).outcome
    }

    /// A list whose signature is too weak for security level 2.
    private func weakList(_ entries: [CertificateRevocationList.Entry]) throws -> EncodedRevocationList {
        let list = try authority.issuer.revocationList(
            entries, thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end, number: [2],
            digest: .sha1)
        return try EncodedRevocationList(der: list.der)
    }

    @Test("A list with a weak signature can revoke a responder", arguments: [false, true])
    func weak(isRevoked: Bool) throws {
        let outcome = try check([try weakList(isRevoked ? [TestAuthority.entry([7])] : [])])
        #expect(outcome == (isRevoked ? .unsettled : .passed))
    }

    @Test("The indirect list that the responder's certificate names can revoke it", arguments: [false, true])
    func indirect(isRevoked: Bool) throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let entries = isRevoked ? [TestAuthority.entry([7], issuer: authority.certificate.subject)] : []
        let lists = [try root.list(), try signer.list(entries, [EncodedExtension.indirect])]
        let point = EncodedExtension.listSigner(signer.certificate.subject)
        let outcome = try check(lists, [point], untrusted: [signer])
        #expect(outcome == (isRevoked ? .unsettled : .passed))
    }

    /// A response of an authority or a responder about the certificate with a serial number.
    ///
    /// - Parameter issuer: The issuer of the certificate; nil for the responder's issuer, or the authority itself.
    private func response(
        of signer: TestAuthority, about serial: [UInt8], _ status: CertificateStatus,
        issuer: TestAuthority? = nil
    ) throws -> StatusResponse {
        let issuer = issuer ?? (signer.certificate.isCertificateAuthority ? signer : authority)
        let request = try StatusClient.request([serial], of: issuer.certificate.der)
        let response = try signer.issuer.statusResponse(
            to: try OCSPRequest(der: request), thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
        ) { _ in status }
        return try StatusResponse(der: response)
    }

    private static let revoked = CertificateStatus.revoked(TestAuthority.start, reason: 1)

    @Test("A response of the authority can revoke a responder", arguments: [false, true])
    func response(isRevoked: Bool) throws {
        let about = try response(of: authority, about: [7], isRevoked ? Self.revoked : .good)
        let outcomes: [([CertificateExtension], Verification.Outcome)] = [
            ([], isRevoked ? .unsettled : .passed), ([EncodedExtension.noCheck], .passed),
        ]
        for (extensions, expected) in outcomes {
            let trial = Trial(
                trusted: [root.certificate], untrusted: [authority.certificate],
                responses: [try response(extensions), about])
            #expect(trial.validate(leaf).verification.check(.revocation).outcome == expected)
        }
    }

    @Test("A response of an authority can revoke the signer of a list", arguments: [false, true])
    func signer(isRevoked: Bool) throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let point = EncodedExtension.listSigner(signer.certificate.subject)
        let leaf = try authority.leaf { $0.extensions = [point] }
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority, signer].map(\.certificate),
            lists: [try root.list(), try signer.list([], [EncodedExtension.indirect])],
            responses: [try response(of: root, about: [5], isRevoked ? Self.revoked : .good)])
        let outcome = trial.validate(leaf).verification.check(.revocation).outcome
        #expect(outcome == (isRevoked ? .failed : .passed))
    }

    @Test("The holder of a responder's key cannot cancel a revocation", arguments: 0...2)
    func cancelledRevocation(target: Int) throws {
        let stolen = try responder(serial: [11])
        let other = try responder(serial: [12])
        let signer = try root.authority("Signer of Lists", serial: [5])
        let point = EncodedExtension.listSigner(signer.certificate.subject)
        let leaf = target == 2 ? try authority.leaf { $0.extensions = [point] } : self.leaf
        let entries = [TestAuthority.entry([9], issuer: authority.certificate.subject)]
        // What revokes the leaf: another responder, the same one, or a list.
        let revoker = target == 0 ? other : stolen
        let revocations =
            target == 2 ? [] : [try response(of: revoker, about: [9], Self.revoked)]
        let lists =
            target == 2 ? [try root.list(), try signer.list(entries, [EncodedExtension.indirect])] : []
        let cancelling: [StatusResponse] = [
            try response(of: stolen, about: [9], .good),
            target == 2
                ? try response(of: root, about: [5], Self.revoked)
                : try response(of: stolen, about: target == 0 ? [12] : [11], Self.revoked),
        ]
        for responses in [revocations + cancelling, cancelling.reversed() + revocations] {
            let trial = Trial(
                trusted: [root.certificate], untrusted: [authority, signer].map(\.certificate), lists: lists,
                responses: responses)
            #expect(trial.validate(leaf).verification.check(.revocation).outcome == .failed)
        }
    }

    @Test("The list of a revoked signer still casts doubt on a responder", arguments: [false, true])
    func listOfRevokedSigner(isRevoked: Bool) throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let entries = [TestAuthority.entry([7], issuer: authority.certificate.subject)]
        let lists = [
            try root.list(isRevoked ? [TestAuthority.entry([5])] : []),
            try signer.list(entries, [EncodedExtension.indirect]),
        ]
        let point = EncodedExtension.listSigner(signer.certificate.subject)
        #expect(try check(lists, [point], untrusted: [signer]) == .unsettled)
    }

    @Test("A good response that was signed with the key of the certificate itself settles nothing")
    func ownKey() throws {
        let responder = try authority.leaf { $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"] }
        let own = TestAuthority(
            issuer: CertificateIssuer(certificate: responder, privateKey: TestAuthority.leafKey))
        let request = try StatusClient.request([responder.serialNumber], of: authority.certificate.der)
        for (status, expected) in [
            (CertificateStatus.good, Verification.Outcome.unsettled), (Self.revoked, .failed),
        ] {
            let response = try own.issuer.statusResponse(
                to: try OCSPRequest(der: request), thisUpdate: TestAuthority.start,
                nextUpdate: TestAuthority.end
            ) { _ in status }
            let trial = Trial(
                trusted: [root.certificate], untrusted: [authority.certificate],
                responses: [try StatusResponse(der: response)])
            #expect(trial.validate(responder).verification.check(.revocation).outcome == expected)
        }
    }

    @Test("The response of a revoked responder settles nothing, whenever the time of the search ends")
    func time() throws {
        let forger = try TestAuthority.root("Authority")
        var material = RevocationMaterial()
        material.isRequired = true
        // The time is read for each signature after the first 64. The search for the responder is the last one.
        material.lists =
            try (0..<70).map { try forger.list(number: [UInt8($0)]) }
            + [try weakList([TestAuthority.entry([7])])]
        material.responses = [try response()]
        var verifier = CertificateVerifier()
        verifier.securityLevel = 2
        let path = CertificatePath(
            leaf, issuers: [authority.certificate, root.certificate], isAnchored: true)
        for limit in 0..<12 {
            let objects = VerificationObjects()
            var reads = 0
            objects.beginSearch {
                reads += 1
                return reads > limit
            }
            let check = verifier.verify(path, with: material, at: TestAuthority.now, using: objects)
                .check(.revocation)
            #expect(check.outcome == .unsettled, "\(limit): \(check.explanation)")
        }
    }

    @Test("The entries of a forged list are not read for each response")
    func forgedEntries() throws {
        let forger = try TestAuthority.root("Authority")
        let hold = CertificateRevocationList.Entry(serialNumber: [7], date: TestAuthority.start, reason: 6)
        var material = RevocationMaterial()
        material.lists = [try forger.list(Array(repeating: hold, count: 20_000))]
        let objects = VerificationObjects()
        let response = try response()
        func time(_ material: RevocationMaterial) -> Double {
            let search = RevocationSearch(
                material, path: [leaf, authority.certificate, root.certificate], at: TestAuthority.now,
                securityLevel: nil, objects)
            return processorTime {
                for _ in 0..<20 {
                    let finding = response.finding(
                        on: leaf, issuedBy: authority.certificate, at: TestAuthority.now,
                        securityLevel: nil, lists: search, objects)
                    #expect(finding != .unrelated)
                }
            }
        }
        // The first call decodes the list.
        _ = time(material)
        #expect(time(material) < 10 * time(RevocationMaterial()))
    }

    /// The verification with good responses, before or after the time of the search is over.
    private func verification(_ responses: [StatusResponse], isOver: Bool) -> Verification {
        var material = RevocationMaterial()
        material.isRequired = true
        material.responses = responses
        let path = CertificatePath(
            leaf, issuers: [authority.certificate, root.certificate], isAnchored: true)
        let objects = VerificationObjects()
        objects.beginSearch { isOver }
        return CertificateVerifier().verify(path, with: material, at: TestAuthority.now, using: objects)
    }

    @Test("After the time of the search, no further responses are verified, and the status is unsettled")
    func responseTime() throws {
        let responses = try (0..<70).map { _ in try response() }
        let cost = 1 + responses[0].der.count / 1_024
        for isOver in [false, true] {
            let result = verification(responses, isOver: isOver)
            #expect(result.check(.revocation).outcome == (isOver ? .unsettled : .passed))
            #expect(result.links.first?.revocation.count == (isOver ? 8 / cost : 70))
        }
    }

    @Test("After the time of the search, a response of several kilobytes is not verified")
    func largeResponse() throws {
        let padding = CertificateExtension(oid: "1.2.3.4", value: [UInt8](repeating: 0, count: 8 << 10))
        let response = try response([padding])
        for isOver in [false, true] {
            let result = verification([response], isOver: isOver)
            #expect(result.check(.revocation).outcome == (isOver ? .unsettled : .passed))
        }
    }

    @Test("The key of a responder that the issuer did not certify is not used")
    func foreignResponder() throws {
        let forger = try TestAuthority.root("Responder") { $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"] }
        let request = try StatusClient.request([leaf.serialNumber], of: authority.certificate.der)
        let forged = try StatusResponse(
            der: try forger.issuer.statusResponse(
                to: try OCSPRequest(der: request), thisUpdate: TestAuthority.start,
                nextUpdate: TestAuthority.end
            ) { _ in .good })
        let finding = forged.finding(
            on: leaf, issuedBy: authority.certificate, at: TestAuthority.now, securityLevel: nil,
            VerificationObjects())
        #expect(finding == .unusable("it was not signed by the issuer or an authorized responder"))
    }
}
