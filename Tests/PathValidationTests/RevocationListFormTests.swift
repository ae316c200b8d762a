import Foundation
import PathValidation
import Testing

@testable import OpenSSL

/// A revocation list that is assembled field by field and signed, so that tests can use encodings that OpenSSL cannot
/// produce.
struct ListForm {
    static let algorithm = DERText.sequence([0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02])
    static let number = DERText.listExtension([0x55, 0x1D, 0x14], [0x02, 0x01, 0x01])
    /// An entry for the leaf's serial number, 9.
    static let entry = DERText.sequence([0x02, 0x01, 0x09] + DERText.time("241204000000Z"))

    var version: [UInt8] = [0x02, 0x01, 0x01]
    var algorithm = Self.algorithm
    var outerAlgorithm = Self.algorithm
    var issuer: [UInt8]?
    var thisUpdate = DERText.time("241203000000Z")
    var nextUpdate = DERText.time("271203000000Z")
    /// The fields after nextUpdate; empty in the simplest list.
    var rest: [UInt8] = []
    var unusedBits: UInt8 = 0
    var afterSignature: [UInt8] = []

    /// The entries followed by the extensions, as they are encoded after nextUpdate.
    static func rest(entries: [[UInt8]] = [], extensions: [[UInt8]] = []) -> [UInt8] {
        (entries.isEmpty ? [] : DERText.sequence(entries.flatMap(\.self)))
            + (extensions.isEmpty
                ? [] : DERText.element(0xA0, DERText.sequence(extensions.flatMap(\.self))))
    }

    func der(by authority: TestAuthority) throws -> [UInt8] {
        let signed = DERText.sequence(
            version + algorithm + (issuer ?? authority.certificate.subject.der) + thisUpdate + nextUpdate
                + rest)
        let signature = try authority.key.signECDSA(Digest.sha256(signed))
        return DERText.sequence(
            signed + outerAlgorithm + DERText.element(0x03, [unusedBits] + signature) + afterSignature)
    }
}

/// Encodes DER elements.
enum DERText {
    static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)]
            : count < 0x100 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
        return [tag] + length + contents
    }

    static func sequence(_ contents: [UInt8]) -> [UInt8] { element(0x30, contents) }

    /// A UTCTime if the text has 13 characters, otherwise a GeneralizedTime.
    static func time(_ text: String) -> [UInt8] {
        element(text.utf8.count == 13 ? 0x17 : 0x18, Array(text.utf8))
    }

    static func listExtension(_ type: [UInt8], _ value: [UInt8], isCritical: Bool = false) -> [UInt8] {
        sequence(element(0x06, type) + (isCritical ? [0x01, 0x01, 0xFF] : []) + element(0x04, value))
    }

    /// An issuing distribution point with these contents.
    static func scope(_ contents: [UInt8]) -> [UInt8] {
        listExtension([0x55, 0x1D, 0x1C], sequence(contents), isCritical: true)
    }
}

/// A variant of a list, with a name for the test report.
struct NamedForm: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (inout ListForm) -> Void

    init(_ name: String, _ change: @escaping @Sendable (inout ListForm) -> Void) {
        testDescription = name
        self.change = change
    }

    static func rest(_ name: String, _ rest: [UInt8]) -> NamedForm { .init(name) { $0.rest = rest } }

    static func extensions(_ name: String, _ extensions: [UInt8]...) -> NamedForm {
        .rest(name, ListForm.rest(extensions: extensions))
    }

    func der(by authority: TestAuthority) throws -> [UInt8] {
        var form = ListForm()
        change(&form)
        return try form.der(by: authority)
    }
}

@Suite("The syntax of revocation lists", .timeLimit(.minutes(10)))
struct RevocationListFormTests {
    private static let user: [UInt8] = [0x81, 0x01, 0xFF]
    private static let authorities: [UInt8] = [0x82, 0x01, 0xFF]

    static let good: [NamedForm] = [
        .init("version 2 without entries and extensions") { _ in },
        .init("version 1 without entries, as openssl ca -gencrl writes it") { $0.version = [] },
        .init("no nextUpdate") { $0.nextUpdate = [] },
        .init("neither nextUpdate nor version") {
            $0.nextUpdate = []
            $0.version = []
        },
        .init("GeneralizedTime") {
            $0.thisUpdate = DERText.time("20241203000000Z")
            $0.nextUpdate = DERText.time("20501203000000Z")
        },
        .extensions("a number", ListForm.number),
        .extensions("an extension of an unknown type", DERText.listExtension([0x2A, 0x03], [0x05, 0x00])),
        .extensions("users only", DERText.scope(user)),
        .rest("an empty sequence of entries", DERText.sequence([])),
        .rest(
            "another certificate",
            ListForm.rest(entries: [DERText.sequence([0x02, 0x01, 0x08] + DERText.time("241204000000Z"))])),
    ]

    @Test("A well-formed list can be read and determines the revocation status", arguments: good)
    func sound(_ form: NamedForm) throws {
        let root = try TestAuthority.root("Root")
        let list = try EncodedRevocationList(der: form.der(by: root))
        #expect(Trial(trusted: [root.certificate], lists: [list]).failures(try root.leaf()) == [])
    }

    static let bad: [NamedForm] = [
        .init("an explicit version 1") { $0.version = [0x02, 0x01, 0x00] },
        .init("version 3") { $0.version = [0x02, 0x01, 0x02] },
        .init("a version of no octets") { $0.version = [0x02, 0x00] },
        .init("two algorithms") { $0.outerAlgorithm = DERText.sequence([0x06, 0x03, 0x2A, 0x03, 0x04]) },
        .init("algorithms without identifier") {
            $0.algorithm = DERText.sequence([0x05, 0x00])
            $0.outerAlgorithm = $0.algorithm
        },
        .init("no issuer") { $0.issuer = DERText.sequence([]) },
        .init("an issuer that is not a name") { $0.issuer = DERText.sequence([0x02, 0x01, 0x01]) },
        .init("thisUpdate of another type") {
            $0.thisUpdate = DERText.element(0x0C, Array("241203000000Z".utf8))
        },
        .init("thisUpdate with a zone") {
            $0.thisUpdate = DERText.element(0x17, Array("241203000000+0000".utf8))
        },
        .init("thisUpdate without seconds") {
            $0.thisUpdate = DERText.element(0x17, Array("2412030000Z".utf8))
        },
        .init("thisUpdate with fractions") { $0.thisUpdate = DERText.time("20241203000000.5Z") },
        .init("thisUpdate on 30 February") { $0.thisUpdate = DERText.time("240230000000Z") },
        .init("nextUpdate on 30 February") { $0.nextUpdate = DERText.time("270230000000Z") },
        .rest("a second nextUpdate", DERText.time("271203000000Z")),
        .rest("text after nextUpdate", DERText.element(0x0C, [0x41])),
        .rest(
            "two sequences of entries",
            ListForm.rest(entries: [ListForm.entry]) + DERText.sequence(ListForm.entry)),
        .rest("empty extensions", DERText.element(0xA0, DERText.sequence([]))),
        .rest("extensions without sequence", DERText.element(0xA0, [])),
        .rest("text after the extensions", ListForm.rest(extensions: [ListForm.number]) + [0x05, 0x00]),
        .rest(
            "text inside the extensions",
            DERText.element(0xA0, DERText.sequence(ListForm.number) + [0x05, 0x00])),
        .init("extensions in version 1") {
            $0.version = []
            $0.rest = ListForm.rest(extensions: [ListForm.number])
        },
        .extensions("an extension twice", ListForm.number, ListForm.number),
        .extensions("an extension of no value", DERText.sequence(DERText.element(0x06, [0x2A, 0x03]))),
        .extensions(
            "a number that is not an integer", DERText.listExtension([0x55, 0x1D, 0x14], [0x0C, 0x01, 0x41])),
        .extensions("an empty scope", DERText.scope([])),
        .extensions("a scope of users and authorities", DERText.scope(user + authorities)),
        .extensions("a scope of a foreign element", DERText.scope(user + [0x8F, 0x01, 0xFF])),
        .extensions(
            "a scope with two names",
            DERText.scope(DERText.element(0xA0, DERText.element(0xA0, []) + [0x05, 0x00]))),
        .init("an element after the signature") { $0.afterSignature = [0x05, 0x00] },
        .init("more unused bits than an octet has") { $0.unusedBits = 8 },
        .extensions(
            "an unknown extension twice", DERText.listExtension([0x2A, 0x03], [0x05, 0x00]),
            DERText.listExtension([0x2A, 0x03], [0x05, 0x00])),
        .extensions(
            "a critical flag of another value",
            DERText.sequence(
                DERText.element(0x06, [0x2A, 0x03]) + [0x01, 0x01, 0x01]
                    + DERText.element(0x04, [0x05, 0x00]))),
    ]

    @Test("A malformed list cannot be read", arguments: bad)
    func malformed(_ form: NamedForm) throws {
        let root = try TestAuthority.root("Root")
        #expect(throws: CertificateError(.malformed, "")) {
            try EncodedRevocationList(der: try form.der(by: root))
        }
    }

    @Test("A list with a length that is not minimally encoded cannot be read")
    func longLength() throws {
        let der = try ListForm().der(by: TestAuthority.root("Root"))
        #expect(der[1] == 0x81)
        #expect(throws: CertificateError(.malformed, "")) {
            try EncodedRevocationList(der: [0x30, 0x82, 0x00] + der.dropFirst(2))
        }
    }

    @Test("A list is current from thisUpdate to nextUpdate, and without an end if it has no nextUpdate")
    func currency() throws {
        let root = try TestAuthority.root("Root")
        let (start, end) = (TestAuthority.start, Date(timeIntervalSince1970: 1_827_792_000))
        let list = try EncodedRevocationList(der: ListForm().der(by: root))
        #expect(list.thisUpdate == start && list.nextUpdate == end)
        #expect(list.isCurrent(at: start) && list.isCurrent(at: end))
        #expect(!list.isCurrent(at: start - 1) && !list.isCurrent(at: end + 1))
        var form = ListForm()
        form.nextUpdate = []
        let endless = try EncodedRevocationList(der: form.der(by: root))
        #expect(endless.isCurrent(at: end + 1) && !endless.isCurrent(at: start - 1))
    }

    @Test("The scope of a list includes its restriction to some reasons")
    func reasons() throws {
        let root = try TestAuthority.root("Root")
        for (contents, isForSomeReasons) in [([0x83, 0x02, 0x05, 0x60], true), (Self.user, false)]
            as [([UInt8], Bool)]
        {
            var form = ListForm()
            form.rest = ListForm.rest(extensions: [DERText.scope(contents)])
            let scope = try EncodedRevocationList(der: form.der(by: root)).scope
            #expect((scope?.reasons != nil) == isForSomeReasons)
        }
    }

    @Test("A list is restricted to users, authorities or attributes, or contains other issuers' certificates")
    func restrictions() throws {
        let root = try TestAuthority.root("Root")
        let restrictions: [WritableKeyPath<EncodedRevocationList.Scope, Bool>] = [
            \.isForUsersOnly, \.isForAuthoritiesOnly, \.isIndirect, \.isForAttributesOnly,
        ]
        for (tag, restriction) in zip([0x81, 0x82, 0x84, 0x85] as [UInt8], restrictions) {
            var form = ListForm()
            form.rest = ListForm.rest(extensions: [DERText.scope([tag, 0x01, 0xFF])])
            var expected = EncodedRevocationList.Scope()
            expected[keyPath: restriction] = true
            #expect(try EncodedRevocationList(der: form.der(by: root)).scope == expected)
        }
    }

    @Test("A list with more than 64 names in its distribution points is rejected", arguments: [64, 65])
    func names(_ count: Int) throws {
        let root = try TestAuthority.root("Root")
        let url = DERText.element(0x86, Array("http://x".utf8))
        let names = DERText.element(0xA0, Array(repeating: url, count: count).flatMap(\.self))
        let point = DERText.sequence(DERText.element(0xA0, DERText.element(0xA0, url)))
        let freshest = DERText.sequence(Array(repeating: point, count: count).flatMap(\.self))
        for item in [
            DERText.scope(DERText.element(0xA0, names)), DERText.listExtension([0x55, 0x1D, 0x2E], freshest),
        ] {
            var form = ListForm()
            form.rest = ListForm.rest(extensions: [item])
            let der = try form.der(by: root)
            if count == 64 {
                #expect(throws: Never.self) { try EncodedRevocationList(der: der) }
            } else {
                let error = #expect(throws: CertificateError.self) { try EncodedRevocationList(der: der) }
                #expect(error?.code == .overLimit)
                // A file with the list is malformed, for the same reason.
                var reader = MaterialReader()
                let reading = #expect(throws: CertificateError.self) { try reader.take(der, named: "a.crl") }
                #expect(reading?.reason.hasSuffix("more than 64 names in its distribution points") == true)
            }
        }
    }

    @Test("A list for users does not cover an authority, whose list is then missing")
    func usersOnly() throws {
        let root = try TestAuthority.root("Root")
        var form = ListForm()
        form.rest = ListForm.rest(extensions: [DERText.scope(Self.user)])
        let users = try EncodedRevocationList(der: form.der(by: root))
        let direct = Trial(trusted: [root.certificate], lists: [users]).validate(try root.leaf())
        #expect(
            direct.verification.check(.revocation).explanation == "no certificate of the chain is revoked")
        let authority = try root.authority("Authority")
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate],
            lists: [users, try authority.list()])
        let check = trial.validate(try authority.leaf()).verification.check(.revocation)
        #expect(check.outcome == .passed)
        #expect(check.explanation.contains("(\(authority.certificate.subject))"), "\(check.explanation)")
    }

    @Test("A list for authorities does not settle the status of a user's certificate")
    func authoritiesOnly() throws {
        let root = try TestAuthority.root("Root")
        var form = ListForm()
        form.rest = ListForm.rest(extensions: [DERText.scope([0x82, 0x01, 0xFF])])
        let authorities = try EncodedRevocationList(der: form.der(by: root))
        let result = Trial(trusted: [root.certificate], lists: [authorities]).validate(try root.leaf())
        #expect(result.verification.check(.revocation).outcome == .unsettled)
    }

    private static let serial: [UInt8] = [0x02, 0x01, 0x08]
    private static let date = DERText.time("241204000000Z")
    private static let reason = DERText.sequence(
        DERText.listExtension([0x55, 0x1D, 0x15], [0x0A, 0x01, 0x01]))

    /// An entry with these names as the certificate's issuer.
    private static func entry(issuers: [UInt8], more: [UInt8] = []) -> [UInt8] {
        let item = DERText.listExtension(
            [0x55, 0x1D, 0x1D], DERText.sequence(issuers) + more, isCritical: true)
        return DERText.sequence(serial + date + DERText.sequence(item))
    }

    /// A directory name of one common name.
    private static let directoryName = DERText.element(
        0xA4,
        DERText.sequence(
            DERText.element(0x31, DERText.sequence([0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x01, 0x58]))))
    private static let indirect = DERText.scope([0x84, 0x01, 0xFF])

    static let badEntries: [NamedForm] = [
        .rest("no sequence", DERText.sequence(serial)),
        .rest("no time", ListForm.rest(entries: [DERText.sequence(serial)])),
        .rest("no serial number", ListForm.rest(entries: [DERText.sequence(date)])),
        .rest("an empty serial number", ListForm.rest(entries: [DERText.sequence([0x02, 0x00] + date)])),
        .rest(
            "a time without seconds",
            ListForm.rest(entries: [
                DERText.sequence(serial + DERText.element(0x17, Array("2412040000Z".utf8)))
            ])),
        .rest(
            "a time without zone",
            ListForm.rest(entries: [
                DERText.sequence(serial + DERText.element(0x17, Array("2412040000000".utf8)))
            ])),
        .rest(
            "a time with a letter",
            ListForm.rest(entries: [
                DERText.sequence(serial + DERText.element(0x17, Array("24120400000xZ".utf8)))
            ])),
        .rest(
            "text after the time", ListForm.rest(entries: [DERText.sequence(serial + date + [0x05, 0x00])])),
        .rest(
            "text after the extensions",
            ListForm.rest(entries: [DERText.sequence(serial + date + reason + [0x05, 0x00])])),
        .rest("empty extensions", ListForm.rest(entries: [DERText.sequence(serial + date + [0x30, 0x00])])),
        .init("extensions in version 1") {
            $0.version = []
            $0.rest = ListForm.rest(entries: [DERText.sequence(serial + date + reason)])
        },
        .rest(
            "an issuer in a list that is not indirect",
            ListForm.rest(entries: [entry(issuers: directoryName)])),
        .rest(
            "an issuer without a directory name",
            ListForm.rest(entries: [entry(issuers: [0x82, 0x01, 0x61])], extensions: [indirect])),
        .rest(
            "octets after an issuer",
            ListForm.rest(
                entries: [entry(issuers: directoryName, more: [0x05, 0x00])], extensions: [indirect])),
        .rest("an empty issuer", ListForm.rest(entries: [entry(issuers: [])], extensions: [indirect])),
    ]

    @Test(
        "A list with a malformed entry does not determine the revocation status, and is not replaced by another list of that date",
        arguments: badEntries)
    func malformedEntry(_ form: NamedForm) throws {
        let root = try TestAuthority.root("Root")
        let list = try EncodedRevocationList(der: form.der(by: root))
        let leaf = try root.leaf()
        #expect(!Trial(trusted: [root.certificate], lists: [list]).validate(leaf).isValid)
        #expect(!Trial(trusted: [root.certificate], lists: [list, try root.list()]).validate(leaf).isValid)
    }

    @Test("An indirect list may contain the issuer of an entry")
    func issuerOfEntry() throws {
        let root = try TestAuthority.root("Root")
        let rest = ListForm.rest(
            entries: [Self.entry(issuers: Self.directoryName)], extensions: [Self.indirect])
        let list = try EncodedRevocationList(der: ListForm(rest: rest).der(by: root))
        #expect(Trial(trusted: [root.certificate], lists: [list]).failures(try root.leaf()) == [])
    }
}
