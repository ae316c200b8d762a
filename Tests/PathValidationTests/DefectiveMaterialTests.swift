import Foundation
import KeySharing
import PathValidation
import Testing

@testable import OpenSSL

@Suite("Defective certificates and revocation lists", .timeLimit(.minutes(10)))
struct DefectiveMaterialTests {
    private let root: TestAuthority

    init() throws { root = try TestAuthority.root("Root") }

    /// A copy of a certificate with other octets in its signed part, and a new signature of its issuer.
    private func copy(
        _ certificate: Certificate, replacing old: String, with new: String
    ) throws -> Certificate {
        let der = certificate.der
        var file = DERWalk(der)
        guard let whole = file.skip(16) else { throw CertificateError(.malformed, "no certificate") }
        var fields = DERWalk(der, in: whole.contents)
        guard let signed = fields.skip(16), let algorithm = fields.skip(16) else {
            throw CertificateError(.malformed, "no signed part")
        }
        var octets = Array(der[signed.whole])
        let place = try #require(octets.firstRange(of: Array(old.utf8)))
        octets.replaceSubrange(place, with: Array(new.utf8))
        let signature = try root.key.signECDSA(Digest.sha256(octets))
        return try Certificate(
            der: DERText.sequence(
                octets + Array(der[algorithm.whole]) + DERText.element(0x03, [0] + signature)))
    }

    @Test(
        "A certificate whose validity begins or ends on a date that does not exist is invalid",
        arguments: [("241203000000Z", "240230000000Z"), ("271203000000Z", "270230000000Z")])
    func dates(_ old: String, _ new: String) throws {
        let leaf = try root.leaf()
        var trial = Trial(trusted: [root.certificate])
        trial.configure = { $0.allowsExpired = true }
        #expect(trial.failures(try copy(leaf, replacing: old, with: old)) == [])
        #expect(trial.failures(try copy(leaf, replacing: old, with: new)) == [.validity])
    }

    private static func hosts(_ name: String) -> CertificateExtension {
        let host = DERText.element(0x82, Array(name.utf8))
        return CertificateExtension(oid: "2.5.29.17", value: DERText.sequence(host))
    }

    @Test("A certificate with an undecodable extension, or with the same extension twice, is invalid")
    func extensions() throws {
        let authority = try root.authority("Authority") { $0.permittedNames = [.dNSName("good.example")] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let good = Self.hosts("good.example")
        let garbled = CertificateExtension(oid: "2.5.29.17", value: [0x04, 0x00])
        for (items, failures) in [
            ([good], []), ([good, Self.hosts("evil.example")], [.chain]), ([garbled], [.chain]),
        ] as [([CertificateExtension], [Verification.Kind])] {
            let leaf = try authority.leaf { $0.extensions = items }
            #expect(trial.failures(leaf) == failures)
        }
    }

    /// Extensions of a certificate, and whether the certificate is valid below its issuer.
    struct ExtensionCase: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let isValid: Bool
        let items: [CertificateExtension]

        init(_ description: String, isValid: Bool = false, _ items: CertificateExtension...) {
            testDescription = description
            self.isValid = isValid
            self.items = items
        }
    }

    private static let unknown = CertificateExtension(oid: "1.2.3.4", value: [0x05, 0x00])
    private static let location = CertificateExtension(
        oid: "1.3.6.1.5.5.7.1.1",
        value: DERText.sequence(
            DERText.sequence(
                [0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x02]
                    + DERText.element(0x86, Array("http://a.example/".utf8)))))

    private static let extensionCases: [ExtensionCase] = [
        ExtensionCase("one unknown extension", isValid: true, unknown),
        ExtensionCase("an unknown extension twice", unknown, unknown),
        ExtensionCase(
            "an unknown extension twice, not in sequence", unknown, location,
            CertificateExtension(oid: "1.2.3.4", value: [])),
        ExtensionCase("one authorityInfoAccess", isValid: true, location),
        ExtensionCase("authorityInfoAccess twice", location, location),
        ExtensionCase(
            "issuerAltName twice", CertificateExtension(oid: "2.5.29.18", value: hosts("a.example").value),
            CertificateExtension(oid: "2.5.29.18", value: hosts("b.example").value)),
        ExtensionCase(
            "inhibitAnyPolicy", isValid: true,
            CertificateExtension(oid: "2.5.29.54", isCritical: true, value: [0x02, 0x01, 0x00])),
        ExtensionCase(
            "an undecodable critical inhibitAnyPolicy",
            CertificateExtension(oid: "2.5.29.54", isCritical: true, value: [0x04, 0x00])),
        ExtensionCase(
            "an undecodable authorityInfoAccess that is not critical", isValid: true,
            CertificateExtension(oid: location.oid, value: [0x04, 0x00])),
        ExtensionCase(
            "an empty authorityInfoAccess that is not critical", isValid: true,
            CertificateExtension(oid: location.oid, value: [])),
        ExtensionCase(
            "octets of an unknown extension that are not DER", isValid: true,
            CertificateExtension(oid: "1.2.3.4", value: [0x05, 0x00, 0x00])),
        ExtensionCase(
            "octets after authorityInfoAccess",
            CertificateExtension(oid: location.oid, value: location.value + [0x05, 0x00])),
        ExtensionCase(
            "octets after the alternative names",
            CertificateExtension(oid: "2.5.29.17", value: hosts("a.example").value + [0x00])),
    ]

    @Test(
        "An extension that violates RFC 5280 4.2 makes every certificate except the anchor invalid",
        arguments: extensionCases)
    func violations(_ item: ExtensionCase) throws {
        let expected: [Verification.Kind] = item.isValid ? [] : [.chain]
        let leaf = try root.leaf { $0.extensions = item.items }
        #expect(Trial(trusted: [root.certificate]).failures(leaf) == expected)
        let authority = try root.authority("Authority") { $0.extensions = item.items }
        let below = try authority.leaf()
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        #expect(trial.failures(below) == expected)
        if !item.isValid {
            let explanation = trial.validate(below).verification.check(.chain).explanation
            #expect(explanation.contains("an extension is malformed"), "\(explanation)")
        }
        // A trusted authority is accepted as it is.
        var anchored = Trial(trusted: [authority.certificate])
        anchored.allowsPartialChain = true
        #expect(anchored.failures(below) == [])
    }

    @Test("Octets after the value make an extended key usage and name constraints invalid")
    func trailingOctets() throws {
        let purposes = DERText.sequence([0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x04])
        for (rest, failures) in [([], []), ([0x05, 0x00], [.chain])] as [([UInt8], [Verification.Kind])] {
            let leaf = try root.leaf {
                $0.extensions = [CertificateExtension(oid: "2.5.29.37", value: purposes + rest)]
            }
            #expect(Trial(trusted: [root.certificate]).failures(leaf) == failures)
        }
        // OpenSSL reads only the empty SEQUENCE and ignores the constraint after it.
        let subtree = DERText.sequence(DERText.element(0x82, Array("evil.example".utf8)))
        let excluded = DERText.sequence(DERText.element(0xA1, subtree))
        let authority = try root.authority("Authority") {
            $0.extensions = [
                CertificateExtension(oid: "2.5.29.30", isCritical: true, value: [0x30, 0x00] + excluded)
            ]
        }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let leaf = try authority.leaf { $0.extensions = [Self.hosts("evil.example")] }
        #expect(trial.failures(leaf).contains(.chain))
    }

    @Test("An authority with an undecodable extension is reported with this reason")
    func extensionOfAuthority() throws {
        let garbled = CertificateExtension(oid: "2.5.29.17", value: [0x04, 0x00])
        let authority = try root.authority("Authority") { $0.extensions = [garbled] }
        let trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate])
        let check = trial.validate(try authority.leaf()).verification.check(.chain)
        #expect(check.outcome == .failed)
        #expect(check.explanation.contains("an extension is malformed"), "\(check.explanation)")
        #expect(!check.explanation.contains("invalid CA"), "\(check.explanation)")
    }

    /// An entry for another certificate, with these names as its issuers.
    private static func entry(issuers: [UInt8]) -> [UInt8] {
        let item = DERText.listExtension([0x55, 0x1D, 0x1D], DERText.sequence(issuers), isCritical: true)
        return DERText.sequence(
            [0x02, 0x01, 0x08] + DERText.time("241204000000Z") + DERText.sequence(item))
    }

    @Test("A list with an entry of more than 16 issuers is unusable", arguments: [16, 17])
    func issuersOfEntry(_ count: Int) throws {
        let name = DERText.element(0xA4, root.certificate.subject.der)
        let address = DERText.element(0x81, Array("a@b.example".utf8))
        var form = ListForm()
        form.rest = ListForm.rest(
            entries: [
                Self.entry(issuers: name + Array(repeating: address, count: count - 1).flatMap(\.self))
            ],
            extensions: [DERText.scope([0x84, 0x01, 0xFF])])
        let list = try EncodedRevocationList(der: form.der(by: root))
        let check = Trial(trusted: [root.certificate], lists: [list]).validate(try root.leaf())
            .verification.check(.revocation)
        #expect(check.outcome == (count == 16 ? .passed : .failed), "\(check.explanation)")
        #expect(check.explanation.contains("more than 16 issuers") == (count == 17))
    }

    @Test(
        "An indirect list with more than 256 entries of one serial number is unusable", arguments: [256, 257])
    func entriesOfOneSerialNumber(_ count: Int) throws {
        let name = DERText.element(0xA4, root.certificate.subject.der)
        var form = ListForm()
        form.rest = ListForm.rest(
            entries: Array(repeating: Self.entry(issuers: name), count: count),
            extensions: [DERText.scope([0x84, 0x01, 0xFF])])
        let list = try EncodedRevocationList(der: form.der(by: root))
        let check = Trial(trusted: [root.certificate], lists: [list]).validate(try root.leaf())
            .verification.check(.revocation)
        #expect(check.outcome == (count == 256 ? .passed : .failed), "\(check.explanation)")
        #expect(check.explanation.contains("more than 256 entries") == (count == 257))
    }

    @Test("A list with a malformed entry fails only the check of revocation, unless a response is good")
    func malformedEntry() throws {
        let leaf = try root.leaf()
        var form = ListForm()
        form.rest = ListForm.rest(entries: [DERText.sequence([0x02, 0x01, 0x08])])
        let list = try EncodedRevocationList(der: form.der(by: root))
        var trial = Trial(trusted: [root.certificate], lists: [list])
        #expect(trial.failures(leaf) == [.revocation])
        let check = trial.validate(leaf).verification.check(.revocation)
        #expect(check.outcome == .failed && check.explanation.contains("is unusable"))
        trial.responses = [
            try StatusResponse(
                der: root.issuer.statusResponse(
                    to: OCSPRequest(for: leaf, issuedBy: root.certificate), thisUpdate: TestAuthority.start,
                    nextUpdate: TestAuthority.end
                ) { _ in .good })
        ]
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .passed)
    }

    @Test("A list with a malformed entry about an authority does not settle the certificate below it")
    func malformedEntryOfAuthority() throws {
        let authority = try root.authority("Authority")
        var form = ListForm()
        form.rest = ListForm.rest(entries: [DERText.sequence([0x02, 0x01, 0x08])])
        let list = try EncodedRevocationList(der: form.der(by: root))
        let leaf = try authority.leaf()
        var trial = Trial(trusted: [root.certificate], untrusted: [authority.certificate], lists: [list])
        #expect(trial.failures(leaf) == [.revocation])
        trial.lists = [list, try authority.list()]
        #expect(trial.failures(leaf) == [.revocation])
    }

    @Test("An indirect list of another issuer is not a list of an authority that has none")
    func indirect() throws {
        let authority = try root.authority("Authority")
        let leaf = try authority.leaf()
        func result(_ lists: EncodedRevocationList...) -> PathValidation {
            Trial(trusted: [root.certificate], untrusted: [authority.certificate], lists: lists)
                .validate(leaf)
        }
        let plain = result(try authority.list())
        let indirect = result(try authority.list([], [EncodedExtension.indirect]))
        #expect(plain.verification.check(.revocation).outcome == .passed)
        #expect(indirect.verification.check(.revocation) == plain.verification.check(.revocation))
        #expect(indirect.path[1].revocation.isEmpty)
        let outdated = try root.list(nextUpdate: TestAuthority.now - 1)
        let other = result(try authority.list([], [EncodedExtension.indirect]), outdated)
        #expect(other.verification.check(.revocation).outcome == .failed)
        // An indirect list does not settle a certificate of an issuer without a list either.
        let foreign = result(try root.list([], [EncodedExtension.indirect]))
        #expect(foreign.verification.check(.revocation).outcome == .unsettled)
    }

    /// An issuing distribution point with a directory name.
    private static func point(_ name: DistinguishedName) -> CertificateExtension {
        let full = DERText.element(0xA0, DERText.element(0xA4, name.der))
        return CertificateExtension(
            oid: "2.5.29.28", isCritical: true, value: DERText.sequence(DERText.element(0xA0, full)))
    }

    @Test("Lists for different directory names are different parts, also if different keys sign them")
    func directoryNames() throws {
        let new = try root.authority("Authority", serial: [3])
        let old = try root.authority("Authority", serial: [4])
        let leaf = try new.leaf()
        let points = try ["Part 1", "Part 2"].map { Self.point(try TestAuthority.name($0)) }
        func remaining(_ point: CertificateExtension) throws -> Int {
            let input = VerifierRun.Input(
                leaf: leaf, anchors: [root.certificate], untrusted: [new.certificate, old.certificate],
                path: [leaf, new.certificate, root.certificate],
                lists: [try new.list([], [points[0]]), try old.list([], [point])], requiresLists: true,
                date: TestAuthority.now)
            return VerificationObjects().withoutForgeries(input).count
        }
        #expect(try remaining(points[0]) == 1)
        #expect(try remaining(points[1]) == 2)
    }
}
