import Foundation
import KeySharing
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("Signers of lists outside the path", .timeLimit(.minutes(10)))
struct ListSignerTests: RevocationListSuite {
    let root: TestAuthority
    let leaf: Certificate
    /// An authority beside the path.
    private let sibling: TestAuthority

    init() throws {
        root = try TestAuthority.root("Root")
        leaf = try root.leaf()
        sibling = try root.authority("Sibling", serial: [7])
    }

    private func entry(_ serial: UInt8, reason: Int) -> CertificateRevocationList.Entry {
        .init(serialNumber: [serial], date: TestAuthority.start, reason: reason)
    }

    private let outdated = TestAuthority.now - 3_600

    @Test(
        "A certificate of a signer's key that must not sign lists does not replace the signer's own certificate"
    )
    func keyOfSigner() throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let authority = try root.authority("Authority", serial: [6])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let other = try sibling.authority("Signer of Lists", key: signer.key) { $0.keyUsage = .keyCertSign }
        let entries = [TestAuthority.entry([9], issuer: authority.certificate.subject)]
        let lists = [
            try root.list(), try authority.list(), try signer.list(entries, [EncodedExtension.indirect]),
        ]
        for untrusted in [[other, signer], [signer, other]] {
            #expect(
                outcomes(lists, leaf, untrusted: untrusted + [authority, sibling]) == [.failed])
        }
    }

    @Test("A signer below a revoked authority settles nothing")
    func belowRevoked() throws {
        let authority = try root.authority("Authority", serial: [6])
        let signer = try sibling.authority("Authority", serial: [8])
        let leaf = try authority.leaf()
        let untrusted = [authority, sibling, signer]
        let clean = [try sibling.list(), try signer.list()]
        #expect(outcomes([try root.list()] + clean, leaf, untrusted: untrusted) == [.passed])
        let revoking = try root.list(
            [entry(7, reason: 1)], number: [2], thisUpdate: outdated, nextUpdate: outdated + 60)
        #expect(outcomes([try root.list(), revoking] + clean, leaf, untrusted: untrusted) == [.failed])
    }

    @Test("A signer below a revoked, expired or constrained authority revokes nothing", arguments: 0...3)
    func denial(defect: Int) throws {
        let authority = try root.authority("Authority", serial: [6])
        let other = try root.authority("Other", serial: [8]) {
            if defect == 1 { $0.notAfter = TestAuthority.now - 1 }
            if defect == 2 { $0.permittedNames = [.directoryName(root.certificate.subject)] }
        }
        let signer = try other.authority("Authority", serial: [3])
        let own = try root.list(defect == 3 ? [entry(8, reason: 1)] : [])
        let lists = [own, try authority.list(), try signer.list([TestAuthority.entry([9])])]
        let outcomes = outcomes(lists, try authority.leaf(), untrusted: [authority, other, signer])
        #expect(outcomes == [defect == 0 ? .failed : .passed])
    }

    @Test("An authority on hold, or one below it, cannot lift the hold")
    func holdOfAuthority() throws {
        let held = try root.authority("Authority", serial: [6])
        let impostor = try held.authority("Root", serial: [5])
        let leaf = try impostor.leaf()
        let hold = try root.list([entry(6, reason: 6)])
        let release = try impostor.list(number: [2], thisUpdate: outdated)
        #expect(outcomes([hold, try held.list(), release], leaf, untrusted: [held, impostor]) == [.failed])
    }

    @Test("A revoked signer cannot lift its own hold")
    func holdOfRevokedSigner() throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let authority = try root.authority("Authority", serial: [6])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let held = CertificateRevocationList.Entry(
            serialNumber: [9], date: TestAuthority.start, reason: 6, issuer: authority.certificate.subject)
        let hold = try signer.list([held], [EncodedExtension.indirect])
        let release = try signer.list(
            number: [2], thisUpdate: outdated, [EncodedExtension.indirect])
        let untrusted = [authority, signer]
        for (entries, outcome) in [([], Verification.Outcome.passed), ([entry(5, reason: 1)], .failed)] {
            let lists = [try root.list(entries), hold]
            #expect(outcomes(lists, leaf, untrusted: untrusted) == [.failed])
            #expect(outcomes(lists + [release], leaf, untrusted: untrusted) == [outcome])
        }
    }

    @Test("A list of another signer does not replace an unusable list, even if OpenSSL consults it")
    func otherReplacement() throws {
        let authority = try root.authority("Authority", serial: [6])
        let form = ListForm(
            thisUpdate: DERText.time("241203120000Z"),
            rest: ListForm.rest(entries: [ListForm.entry, DERText.sequence([0x02, 0x01, 0x08])]))
        let unusable = try EncodedRevocationList(der: form.der(by: authority))
        let signer = try sibling.authority("Authority", serial: [8])
        let lists = [try root.list(), unusable, try signer.list(thisUpdate: outdated)]
        let untrusted = [authority, sibling, signer]
        #expect(outcomes(lists, try authority.leaf(), untrusted: untrusted) == [.failed])
    }

    @Test("Certificates with the name and the key of the anchor do not use up the limit of signers")
    func keyOfAnchor() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try (0..<70).map {
            try forger.authority("Root", key: root.key, serial: [UInt8($0 + 10)])
        }
        #expect(outcomes([try root.list()], untrusted: forged) == [.passed])
    }

    @Test("The time of a search also limits the signatures of possible signers")
    func time() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try (0..<300).map { number in
            try forger.leaf("Root", serial: [1, UInt8(number >> 8), UInt8(number & 255)])
        }
        let validator = Trial(
            trusted: [root.certificate], untrusted: forged, lists: [try root.list()]
        ).validator
        let clock = SteppingClock(.now)
        validator.now = { clock.next() }
        let check = validator.validate(leaf, at: TestAuthority.now).verification.check(.revocation)
        #expect(check.outcome == .unsettled)
    }
}
