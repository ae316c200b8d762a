import Foundation
import OpenSSL
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

    @Test("A list is selected once, although several certificates of the path have the same issuer")
    func once() throws {
        #expect(try material([root.list()], path: 2).lists.count == 1)
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

    @Test("Above the limits, current lists are taken before expired ones, and the first list is always taken")
    func limits() throws {
        let expired = try root.list(number: [2], nextUpdate: TestAuthority.start + 1)
        let current = try root.list(number: [1])
        var limits = PathLimits()
        limits.lists = 1
        for lists in [[expired, current], [current, expired]] {
            let material = try material(lists, limits)
            #expect(material.lists.map(\.nextUpdate) == [TestAuthority.end])
            #expect(material.omission != nil)
        }
        let newer = try EncodedRevocationList(
            der: root.issuer.revocationList(
                [], thisUpdate: TestAuthority.start + 1, nextUpdate: TestAuthority.end, number: [3]
            ).der)
        for lists in [[newer, current], [current, newer]] {
            #expect(try material(lists, limits).lists.map(\.number) == [[3]])
        }
        limits.lists = 2
        limits.listOctets = current.count + expired.count - 1
        #expect(try material([expired, current], limits).lists.count == 1)
        limits.listOctets = current.count + expired.count
        #expect(try material([expired, current], limits).omission == nil)
        limits.listOctets = 1
        #expect(try material([current], limits).lists.count == 1)
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
