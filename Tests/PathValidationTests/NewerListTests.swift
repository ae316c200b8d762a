import Foundation
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("Several lists of one issuer", .timeLimit(.minutes(10)))
struct NewerListTests: RevocationListSuite {
    let root: TestAuthority
    let leaf: Certificate

    init() throws {
        root = try TestAuthority.root("Root")
        leaf = try root.leaf()
    }

    /// A list that was issued an hour before the validation, or later, and is out of date or not.
    private func newer(
        _ entries: [CertificateRevocationList.Entry], by issuer: TestAuthority? = nil,
        age: TimeInterval = 3_600,
        isCurrent: Bool = false, _ extensions: [CertificateExtension] = []
    ) throws -> EncodedRevocationList {
        let thisUpdate = TestAuthority.now - age
        return try (issuer ?? root).list(
            entries, thisUpdate: thisUpdate, nextUpdate: isCurrent ? TestAuthority.end : thisUpdate + 60,
            extensions)
    }

    @Test("A revocation in a list that is out of date is found, although an older list is current")
    func expired() throws {
        let revoking = [TestAuthority.entry([9])]
        #expect(outcomes([try root.list()]) == [.passed])
        #expect(outcomes([try root.list(), try newer(revoking)]) == [.failed])
        #expect(outcomes([try root.list(), try newer([])]) == [.passed])
        #expect(outcomes([try root.list(), try newer([TestAuthority.entry([8])])]) == [.passed])
        // A list of the future is not used.
        #expect(outcomes([try root.list(), try newer(revoking, age: -3_600)]) == [.passed])
    }

    @Test("A newer list releases a certificate on hold, but does not cancel another revocation")
    func newest() throws {
        for (reason, outcome) in [(6, Verification.Outcome.passed), (1, .failed)] {
            let revoking = try newer([entry(reason: reason)], age: 7_200)
            #expect(outcomes([try root.list(), revoking, try newer([])]) == [outcome])
            // A list of some reasons does not release a certificate.
            let partial = try newer([], [EncodedExtension.compromises])
            #expect(outcomes([try root.list(), revoking, partial]) == [.failed])
        }
    }

    @Test("Only an authority of the path, or the signer of the hold, can release a certificate")
    func signerOfRelease() throws {
        let authority = try root.authority("Authority", serial: [3])
        let renewed = try root.authority("Authority", serial: [4])
        let leaf = try authority.leaf()
        let hold = try newer([entry(reason: 6)], by: renewed, age: 7_200)
        let lists = [try root.list(), try authority.list(), hold]
        let untrusted = [authority, renewed]
        #expect(outcomes(lists, leaf, untrusted: untrusted) == [.failed])
        for signer in untrusted {
            #expect(outcomes(lists + [try newer([], by: signer)], leaf, untrusted: untrusted) == [.passed])
        }
        let other = try root.authority("Authority", serial: [5])
        let release = try newer([], by: other)
        #expect(outcomes(lists + [release], leaf, untrusted: untrusted + [other]) == [.failed])
    }

    @Test("A newer list with a wrong signature is ignored")
    func forged() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try newer([TestAuthority.entry([9])], by: forger)
        #expect(outcomes([try root.list(), forged]) == [.passed])
        let genuine = try newer([TestAuthority.entry([9])], age: 7_200)
        #expect(outcomes([try root.list(), forged, genuine]) == [.failed])
    }

    @Test(
        "A newer list with an unknown critical extension can revoke a certificate, but cannot release it",
        arguments: [false, true])
    func unknownExtension(isCritical: Bool) throws {
        let unknown = CertificateExtension(oid: "1.2.3.4", isCritical: isCritical, value: [0x05, 0x00])
        let revoking = [entry(reason: 6)]
        for isCurrent in [false, true] {
            let list = try newer(revoking, isCurrent: isCurrent, [unknown])
            #expect(outcomes([try root.list(), list]) == [.failed])
        }
        let lists = [try root.list(), try newer(revoking, age: 7_200), try newer([], [unknown])]
        #expect(outcomes(lists) == [isCritical ? .failed : .passed])
    }

    @Test("A newer list for another distribution point can revoke a certificate")
    func otherPoint() throws {
        let point = EncodedExtension.listPoint("http://x/b")
        let revoking = try newer([TestAuthority.entry([9])], isCurrent: true, [point])
        #expect(outcomes([try root.list(), revoking]) == [.failed])
        #expect(outcomes([try root.list(), try newer([], isCurrent: true, [point])]) == [.passed])
        let leaf = try root.leaf { $0.extensions = [EncodedExtension.certificatePoint("http://x/a")] }
        let own = try root.list([], [EncodedExtension.listPoint("http://x/a")])
        #expect(outcomes([own], leaf) == [.passed])
        #expect(outcomes([own, revoking], leaf) == [.failed])
    }

    @Test("A newer list that is signed with another key of the issuer is found")
    func otherKey() throws {
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", serial: [4])
        let leaf = try first.leaf()
        let revoking = try newer([TestAuthority.entry([9])], by: second, isCurrent: true)
        let lists = [try root.list(), try first.list()]
        #expect(outcomes(lists + [revoking], leaf, untrusted: [first, second]) == [.failed])
        // Without a path for its signer, the list is not used.
        #expect(outcomes(lists + [revoking], leaf, untrusted: [first]) == [.passed])
    }

    @Test(
        "A revocation in a list that the issuer signed with its new key is found without its key identifier or a list of the root"
    )
    func renewedKey() throws {
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", serial: [4])
        let leaf = try first.leaf()
        let revoking = try newer([TestAuthority.entry([9])], by: second, isCurrent: true)
        // Nothing shows whether the certificate of the new key is revoked.
        #expect(outcomes([try first.list()], leaf, untrusted: [first, second]) == [.passed])
        #expect(outcomes([try first.list(), revoking], leaf, untrusted: [first, second]) == [.failed])
        // OpenSSL takes the old key for the signer of this list.
        let form = ListForm(
            thisUpdate: DERText.time("241203120000Z"), rest: ListForm.rest(entries: [ListForm.entry]))
        let plain = try EncodedRevocationList(der: form.der(by: second))
        for others in [[try first.list()], [try root.list(), try first.list()]] {
            #expect(outcomes(others + [plain], leaf, untrusted: [first, second]) == [.failed])
        }
        // Another authority's certificate with this name has no effect.
        let stranger = try TestAuthority.root("Stranger").authority("Authority")
        let foreign = try EncodedRevocationList(der: form.der(by: stranger))
        #expect(outcomes([try first.list(), foreign], leaf, untrusted: [first, stranger]) == [.passed])
    }

    @Test("A revocation is found in a list that names another certificate of the issuer's key")
    func renewedCertificate() throws {
        let first = try root.authority("Authority", serial: [3])
        // The authority key identifier of its lists does not fit the certificate on the path.
        let second = try root.authority("Authority", key: first.key, serial: [4]) {
            $0.subjectKeyIdentifier = .octets([1, 2])
        }
        let leaf = try first.leaf()
        let revoking = try newer([TestAuthority.entry([9])], by: second, isCurrent: true)
        let lists = [try root.list(), try first.list(), revoking]
        #expect(outcomes(lists, leaf, untrusted: [first]) == [.failed])
        #expect(outcomes(lists, leaf, untrusted: [first, second]) == [.failed])
    }

    @Test("The indirect list that a certificate refers to is searched in addition to its issuer's list")
    func indirectBesideDirect() throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let authority = try root.authority("Authority", serial: [6])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let entry = TestAuthority.entry([9], issuer: authority.certificate.subject)
        for (entries, outcome) in [([entry], Verification.Outcome.failed), ([], .passed)] {
            for age in [7_200.0, 60] {
                let indirect = try newer(
                    entries, by: signer, age: age, isCurrent: true, [EncodedExtension.indirect])
                let direct = try newer([], by: authority, isCurrent: true)
                #expect(
                    outcomes([try root.list(), direct, indirect], leaf, untrusted: [authority, signer])
                        == [outcome])
            }
        }
    }

    @Test("Lists for other distribution points are not searched, however many they are")
    func shards() throws {
        let leaf = try root.leaf { $0.extensions = [EncodedExtension.certificatePoint("http://x/3")] }
        let shards = try (0..<20).map {
            try newer(
                [TestAuthority.entry([100 + UInt8($0)])], age: Double($0 + 60), isCurrent: true,
                [EncodedExtension.listPoint("http://x/\($0)")])
        }
        #expect(outcomes(shards, leaf) == [.passed])
    }

    @Test("The time of a search also limits the signatures of revocation lists")
    func time() throws {
        let forger = try TestAuthority.root("Root")
        let lists = try (0..<100).map { try forger.list(number: [UInt8($0)]) } + [root.list()]
        let validator = Trial(trusted: [root.certificate], lists: lists).validator
        #expect(validator.validate(leaf, at: TestAuthority.now).isValid)
        let slow = Trial(trusted: [root.certificate], lists: lists).validator
        let clock = SteppingClock(.now)
        slow.now = { clock.next() }
        let check = slow.validate(leaf, at: TestAuthority.now).verification.check(.revocation)
        #expect(check.outcome == .unsettled)
        #expect(check.explanation == "verifying the signatures of the revocation lists takes too long")
    }

    @Test("An outdated list about the trust anchor itself does not matter")
    func anchor() throws {
        let authority = try root.authority("Authority", serial: [6])
        let leaf = try authority.leaf()
        var trial = Trial(
            trusted: [authority.certificate], untrusted: [],
            lists: [try authority.list(), try newer([], by: root)])
        trial.allowsPartialChain = true
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .passed)
        trial.lists = [try authority.list(), try root.list([TestAuthority.entry([6])])]
        trial.untrusted = [root.certificate]
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .failed)
    }

    /// A complete list without a number, so that OpenSSL ignores its delta lists.
    private func unnumbered() throws -> EncodedRevocationList {
        try EncodedRevocationList(der: ListForm().der(by: root))
    }

    @Test("A delta list that OpenSSL ignores can revoke a certificate")
    func ignoredDelta() throws {
        let base = try unnumbered()
        let revoking = [TestAuthority.entry([9])]
        let delta = try newer(revoking, [EncodedExtension.delta])
        #expect(outcomes([base, delta]) == [.failed])
        // Neither the list nor the certificate contains a URL for delta lists.
        #expect(outcomes([try root.list(), delta]) == [.failed])
        let simultaneous = try root.list(revoking, number: [2], [EncodedExtension.delta])
        #expect(outcomes([base, simultaneous]) == [.failed])
        let other = try newer([TestAuthority.entry([8])], [EncodedExtension.delta])
        #expect(outcomes([base, other]) == [.passed])
        let future = try newer(revoking, age: -3_600, [EncodedExtension.delta])
        #expect(outcomes([base, future]) == [.passed])
        let forged = try newer(revoking, by: TestAuthority.root("Root"), [EncodedExtension.delta])
        #expect(outcomes([base, forged]) == [.passed])
        #expect(outcomes([base, forged, delta]) == [.failed])
    }

    @Test("A newer list releases a certificate that a delta list holds, which OpenSSL ignores")
    func supersededDelta() throws {
        let base = try unnumbered()
        let older = try newer([entry(reason: 6)], age: 7_200, [EncodedExtension.delta])
        #expect(outcomes([base, older, try newer([], isCurrent: true)]) == [.passed])
        #expect(outcomes([base, older, try newer([])]) == [.passed])
        // A delta list without the certificate does not release it.
        #expect(outcomes([base, older, try newer([], [EncodedExtension.delta])]) == [.failed])
    }

    private func entry(reason: Int) -> CertificateRevocationList.Entry {
        .init(serialNumber: [9], date: TestAuthority.start, reason: reason)
    }

    @Test("A delta list can lift a hold, but no other revocation")
    func release() throws {
        let base = try unnumbered()
        let release = try newer([entry(reason: 8)], isCurrent: true, [EncodedExtension.delta])
        for (reason, outcome) in [(6, Verification.Outcome.passed), (1, .failed)] {
            let older = try newer([entry(reason: reason)], age: 7_200, [EncodedExtension.delta])
            #expect(outcomes([base, older, release]) == [outcome])
        }
        // OpenSSL consults a delta list itself if the complete list refers to it.
        let current = try root.list([entry(reason: 8)], number: [2], [EncodedExtension.delta])
        for (reason, outcome) in [(6, Verification.Outcome.passed), (1, .failed)] {
            let complete = try root.list([entry(reason: reason)], [EncodedExtension.freshest])
            #expect(outcomes([complete, current]) == [outcome], "\(reason)")
        }
        let onHold = try root.list([entry(reason: 6)], [EncodedExtension.freshest])
        let compromised = try newer([entry(reason: 1)], age: 86_400, [EncodedExtension.delta])
        let last = try root.list(
            [entry(reason: 8)], number: [3], thisUpdate: TestAuthority.now - 60, [EncodedExtension.delta])
        #expect(outcomes([onHold, last]) == [.passed])
        #expect(outcomes([onHold, compromised, last]) == [.failed])
        let later = try newer([TestAuthority.entry([9])], age: 60, [EncodedExtension.delta])
        #expect(outcomes([base, release, later]) == [.failed])
        // A delta list of another scope removes nothing from the list.
        let partial = try newer([entry(reason: 8)], [EncodedExtension.delta, EncodedExtension.compromises])
        let held = try newer([entry(reason: 6)], age: 7_200, [EncodedExtension.delta])
        #expect(outcomes([base, held, partial]) == [.failed])
    }

    @Test("An entry that revokes a certificate takes precedence over removeFromCRL, and over a hold")
    func severalEntries() throws {
        let base = try root.list([], [EncodedExtension.freshest])
        for reasons in [[8, 1], [1, 8], [8, 6], [6, 8]] {
            let delta = try root.list(reasons.map(entry), number: [2], [EncodedExtension.delta])
            #expect(outcomes([base, delta]) == [.failed], "\(reasons)")
            // OpenSSL ignores this delta list.
            #expect(outcomes([try unnumbered(), delta]) == [.failed], "\(reasons)")
        }
        let release = try root.list([entry(reason: 8)], number: [2], [EncodedExtension.delta])
        for reasons in [[6, 1], [1, 6]] {
            let complete = try root.list(reasons.map(entry), [EncodedExtension.freshest])
            #expect(outcomes([complete, release]) == [.failed], "\(reasons)")
        }
    }

    @Test("removeFromCRL in a complete list revokes the certificate")
    func removalInCompleteList() throws {
        #expect(outcomes([try root.list([entry(reason: 8)])]) == [.failed])
        #expect(outcomes([try root.list(), try newer([entry(reason: 8)])]) == [.failed])
        let result = Trial(trusted: [root.certificate], lists: [try root.list([entry(reason: 8)])])
            .validate(leaf)
        #expect(result.path[0].revocation.map { $0.revocation?.reason } == [8])
        #expect(result.verification.problems.map(\.isRevoked) == [true])
    }

    @Test("A delta list that has expired, or is dated in the future, does not lift a hold")
    func outdatedRelease() throws {
        let onHold = try root.list([entry(reason: 6)], [EncodedExtension.freshest])
        let held = try newer([entry(reason: 6)], age: 7_200, [EncodedExtension.delta])
        let now = TestAuthority.now
        for (start, end, outcome) in [
            (now - 3_600, now + 60, Verification.Outcome.passed), (now - 3_600, now - 60, .failed),
            (now + 60, now + 3_600, .failed),
        ] {
            let release = try root.list(
                [entry(reason: 8)], number: [2], thisUpdate: start, nextUpdate: end, [EncodedExtension.delta])
            #expect(outcomes([onHold, release]) == [outcome], "\(start)")
            // OpenSSL ignores this delta list.
            #expect(outcomes([try unnumbered(), held, release]) == [outcome], "\(start)")
        }
    }

    @Test("A delta list of attribute certificates does not revoke a certificate")
    func deltaOfAttributes() throws {
        let attributes = CertificateExtension(
            oid: "2.5.29.28", isCritical: true, value: [0x30, 0x03, 0x85, 0x01, 0xFF])
        let delta = try newer([TestAuthority.entry([9])], [EncodedExtension.delta, attributes])
        #expect(outcomes([try unnumbered(), delta]) == [.passed])
    }

    @Test("Forged lists do not hide a revocation in an authentic list, however many they are")
    func manyForged() throws {
        // Without an authority key identifier, OpenSSL takes these lists for the issuer's.
        let forged = try (10..<20).map { hour in
            let form = ListForm(thisUpdate: DERText.time("241203\(hour)0000Z"))
            return try EncodedRevocationList(der: form.der(by: .root("Root")))
        }
        #expect(outcomes(forged + [try root.list()]) == [.passed])
        #expect(outcomes(forged + [try root.list([TestAuthority.entry([9])])]) == [.failed])
        #expect(outcomes(forged + [try root.list(), try newer([TestAuthority.entry([9])])]) == [.failed])
        let delta = try newer([TestAuthority.entry([9])], [EncodedExtension.delta])
        #expect(outcomes(forged + [try unnumbered(), delta]) == [.failed])
        // Without an authentic list, nothing is settled.
        #expect(!outcomes(forged).contains(.passed))
    }

    @Test("A list is found among many newer lists without the certificate")
    func manyNewer() throws {
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", serial: [4])
        let many = try (0..<20).map {
            try newer([], by: second, age: Double($0 + 1), isCurrent: true, [EncodedExtension.compromises])
        }
        let lists = [try root.list(), try first.list()] + many
        let leaf = try first.leaf()
        #expect(outcomes(lists, leaf, untrusted: [first, second]) == [.passed])
        let revoking = try newer([TestAuthority.entry([9])], by: second)
        #expect(outcomes(lists + [revoking], leaf, untrusted: [first, second]) == [.failed])
    }

    @Test("A list of a revoked signer does not hide a revocation, and the certificates that it revokes fail")
    func revokedSigner() throws {
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", serial: [4])
        let signerRevoked = try newer([TestAuthority.entry([4])], [EncodedExtension.delta])
        let lists = [try root.list(), signerRevoked, try first.list()]
        let later = try newer([], by: second, age: 60, isCurrent: true)
        let leaf = try first.leaf()
        for signer in [first, second] {
            let revoking = try newer([TestAuthority.entry([9])], by: signer)
            #expect(outcomes(lists + [revoking, later], leaf, untrusted: [first, second]) == [.failed])
        }
        #expect(outcomes(lists + [later], leaf, untrusted: [first, second]) == [.passed])
    }

    @Test("Forged lists with a certificate that no authority of the path issued do not make the check fail")
    func forgedSigner() throws {
        let authority = try root.authority("Authority", serial: [3])
        let forger = try TestAuthority.root("Authority")
        let forged = try (0..<12).map { try newer([TestAuthority.entry([9])], by: forger, age: Double($0)) }
        let lists = [try root.list(), try authority.list()] + forged
        #expect(outcomes(lists, try authority.leaf(), untrusted: [authority, forger]) == [.passed])
    }

    @Test("Of two lists with the same date, the one with the higher number decides")
    func sameDate() throws {
        let clean = try root.list(number: [5])
        #expect(outcomes([clean, try root.list([TestAuthority.entry([9])], number: [6])]) == [.failed])
        #expect(
            outcomes([
                clean,
                try root.list([TestAuthority.entry([9])], number: [6], nextUpdate: TestAuthority.now - 1),
            ]) == [.failed])
        #expect(
            outcomes([
                clean, try root.list([entry(reason: 6)], number: [4], nextUpdate: TestAuthority.now - 1),
            ]) == [.passed])
    }

    @Test("For each set of reasons, the newest list decides")
    func reasons() throws {
        let lists = [
            try root.list([], [EncodedExtension.compromises]),
            try newer([], age: 60, isCurrent: true, [EncodedExtension.otherReasons]),
        ]
        #expect(outcomes(lists) == [.passed])
        let revoking = try newer([TestAuthority.entry([9])], [EncodedExtension.compromises])
        #expect(outcomes(lists + [revoking]) == [.failed])
    }

    @Test(
        "Newer lists and delta lists of the signer of an indirect list are searched, and lists that revoke this signer"
    )
    func indirect() throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let authority = try root.authority("Authority", serial: [6])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let name = authority.certificate.subject
        let entries = [TestAuthority.entry([9], issuer: name)]
        let lists = [try root.list(), try signer.list([], [EncodedExtension.indirect])]
        func outcomes(_ more: EncodedRevocationList...) -> Set<Verification.Outcome> {
            self.outcomes(lists + more, leaf, untrusted: [authority, signer])
        }
        #expect(outcomes() == [.passed])
        #expect(outcomes(try newer(entries, by: signer, [EncodedExtension.indirect])) == [.failed])
        #expect(
            outcomes(try newer(entries, by: signer, [EncodedExtension.delta, EncodedExtension.indirect]))
                == [.failed])
        #expect(outcomes(try newer([TestAuthority.entry([5])])) == [.failed])
        #expect(outcomes(try newer([TestAuthority.entry([5])], [EncodedExtension.delta])) == [.failed])
    }

    @Test(
        "A list that was issued after the certificate expired settles nothing, unless it keeps expired certificates"
    )
    func forgotten() throws {
        let leaf = try root.leaf { $0.notAfter = TestAuthority.now - 3_600 }
        func outcome(_ lists: [EncodedRevocationList]) -> Verification.Outcome {
            var trial = Trial(trusted: [root.certificate], lists: lists)
            trial.configure = { $0.allowsExpired = true }
            return trial.validate(leaf).verification.check(.revocation).outcome
        }
        #expect(outcome([try root.list()]) == .passed)
        #expect(outcome([try newer([], age: 60, isCurrent: true)]) == .unsettled)
        #expect(outcome([try newer([TestAuthority.entry([9])], age: 60, isCurrent: true)]) == .failed)
        for (year, expected) in [("20200101", Verification.Outcome.passed), ("20241203", .unsettled)] {
            let since = CertificateExtension(
                oid: "2.5.29.60", value: [0x18, 0x0F] + Array("\(year)235900Z".utf8))
            #expect(outcome([try newer([], age: 60, isCurrent: true, [since])]) == expected)
        }
    }

    @Test("An authority whose list was issued after the authority expired is reported as not covered")
    func forgottenAuthority() throws {
        let authority = try root.authority("Authority") { $0.notAfter = TestAuthority.now - 3_600 }
        let leaf = try authority.leaf()
        func check(_ list: EncodedRevocationList) throws -> Verification.Check {
            var trial = Trial(
                trusted: [root.certificate], untrusted: [authority.certificate],
                lists: [list, try authority.list()])
            trial.configure = { $0.allowsExpired = true }
            return trial.validate(leaf).verification.check(.revocation)
        }
        #expect(try check(root.list()).explanation == "no certificate of the chain is revoked")
        let later = try check(newer([], age: 60, isCurrent: true))
        #expect(later.outcome == .passed)
        #expect(
            later.explanation
                == "the certificate is not revoked; the lists were issued after the certificate expired, so a "
                + "revocation may have been removed (\(authority.certificate.subject))")
    }

    @Test("A delta list that OpenSSL ignores can be signed with any key of the issuer")
    func signerOfDelta() throws {
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", serial: [4])
        let leaf = try first.leaf()
        let lists = [try root.list(), try first.list()]
        for signer in [first, second] {
            let delta = try newer([TestAuthority.entry([9])], by: signer, [EncodedExtension.delta])
            #expect(outcomes(lists + [delta], leaf, untrusted: [first, second]) == [.failed])
        }
    }

    @Test("The report names the list with the revocation")
    func source() throws {
        let lists = [try root.list(), try newer([TestAuthority.entry([9])])]
        let result = Trial(trusted: [root.certificate], lists: lists).validate(leaf)
        #expect(result.path[0].revocation.map { $0.revocation != nil } == [false, true])
        #expect(result.verification.problems.map(\.isRevoked) == [true])
    }
}
