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

    /// The check of a good response by a responder with the serial number 7.
    private func check(
        _ lists: [EncodedRevocationList], _ extensions: [CertificateExtension] = [],
        untrusted: [TestAuthority] = []
    ) throws -> Verification.Outcome {
        let key = try PrivateKey.generate(.p256)
        let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
            $0.extensions = extensions
        }
        let responder = CertificateIssuer(
            certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        let request = try StatusClient.request([leaf.serialNumber], of: authority.certificate.der)
        let response = try responder.statusResponse(
            to: try OCSPRequest(der: request), thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
        ) { _ in .good }
        var trial = Trial(
            trusted: [root.certificate], untrusted: ([authority] + untrusted).map(\.certificate),
            lists: lists, responses: [try StatusResponse(der: response)])
        trial.configure = { $0.securityLevel = 2 }
        return trial.validate(leaf).verification.check(.revocation).outcome
    }

    @Test("A list with a weak signature can revoke a responder", arguments: [false, true])
    func weak(isRevoked: Bool) throws {
        let list = try authority.issuer.revocationList(
            isRevoked ? [TestAuthority.entry([7])] : [], thisUpdate: TestAuthority.start,
            nextUpdate: TestAuthority.end, number: [2], digest: .sha1)
        let outcome = try check([try EncodedRevocationList(der: list.der)])
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
}
