import Foundation
import KeySharing
import Testing

@Suite("Item and ItemLookup", .timeLimit(.minutes(10)))
struct ItemTests {
    private let identity = TestIdentities.identity(.authentication, year: 2024)

    @Test("A published file has the properties that its list and its mechanism determine")
    func file() {
        let name = identity.filename(under: .keySharing2025)
        #expect(
            Item.file(identity, in: .authentication, under: .keySharing2025, size: 3)
                == Item(
                    identifier: "PIV.\(identity.label)", filename: name, kind: .pkcs12,
                    contentType: "purebred2025.select.authentication-p12", parent: "PIV", size: 3,
                    created: identity.notBefore))
        #expect(
            Item.file(identity, under: .keySharing2025)
                == Item(
                    identifier: identity.label, filename: name, kind: .pkcs12,
                    contentType: "purebred2025.rsa.pkcs-12", parent: "root", size: nil,
                    created: identity.notBefore))
        #expect(
            Item.file(identity, under: .legacy)
                == Item(
                    identifier: identity.label, filename: name, kind: .pkcs12, contentType: "com.rsa.pkcs-12",
                    parent: "root", size: nil, created: identity.notBefore))
    }

    @Test("Files and zips have bytes, and a folder does not")
    func content() throws {
        try Item.file(identity, under: .legacy).requireContent()
        try Item.zip(.all, created: identity.notBefore).requireContent()
        let folder = Item.folder(.all, created: identity.notBefore)
        #expect(throws: RequestError(.isFolder, "All")) { try folder.requireContent() }
    }

    /// Looks up a name in a provider. The provider has the file of `identity` at its root, and the file of another
    /// identity in its folders.
    private func find(_ name: String) async throws -> (item: Item, containers: [String]) {
        let older = TestIdentities.identity(.authentication, year: 2018)
        let root = [
            Item.file(identity, under: .keySharing2025),
            .folder(.authentication, created: identity.notBefore),
            .folder(.noFilter, created: identity.notBefore), .zip(.all, created: identity.notBefore),
        ]
        var containers: [String] = []
        let item = try await ItemLookup.find(name) { identifier in
            root.first { $0.identifier == identifier.description }
        } items: { container in
            containers.append(container)
            switch container {
            case Item.root: return root
            case "PIV": return [.file(identity, in: .authentication, under: .keySharing2025)]
            default:
                return [identity, older].map { .file($0, in: .noFilter, under: .keySharing2025) }
            }
        }
        return (item, containers)
    }

    @Test("An identifier is looked up without listing a container")
    func identifier() async throws {
        let found = try await find(identity.label)
        #expect(found.item.identifier == identity.label && found.containers.isEmpty)
        #expect(try await find("All.zip").containers.isEmpty)
        await #expect(throws: RequestError(.noSuchItem, "")) { try await find("Device.zip") }
    }

    @Test("A lookup by file name searches the root first, and then every folder")
    func filename() async throws {
        let atRoot = try await find(identity.filename(under: .keySharing2025))
        #expect(atRoot.item.parent == "root" && atRoot.containers == ["root"])
        let older = TestIdentities.identity(.authentication, year: 2018)
        let inFolder = try await find(older.filename(under: .keySharing2025))
        #expect(inFolder.item.parent == "Unfiltered")
        #expect(inFolder.containers == ["root", "PIV", "Unfiltered"])
        await #expect(throws: RequestError(.noSuchItem, "")) { try await find("nothing.p12") }
    }

    @Test("A file name that matches several items is rejected, and the error contains their identifiers")
    func ambiguous() throws {
        let items = [IdentitySelector.all, .noFilter].map {
            Item.file(identity, in: $0, under: .keySharing2025)
        }
        let error = #expect(throws: RequestError.self) {
            try ItemLookup.match(identity.filename(under: .keySharing2025), in: items)
        }
        #expect(error?.code == .ambiguousName)
        #expect(error?.candidates == ["All.\(identity.label)", "Unfiltered.\(identity.label)"])
    }

    @Test(
        "A folder or zip can be named as in lists: with a slash, and in either letter case",
        arguments: [("PIV", "PIV"), ("PIV/", "PIV"), ("piv", "PIV"), ("all.ZIP", "All.zip")])
    func containers(name: String, identifier: String) async throws {
        #expect(try await find(name).item.identifier == identifier)
    }

    @Test("A path or a truncated identifier identifies a file in a folder")
    func paths() async throws {
        let name = identity.filename(under: .keySharing2025)
        for path in [
            "PIV/\(name)", "piv/\(name)", "PIV/\(identity.label.prefix(4))",
            "PIV.\(identity.label.prefix(4))",
        ] {
            let found = try await find(path)
            #expect(
                found.item.identifier == "PIV.\(identity.label)" && found.containers == ["PIV"], "\(path)")
        }
        let older = TestIdentities.identity(.authentication, year: 2018)
        await #expect(throws: RequestError(.noSuchItem, "")) {
            try await find("PIV/\(older.filename(under: .keySharing2025))")
        }
    }

    @Test("A prefix of a label or serial number identifies a file, with or without an ellipsis")
    func starts() async throws {
        for start in [
            String(identity.label.prefix(16)), identity.label.prefix(16) + "\u{2026}",
            identity.label.prefix(16).lowercased(), identity.label.lowercased(), identity.serialNumber,
        ] {
            #expect(try await find(start).item.identifier == identity.label, "\(start)")
        }
        let name = identity.filename(under: .keySharing2025)
        #expect(try await find("\(name.prefix(6))\u{2026}.p12").item.identifier == identity.label)
    }

    @Test("The start of a serial number has only hexadecimal digits")
    func startOfSerialNumber() async throws {
        let name = identity.filename(under: .keySharing2025)
        let serial = try #require(name.split(separator: "_").last?.split(separator: ".").first)
        #expect(try await find(String(serial)).item.identifier == identity.label)
        await #expect(throws: RequestError(.noSuchItem, "")) { try await find(serial + ".") }
    }

    @Test("A name with an ellipsis matches a file name only if its two parts do not overlap in the file name")
    func overlap() throws {
        let item = Item.file(identity, under: .keySharing2025)
        let (name, digits) = (item.filename, item.filename.dropLast(4))
        // The two parts of piv_048F…48F.p12 share three digits of piv_048F.p12.
        for shared in 1...4 {
            let text = "\(digits)\u{2026}\(digits.suffix(shared)).p12"
            #expect(try ItemLookup.match(text, in: [item]) == nil, "\(text)")
        }
        #expect(try ItemLookup.match("\(digits)\u{2026}.p12", in: [item]) == item)
        #expect(try ItemLookup.match("\(name.prefix(6))\u{2026}\(name.dropFirst(6))", in: [item]) == item)
    }

    @Test("A prefix that matches several items is rejected, and the error contains their identifiers")
    func ambiguousStarts() throws {
        let twins = [String(repeating: "AB", count: 32), "AC" + String(repeating: "AB", count: 31)].map {
            Item.file(
                IdentitySummary(
                    label: $0, serialNumber: $0 == "" ? "" : "0\($0.prefix(3))",
                    notBefore: identity.notBefore, facts: identity.facts), under: .keySharing2025)
        }
        let error = #expect(throws: RequestError.self) { try ItemLookup.match("a", in: twins) }
        #expect(error?.code == .ambiguousName && error?.candidates == twins.map(\.identifier))
        #expect(error?.message == "2 items have a label or serial number that starts with \u{201C}a\u{201D}")
        #expect(try ItemLookup.match("ab", in: twins) == twins[0])
        #expect(try ItemLookup.match("g", in: twins) == nil)
    }

    @Test("A complete identifier matches before a prefix, and a prefix matches only files of one identity")
    func precedence() throws {
        let items = [
            Item.file(identity, under: .keySharing2025),
            .file(identity, in: .authentication, under: .keySharing2025),
        ]
        #expect(try ItemLookup.match(identity.label, in: items) == items[0])
        let folder = Item.folder(.all, created: identity.notBefore)
        #expect(
            try ItemLookup.match("a", in: [folder]) == nil && ItemLookup.match("All", in: [folder]) == folder)
        for text in ["\u{2026}", "\u{2026}.p12", "\u{2026}2"] {
            #expect(try ItemLookup.match(text, in: [items[0]]) == nil, "\(text)")
        }
        let twins = ["A", "B"].map { letter in
            Item.file(
                IdentitySummary(
                    label: "A" + String(repeating: letter, count: 63), serialNumber: "0\(letter)",
                    notBefore: identity.notBefore, facts: identity.facts), under: .keySharing2025)
        }
        #expect(throws: RequestError(.ambiguousName, "")) { try ItemLookup.all("a", in: twins) }
        #expect(try ItemLookup.all("ab", in: twins) == [twins[1]])
        #expect(ItemIdentifier(String(repeating: "F", count: 64)) != nil)
        #expect(ItemIdentifier("G" + String(repeating: "F", count: 63)) == nil)
    }

    @Test("The name of an identity matches all of its items")
    func all() throws {
        let items =
            [Item.file(identity, under: .keySharing2025), .folder(.all, created: identity.notBefore)]
            + [IdentitySelector.all, .noFilter].map { .file(identity, in: $0, under: .keySharing2025) }
        func names(_ name: String) throws -> [String] {
            try ItemLookup.all(name, in: items).map(\.identifier)
        }
        let files = [identity.label, "All.\(identity.label)", "Unfiltered.\(identity.label)"]
        #expect(try names(identity.filename(under: .keySharing2025)) == files)
        #expect(try names(String(identity.label.prefix(8))) == files)
        #expect(try names("all/\(identity.serialNumber)") == ["All.\(identity.label)"])
        #expect(try names("ALL/") == ["All"])
        #expect(try names("nobody.p12") == [])
    }

    @Test("An identity is found by a unique prefix of its label or serial number, or by an item's name")
    func identities() throws {
        let older = TestIdentities.identity(.authentication, year: 2018)
        let name = identity.filename(under: .keySharing2025)
        for text in [
            identity.label, String(identity.label.prefix(6)), "PIV.\(identity.label)", name,
            "Encryption/\(name)",
            identity.serialNumber.lowercased(),
        ] {
            #expect(try IdentityLookup.find(text, in: [older, identity]) == identity, "\(text)")
        }
        #expect(throws: RequestError(.noSuchIdentity, "")) { try IdentityLookup.find("", in: [older]) }
        #expect(throws: RequestError(.noSuchIdentity, "")) {
            try IdentityLookup.find("x.\(older.label)", in: [older])
        }
        let error = #expect(throws: RequestError.self) {
            try IdentityLookup.find(identity.label, in: [identity, identity])
        }
        #expect(error?.code == .ambiguousLabel && error?.candidates.count == 2)
    }
}
