import Foundation
import KeySharing
import OpenSSL
import PathValidation
import Testing

@Suite("Unusable lists in addition to usable ones", .timeLimit(.minutes(10)))
struct UnusableListTests: RevocationListSuite {
    let root: TestAuthority
    let leaf: Certificate

    init() throws {
        root = try TestAuthority.root("Root")
        leaf = try root.leaf()
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

    @Test("An unusable list that no authority of the path certified is ignored")
    func forged() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try unusable(by: forger)
        #expect(outcomes([forged]) == [.unsettled])
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

    @Test("A newer usable list of the same scope replaces an unusable list that is signed with another key")
    func replaced() throws {
        // OpenSSL consults the older list, because it is signed with the key on the path.
        let second = try root.authority("Root", serial: [3])
        let date = TestAuthority.now - 3_600
        let older = try root.list()
        let defective = try unusable(by: second)
        let newer = try second.list(thisUpdate: date)
        #expect(outcomes([older, defective, newer], untrusted: [second]) == [.passed])
        #expect(outcomes([older, defective], untrusted: [second]) == [.failed])
        let expired = try second.list(thisUpdate: date, nextUpdate: date + 60)
        #expect(outcomes([older, defective, expired], untrusted: [second]) == [.failed])
        let partial = try second.list(thisUpdate: date, [EncodedExtension.compromises])
        #expect(outcomes([older, defective, partial], untrusted: [second]) == [.failed])
        // The lists of a revoked signer do not count.
        let revoking = try root.list([TestAuthority.entry([3])])
        #expect(outcomes([revoking, defective], untrusted: [second]) == [.passed])
        let forger = try TestAuthority.root("Root")
        let forged = try forger.list(thisUpdate: date)
        #expect(outcomes([older, try unusable(), forged], untrusted: [forger]) == [.failed])
    }

    @Test("Only a list that was signed with the same key replaces an unusable list")
    func replacedWithOtherKey() throws {
        let second = try root.authority("Root", serial: [3])
        let (older, defective) = (try root.list(), try unusable())
        let date = TestAuthority.now - 3_600
        let newer = try second.list(thisUpdate: date)
        #expect(outcomes([older, defective, newer], untrusted: [second]) == [.failed])
        // An authority below the root certifies a key with the root's name.
        let authority = try root.authority("Authority", serial: [4])
        let impostor = try authority.authority("Root", serial: [5])
        let leaf = try authority.leaf()
        let lists = [older, try authority.list(), defective, try impostor.list(thisUpdate: date)]
        #expect(outcomes(lists, leaf, untrusted: [authority, impostor]) == [.failed])
    }

    @Test("A list with an unknown critical extension does not replace an unusable list")
    func unsuitableReplacements() throws {
        let date = TestAuthority.now - 3_600
        let extensions = [CertificateExtension(oid: "1.2.3.4", isCritical: true, value: [5, 0])]
        let (older, defective) = (try root.list(), try unusable())
        for isCritical in [false, true] {
            let newer = try root.list(thisUpdate: date, isCritical ? extensions : [])
            #expect(outcomes([older, defective, newer]) == [isCritical ? .failed : .passed])
        }
    }

    @Test("A newer delta list replaces an unusable delta list, unless it contains fewer changes")
    func replacedDelta() throws {
        let defective = try unusable([
            DERText.listExtension([0x55, 0x1D, 0x1B], [0x02, 0x01, 0x02], isCritical: true)
        ])
        func lists(_ base: UInt8, _ defective: EncodedRevocationList) throws -> [EncodedRevocationList] {
            let indicator = CertificateExtension(
                oid: "2.5.29.27", isCritical: true, value: [0x02, 0x01, base])
            let date = TestAuthority.now - 3_600
            return [
                try root.list(number: [2]), defective,
                try root.list(number: [5], thisUpdate: date, [indicator]),
            ]
        }
        #expect(outcomes(try lists(2, defective)) == [.passed])
        #expect(outcomes(try lists(1, defective)) == [.passed])
        #expect(outcomes(try lists(3, defective)) == [.failed])
        // The unusable list is complete.
        #expect(outcomes(try lists(2, try unusable())) == [.failed])
    }

    @Test("An unusable list that may revoke the signer of a list counts")
    func signerOfList() throws {
        let authority = try root.authority("Authority", serial: [6])
        let key = try PrivateKey.generate(.p256)
        let template = try TestAuthority.template("Signer of Lists", serial: [5], isAuthority: false) {
            $0.keyUsage = .cRLSign
        }
        let signer = TestAuthority(
            issuer: CertificateIssuer(certificate: try root.issuer.issue(template, to: key), privateKey: key))
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let lists = [try root.list(), try signer.list([], [EncodedExtension.indirect])]
        #expect(outcomes(lists, leaf, untrusted: [authority, signer]) == [.passed])
        // The list is only for users, so it does not cover the authority.
        let users = DERText.scope([0x81, 0x01, 0xFF])
        let defective = try unusable([users])
        #expect(outcomes(lists + [defective], leaf, untrusted: [authority, signer]) == [.failed])
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate, signer.certificate],
            lists: lists + [defective])
        let explanation = trial.validate(leaf).verification.check(.revocation).explanation
        #expect(
            explanation.contains("may be revoked: a list that may revoke it is unusable"), "\(explanation)")
        let forged = try unusable(by: TestAuthority.root("Root"), [users])
        #expect(outcomes(lists + [forged], leaf, untrusted: [authority, signer]) == [.passed])
        let newer = try root.list(thisUpdate: TestAuthority.now - 60)
        #expect(outcomes(lists + [defective, newer], leaf, untrusted: [authority, signer]) == [.passed])
    }
}
