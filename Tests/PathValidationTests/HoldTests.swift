import Foundation
import KeySharing
import OpenSSL
import PathValidation
import Testing

@Suite("Certificates on hold", .timeLimit(.minutes(10)))
struct HoldTests: RevocationListSuite {
    let root: TestAuthority
    let leaf: Certificate

    init() throws {
        root = try TestAuthority.root("Root")
        leaf = try root.leaf()
    }

    private static let later = TestAuthority.now - 3_600

    private func entry(_ reason: Int) -> CertificateRevocationList.Entry {
        .init(serialNumber: [9], date: TestAuthority.start, reason: reason)
    }

    @Test("The newest of several delta lists lifts a hold, whichever of them OpenSSL consults")
    func severalDeltas() throws {
        let complete = try root.list([], [EncodedExtension.freshest])
        let hold = try root.list([entry(6)], number: [2], [EncodedExtension.delta])
        let release = try root.list(
            [entry(8)], number: [3], thisUpdate: Self.later, [EncodedExtension.delta])
        let again = try root.list(
            [entry(6)], number: [4], thisUpdate: Self.later + 60, [EncodedExtension.delta])
        let future = try root.list(
            [entry(1)], number: [5], thisUpdate: TestAuthority.now + 60, [EncodedExtension.delta])
        for lists in [[complete, hold, release], [complete, release, hold], [hold, complete, release]] {
            #expect(outcomes(lists) == [.passed])
            #expect(outcomes(lists + [again]) == [.failed])
            // OpenSSL does not check the date of a delta list.
            #expect(outcomes(lists + [future]) == [.passed])
        }
    }

    @Test("A final revocation in another list is reported instead of a hold")
    func finalReason() throws {
        let lists = [
            try root.list([entry(6)]),
            try root.list([entry(1)], number: [2], thisUpdate: Self.later, [EncodedExtension.delta]),
        ]
        let result = Trial(trusted: [root.certificate], lists: lists).validate(leaf).verification
        let reasons = result.problems.filter(\.isRevoked).map(\.reason)
        #expect(reasons.count == 1 && reasons[0].hasSuffix("keyCompromise"), "\(reasons)")
        let explanation = result.check(.revocation).explanation
        #expect(!explanation.contains("certificateHold"), "\(explanation)")
    }

    @Test(
        "In an indirect list, too, a revocation takes precedence over a hold, but not that of another issuer")
    func entriesOfIndirectList() throws {
        let release = try root.list(number: [2], thisUpdate: Self.later, [EncodedExtension.indirect])
        let other = try TestAuthority.name("Other")
        for entries in [[entry(6), entry(1)], [entry(1), entry(6)]] {
            let list = try root.list(entries, [EncodedExtension.indirect])
            #expect(outcomes([list]) == [.failed])
            #expect(outcomes([list, release]) == [.failed])
        }
        let foreign = CertificateRevocationList.Entry(
            serialNumber: [9], date: TestAuthority.start, reason: 1, issuer: other)
        let list = try root.list([entry(6), foreign], [EncodedExtension.indirect])
        #expect(outcomes([list]) == [.failed])
        #expect(outcomes([list, release]) == [.passed])
    }

    @Test("A complete list does not lift a hold in a list that OpenSSL consults")
    func completeLists() throws {
        let hold = try root.list([entry(6)])
        let outdated = try root.list([], number: [2], thisUpdate: Self.later, nextUpdate: Self.later + 60)
        #expect(outcomes([hold, outdated]) == [.failed])
        #expect(outcomes([hold, try root.list([], number: [2], thisUpdate: Self.later)]) == [.passed])
    }

    @Test("Any response with a hold revokes, and lists from after the expiry of the certificate lift no hold")
    func responses() throws {
        func check(_ leaf: Certificate, _ status: CertificateStatus, _ lists: [EncodedRevocationList]) throws
            -> Verification.Outcome
        {
            let request = try OCSPRequest(for: leaf, issuedBy: root.certificate)
            let responses = try [(status, TestAuthority.start), (.good, Self.later)].map { status, date in
                try StatusResponse(
                    der: root.issuer.statusResponse(
                        to: request, thisUpdate: date, nextUpdate: TestAuthority.end
                    ) { _ in status })
            }
            let trial = Trial(trusted: [root.certificate], lists: lists, responses: responses)
            return trial.validate(leaf).verification.check(.revocation).outcome
        }
        #expect(try check(leaf, .revoked(TestAuthority.start, reason: 6), []) == .failed)
        #expect(try check(leaf, .good, []) == .passed)
        let hold = try root.list([entry(6)], nextUpdate: Self.later - 60)
        let clean = try root.list([], number: [2], thisUpdate: Self.later)
        func delta(_ reason: Int, at date: Date, _ more: CertificateExtension...) throws
            -> EncodedRevocationList
        {
            try root.list(
                [entry(reason)], number: [2], thisUpdate: date, [EncodedExtension.delta] + more)
        }
        // The complete list does not refer to delta lists, so OpenSSL ignores them.
        let deltas = [try root.list(), try delta(6, at: Self.later - 60), try delta(8, at: Self.later)]
        for (end, outcome) in [(TestAuthority.end, Verification.Outcome.passed), (Self.later - 1, .failed)] {
            let leaf = try root.leaf { $0.notAfter = end }
            for lists in [[hold, clean], deltas] { #expect(try check(leaf, .good, lists) == outcome) }
        }
        let critical = CertificateExtension(oid: "1.2.3.4", isCritical: true, value: [0x05, 0x00])
        let unknown = try delta(8, at: Self.later, critical)
        #expect(try check(leaf, .good, Array(deltas.dropLast()) + [unknown]) == .failed)
    }
}
