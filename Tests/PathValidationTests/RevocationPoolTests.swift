import Foundation
import OpenSSL
import TestSupport
import Testing

@testable import PathValidation

@Suite("Revocation lists of a path", .timeLimit(.minutes(10)))
struct RevocationPoolTests {
    private let root: TestAuthority

    init() throws { root = try TestAuthority.root("Root") }

    private func material(
        _ lists: [EncodedRevocationList], path: Int = 1, _ limits: PathLimits = .init()
    ) throws -> RevocationMaterial {
        let leaf = try root.leaf { _ in }
        let certificates = Array(repeating: leaf, count: path) + [root.certificate]
        return RevocationPool(lists: lists).material(
            for: certificates, CertificatePool(trusted: [root.certificate], untrusted: []),
            at: TestAuthority.now, limits, VerificationObjects())
    }

    @Test("The URL of a delta list is returned once, and the URLs of delta lists are ignored")
    func deltaURLs() throws {
        let complete = try [
            root.list([], [EncodedExtension.freshest]), root.list([], [EncodedExtension.freshest]),
        ]
        #expect(RevocationPool(lists: complete).deltaURLs(of: root.certificate.subject) == ["http://x/d"])
        let delta = try root.list([], [EncodedExtension.freshest, EncodedExtension.delta])
        #expect(RevocationPool(lists: [delta]).deltaURLs(of: root.certificate.subject) == [])
    }

    @Test(
        "A certificate with more than 64 distribution points cannot be looked up in a list",
        arguments: [64, 65])
    func distributionPoints(_ count: Int) throws {
        let authority = try root.authority("Authority") {
            $0.revocationListURLs = Array(repeating: "http://x", count: count)
        }
        let lists = [try root.list(), try authority.list()]
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate], lists: lists)
        let result = trial.validate(try authority.leaf()).verification
        #expect(result.check(.revocation).outcome == (count == 64 ? .passed : .unsettled))
        #expect(result.isValid == (count == 64))
    }

    @Test("A list is selected once, although several certificates of the path have the same issuer")
    func once() throws {
        #expect(try material([root.list()], path: 2).lists.count == 1)
    }

    @Test("A response that is given twice is used once")
    func repeatedResponse() throws {
        let request = try StatusClient.request([[9]], of: root.certificate.der)
        let der = try root.issuer.statusResponse(
            to: try OCSPRequest(der: request), thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
        ) { _ in .good }
        let response = try StatusResponse(der: der)
        let pool = RevocationPool(responses: [response, response]).adding(responses: [response])
        let material = pool.material(
            for: [try root.leaf(), root.certificate],
            CertificatePool(trusted: [root.certificate], untrusted: []), at: TestAuthority.now, .init(),
            VerificationObjects())
        #expect(material.responses == [response])
    }

    @Test("Added lists of an issuer do not replace its earlier lists")
    func adding() throws {
        let pool = RevocationPool(lists: [try root.list()]).adding(lists: [try root.list(number: [2])])
        let leaf = try root.leaf { _ in }
        let material = pool.material(
            for: [leaf, root.certificate], CertificatePool(trusted: [root.certificate], untrusted: []),
            at: TestAuthority.now, .init(), VerificationObjects())
        #expect(material.lists.count == 2)
    }

    @Test("Added lists and responses are used, although they do not require the revocation status")
    func addedMaterial() throws {
        let authority = try root.authority("Authority")
        let leaf = try authority.leaf()
        let lists = [try root.list(), try authority.list([TestAuthority.entry([9])])]
        for (added, outcome) in [
            ([], Verification.Outcome.notChecked), ([lists[1]], .failed), (lists, .failed),
            ([try root.list(), try authority.list()], .passed), ([try root.list()], .notChecked),
        ] as [([EncodedRevocationList], Verification.Outcome)] {
            let validator = Trial(trusted: [root.certificate], untrusted: [authority.certificate]).validator
            validator.revocation = validator.revocation.adding(lists: added)
            #expect(!validator.revocation.isRequired)
            let check = validator.validate(leaf, at: TestAuthority.now).verification.check(.revocation)
            #expect(check.outcome == outcome, "\(added.count)")
        }
    }

    @Test("Only certificates of the lists' issuers, and those above them, can have signed the lists")
    func possibleSigners() throws {
        let authority = try root.authority("Authority", serial: [3])
        let twin = try root.authority("Authority", key: authority.key, serial: [4])
        let other = try TestAuthority.root("Other")
        let pool = CertificatePool(
            trusted: [root.certificate], untrusted: [authority, twin, other].map(\.certificate))
        let path = [try authority.leaf(), authority.certificate, root.certificate]
        for (list, signers) in [
            (try other.list(), []), (try root.list(), []), (try authority.list(), [twin.certificate]),
        ] {
            let material = RevocationPool(lists: [list]).material(
                for: path, pool, at: TestAuthority.now, .init(), VerificationObjects())
            #expect(material.listSigners == signers)
        }
    }

    @Test("Above the limits, no list is used and the status is unsettled, because an omitted list may revoke")
    func limits() throws {
        let lists = [try root.list([TestAuthority.entry([8])]), try root.list(number: [2])]
        let octets = lists[0].count + lists[1].count
        for (count, size, isUsed) in [(2, octets, true), (1, octets, false), (2, octets - 1, false)] {
            var trial = Trial(trusted: [root.certificate], lists: lists)
            trial.limits.lists = count
            trial.limits.listOctets = size
            #expect(try material(lists, trial.limits).lists.count == (isUsed ? 2 : 0))
            let check = trial.validate(try root.leaf()).verification.check(.revocation)
            #expect(check.outcome == (isUsed ? .passed : .unsettled))
            #expect(check.explanation.contains("at most \(count) revocation lists") == !isUsed)
        }
    }

    @Test("Forged lists and copies do not use up the limits")
    func forgedLists() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try (0..<5).map { try forger.list(number: [$0]) }
        var trial = Trial(trusted: [root.certificate], untrusted: [forger.certificate])
        trial.limits.lists = 2
        for (entries, outcome) in [([], Verification.Outcome.passed), ([TestAuthority.entry([9])], .failed)] {
            trial.lists = try forged + (0..<5).map { _ in try root.list(entries) }
            #expect(trial.validate(try root.leaf()).verification.check(.revocation).outcome == outcome)
        }
    }

    @Test("A status is required if it is requested, or if lists or responses are given")
    func required() throws {
        #expect(!RevocationPool().isRequired && RevocationPool(isRequired: true).isRequired)
        #expect(RevocationPool(lists: [try root.list()]).isRequired)
    }

    @Test(
        "At most 64 signers of lists are selected for a path, and with more of them the status is unsettled")
    func signers() throws {
        let signers = try (0..<65).map { try root.authority("Root", key: root.key, serial: [UInt8($0 + 10)]) }
        for count in [64, 65] {
            let trial = Trial(
                trusted: [root.certificate], untrusted: signers.prefix(count).map(\.certificate),
                lists: [try root.list()])
            let check = trial.validate(try root.leaf()).verification.check(.revocation)
            #expect(check.outcome == (count == 64 ? .passed : .unsettled), "\(check.explanation)")
        }
    }

    @Test(
        "Only certificates that an authority of the path issued can have signed the lists, however many others there are"
    )
    func uncertifiedSigners() throws {
        let stranger = try TestAuthority.root("Root")
        let others = try (0..<70).map { try stranger.authority("Root", serial: [UInt8($0 + 10)]) }
        let renewed = try root.authority("Root", serial: [3])
        for untrusted in [others + [renewed], [renewed] + others, others + [renewed, stranger]] {
            let trial = Trial(
                trusted: [root.certificate], untrusted: untrusted.map(\.certificate),
                lists: [try root.list(), try renewed.list([TestAuthority.entry([9])])])
            #expect(trial.validate(try root.leaf()).verification.problems.map(\.isRevoked) == [true])
        }
    }

    @Test("A certificate with too many distribution points is not selected as a signer of a list")
    func extensiveSigner() throws {
        for (count, isSelected) in [(64, true), (65, false)] {
            let signer = try root.authority("Root", key: root.key) {
                $0.revocationListURLs = Array(repeating: "http://x", count: count)
            }
            let material = RevocationPool(lists: [try root.list()]).material(
                for: [try root.leaf(), root.certificate],
                CertificatePool(trusted: [root.certificate], untrusted: [signer.certificate]),
                at: TestAuthority.now, .init(), VerificationObjects())
            #expect(material.listSigners == (isSelected ? [signer.certificate] : []))
        }
    }

    @Test("The issuer of a list's signer is selected, even if it is not on the path")
    func issuerOfSigner() throws {
        let authority = try root.authority("Authority")
        let middle = try root.authority("Middle", serial: [3])
        let signer = try middle.authority("List Signer", serial: [4])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority, middle, signer].map(\.certificate),
            lists: [
                try root.list(), try middle.list(), try signer.list([], [EncodedExtension.indirect]),
            ])
        #expect(trial.failures(leaf) == [])
        let material = RevocationPool(lists: [try signer.list([], [EncodedExtension.indirect])]).material(
            for: [leaf, authority.certificate, root.certificate],
            CertificatePool(trusted: [root.certificate], untrusted: [middle, signer].map(\.certificate)),
            at: TestAuthority.now, .init(), VerificationObjects())
        #expect(material.listSigners == [middle.certificate, signer.certificate])
    }

    @Test("Added responses do not replace earlier ones")
    func addingResponses() throws {
        let responses = try [[UInt8(1)], [2]].map { serial in
            let leaf = try root.leaf(serial: serial)
            return try StatusResponse(
                der: root.issuer.statusResponse(
                    to: OCSPRequest(for: leaf, issuedBy: root.certificate), thisUpdate: TestAuthority.start,
                    nextUpdate: TestAuthority.end
                ) { _ in .good })
        }
        let pool = RevocationPool(responses: [responses[0]]).adding(responses: [responses[1]])
        let material = pool.material(
            for: [root.certificate], CertificatePool(trusted: [root.certificate], untrusted: []),
            at: TestAuthority.now, .init(), VerificationObjects())
        #expect(material.responses.map(\.der) == responses.map(\.der))
    }

    @Test("A list is current from thisUpdate to nextUpdate, both included")
    func current() throws {
        let list = try root.list()
        for (date, isCurrent) in [
            (TestAuthority.start, true), (TestAuthority.end, true), (TestAuthority.start - 1, false),
            (TestAuthority.end + 1, false),
        ] {
            #expect(list.isCurrent(at: date) == isCurrent)
        }
    }
}
