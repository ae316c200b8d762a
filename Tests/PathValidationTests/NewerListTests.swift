import Foundation
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("Several lists of one issuer", .timeLimit(.minutes(10)))
struct NewerListTests {
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

    @Test("The newest list decides, so a certificate on hold can be released")
    func newest() throws {
        let revoking = try newer([TestAuthority.entry([9])], age: 7_200)
        #expect(outcomes([try root.list(), revoking, try newer([])]) == [.passed])
        // A list of some reasons does not release a certificate.
        let partial = try newer([], [EncodedExtension.compromises])
        #expect(outcomes([try root.list(), revoking, partial]) == [.failed])
    }

    @Test("A newer list with a wrong signature is ignored")
    func forged() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try newer([TestAuthority.entry([9])], by: forger)
        #expect(outcomes([try root.list(), forged]) == [.passed])
        let genuine = try newer([TestAuthority.entry([9])], age: 7_200)
        #expect(outcomes([try root.list(), forged, genuine]) == [.failed])
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

    @Test("A newer list decides against a delta list that OpenSSL ignores")
    func supersededDelta() throws {
        let base = try unnumbered()
        let older = try newer([TestAuthority.entry([9])], age: 7_200, [EncodedExtension.delta])
        #expect(outcomes([base, older, try newer([], isCurrent: true)]) == [.passed])
        #expect(outcomes([base, older, try newer([])]) == [.passed])
        // A delta list without the certificate does not release it.
        #expect(outcomes([base, older, try newer([], [EncodedExtension.delta])]) == [.failed])
        let released = CertificateRevocationList.Entry(
            serialNumber: [9], date: TestAuthority.start, reason: 8)
        let release = try newer([released], [EncodedExtension.delta])
        #expect(outcomes([base, older, release]) == [.passed])
        let later = try newer([TestAuthority.entry([9])], age: 60, [EncodedExtension.delta])
        #expect(outcomes([base, release, later]) == [.failed])
    }

    @Test("The signer of the complete list must also have signed a delta list that OpenSSL ignores")
    func signerOfDelta() throws {
        let first = try root.authority("Authority", serial: [3])
        let second = try root.authority("Authority", serial: [4])
        let leaf = try first.leaf()
        let lists = [try root.list(), try first.list()]
        for (signer, outcome) in [(first, Verification.Outcome.failed), (second, .passed)] {
            let delta = try newer([TestAuthority.entry([9])], by: signer, [EncodedExtension.delta])
            #expect(outcomes(lists + [delta], leaf, untrusted: [first, second]) == [outcome])
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
