import Foundation
import OpenSSL
import PathValidation
import Testing

@Suite("Unusable lists in addition to usable ones", .timeLimit(.minutes(10)))
struct UnusableListTests {
    private let root: TestAuthority
    private let leaf: Certificate

    init() throws {
        root = try TestAuthority.root("Root")
        leaf = try root.leaf()
    }

    /// The check of revocation with these lists, in this and in the opposite order.
    private func outcomes(
        _ lists: [EncodedRevocationList], _ leaf: Certificate? = nil, untrusted: [TestAuthority] = []
    ) -> Set<Verification.Outcome> {
        Set(
            [lists, lists.reversed()].map { lists in
                let trial = Trial(
                    trusted: [root.certificate], untrusted: untrusted.map(\.certificate), lists: lists)
                return trial.validate(leaf ?? self.leaf).verification.check(.revocation).outcome
            })
    }

    /// A list that revokes the leaf and contains an entry without a date. It was issued half a day before the
    /// validation, unless `thisUpdate` is another time.
    private func unusable(
        by issuer: TestAuthority? = nil, thisUpdate: String = "241203120000Z", _ extensions: [[UInt8]] = []
    ) throws -> EncodedRevocationList {
        let malformed = DERText.sequence([0x02, 0x01, 0x08])
        let form = ListForm(
            thisUpdate: DERText.time(thisUpdate),
            rest: ListForm.rest(entries: [ListForm.entry, malformed], extensions: extensions))
        return try EncodedRevocationList(der: form.der(by: issuer ?? root))
    }

    @Test("An older list does not hide a newer list that is authentic but unusable")
    func newer() throws {
        #expect(outcomes([try root.list()]) == [.passed])
        #expect(outcomes([try root.list(), try unusable()]) == [.failed])
        let trial = Trial(trusted: [root.certificate], lists: [try root.list(), try unusable()])
        let explanation = trial.validate(leaf).verification.check(.revocation).explanation
        #expect(explanation.contains("its revocation list is unusable"), "\(explanation)")
        let delta = try unusable([
            DERText.listExtension([0x55, 0x1D, 0x1B], [0x02, 0x01, 0x01], isCritical: true)
        ])
        #expect(outcomes([try root.list(), delta]) == [.failed])
    }

    @Test("An unusable list that does not cover the certificate is ignored")
    func scope() throws {
        let authorities = try unusable([DERText.scope([0x82, 0x01, 0xFF])])
        #expect(outcomes([try root.list(), authorities]) == [.passed])
    }

    @Test("An unusable list is ignored if the usable list is newer, or if its date is in the future")
    func dates() throws {
        #expect(outcomes([try root.list(), try unusable(thisUpdate: "241202120000Z")]) == [.passed])
        #expect(outcomes([try root.list(), try unusable(thisUpdate: "241205000000Z")]) == [.passed])
    }

    @Test("An unusable list that no authority of the path certified is ignored if another list is usable")
    func forged() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try unusable(by: forger)
        #expect(outcomes([forged]) == [.failed])
        #expect(outcomes([try root.list(), forged]) == [.passed])
        #expect(outcomes([try root.list(), forged], untrusted: [forger]) == [.passed])
        let authority = try root.authority("Authority")
        let stranger = try TestAuthority.root("Stranger").authority("Authority")
        #expect(
            outcomes(
                [try root.list(), try authority.list(), try unusable(by: stranger)], try authority.leaf(),
                untrusted: [authority, stranger]) == [.passed])
    }

    @Test("An unusable list that is signed with another key of the issuer counts")
    func otherKey() throws {
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", serial: [4])
        let lists = [try root.list(), try first.list(), try unusable(by: second)]
        #expect(outcomes(lists, try first.leaf(), untrusted: [first, second]) == [.failed])
        #expect(outcomes(lists, try first.leaf(), untrusted: [first]) == [.passed])
    }

    @Test("An unusable list about an authority, or of the signer of indirect lists, counts")
    func otherIssuers() throws {
        let authority = try root.authority("Authority", serial: [6])
        let lists = [try root.list(), try authority.list()]
        #expect(
            outcomes(lists + [try unusable()], try authority.leaf(), untrusted: [authority]) == [.failed])
        let signer = try root.authority("Signer of Lists", serial: [5])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let indirect = [try root.list(), try signer.list([], [EncodedExtension.indirect])]
        #expect(outcomes(indirect, leaf, untrusted: [authority, signer]) == [.passed])
        let newer = try unusable(by: signer, [DERText.scope([0x84, 0x01, 0xFF])])
        #expect(outcomes(indirect + [newer], leaf, untrusted: [authority, signer]) == [.failed])
    }
}
