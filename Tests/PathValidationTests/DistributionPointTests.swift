import Foundation
import OpenSSL
import PathValidation
import Testing

@Suite("Lists of other distribution points", .timeLimit(.minutes(10)))
struct DistributionPointTests: RevocationListSuite {
    let root: TestAuthority
    let leaf: Certificate
    private let authority: TestAuthority
    private let signer: TestAuthority

    init() throws {
        root = try TestAuthority.root("Root")
        signer = try root.authority("Signer of Lists", serial: [5])
        let point = EncodedExtension.listSigner(signer.certificate.subject)
        authority = try root.authority("Authority", serial: [6])
        leaf = try authority.leaf { $0.extensions = [point] }
    }

    private func outcomes(
        _ lists: EncodedRevocationList..., below authority: TestAuthority? = nil, of leaf: Certificate? = nil
    ) throws -> Set<Verification.Outcome> {
        outcomes([try root.list()] + lists, leaf, untrusted: [authority ?? self.authority, signer])
    }

    @Test("A point without a name matches only lists that are named after the signer, or not at all")
    func names() throws {
        #expect(try outcomes(try signer.list([], [EncodedExtension.indirect])) == [.passed])
        let own = EncodedExtension.indirectPoint(signer.certificate.subject)
        #expect(try outcomes(try signer.list([], [own])) == [.passed])
        for other in [
            EncodedExtension.indirectPoint("http://x/b"),
            EncodedExtension.indirectPoint(root.certificate.subject),
        ] {
            #expect(try outcomes(try signer.list([], [other])) == [.unsettled])
        }
    }

    @Test(
        "A list of the wrong kind of certificate can revoke a certificate, but does not cover it",
        arguments: [0x81, 0x82])
    func wrongKind(kind: UInt8) throws {
        func scope(_ kind: UInt8) -> CertificateExtension {
            CertificateExtension(
                oid: "2.5.29.28", isCritical: true, value: [0x30, 0x03, kind, 0x01, 0xFF])
        }
        // For users only, and for authorities only.
        let (issuer, serial): (TestAuthority, UInt8) = kind == 0x81 ? (root, 6) : (authority, 9)
        let leaf = try authority.leaf()
        let good = [try root.list(), try authority.list()]
        for revoked in [false, true] {
            let list = try issuer.list(
                revoked ? [TestAuthority.entry([serial])] : [], number: [2], [scope(kind)])
            #expect(outcomes(good + [list], leaf, untrusted: [authority]) == [revoked ? .failed : .passed])
        }
        // A serial number of an attribute certificate is that of another certificate.
        let attributes = try issuer.list(
            [TestAuthority.entry([serial])], [scope(0x85)])
        #expect(outcomes(good + [attributes], leaf, untrusted: [authority]) == [.passed])
    }

    @Test("A newer list of another point does not replace the right list")
    func newer() throws {
        let other = try signer.list(
            number: [2], thisUpdate: TestAuthority.start + 60, [EncodedExtension.indirectPoint("http://x/b")])
        let right = try signer.list([], [EncodedExtension.indirect])
        #expect(try outcomes(right, other) == [.passed])
    }

    @Test("A point without a name does not let lists with other names match the points with names")
    func severalPointsOfLeaf() throws {
        let name = signer.certificate.subject
        let leaf = try authority.leaf {
            $0.extensions = [
                EncodedExtension.listSigners(authority.certificate.subject, and: name, at: "http://x/a")
            ]
        }
        for (point, expected) in [
            (EncodedExtension.indirectPoint("http://x/a"), Verification.Outcome.passed),
            (EncodedExtension.indirectPoint("http://x/b"), .unsettled),
            (EncodedExtension.indirectPoint(root.certificate.subject), .unsettled),
        ] {
            #expect(try outcomes(try signer.list([], [point]), of: leaf) == [expected])
        }
    }

    @Test("A list of another point still revokes the certificate")
    func revocation() throws {
        let entries = [TestAuthority.entry([9], issuer: authority.certificate.subject)]
        let list = try signer.list(entries, [EncodedExtension.indirectPoint("http://x/b")])
        #expect(try outcomes(list) == [.failed])
    }

    @Test("A list of the point of an authority settles nothing about a leaf with another point")
    func severalPoints() throws {
        let signerName = signer.certificate.subject
        let authority = try root.authority("Authority", serial: [6]) {
            $0.extensions = [EncodedExtension.listSigner(signerName, at: "http://x/b")]
        }
        let list = try signer.list([], [EncodedExtension.indirectPoint("http://x/b")])
        let unnamed = try authority.leaf { $0.extensions = [EncodedExtension.listSigner(signerName)] }
        #expect(try outcomes(list, below: authority, of: unnamed) == [.unsettled])
        let named = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signerName, at: "http://x/b")]
        }
        #expect(try outcomes(list, below: authority, of: named) == [.passed])
    }
}
