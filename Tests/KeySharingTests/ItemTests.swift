import Foundation
import KeySharing
import Testing

@Suite("Item and ItemLookup")
struct ItemTests {
    private let identity = TestIdentities.identity(.authentication, year: 2024)

    @Test("A published file carries the identifier, name, type, parent and date of its list")
    func file() {
        let name = identity.filename(.keySharing2025)
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

    @Test("Files and zips have bytes, and a folder has none")
    func content() throws {
        try Item.file(identity, under: .legacy).requireContent()
        try Item.zip(.all, created: identity.notBefore).requireContent()
        let folder = Item.folder(.all, created: identity.notBefore)
        #expect(throws: RequestError(.isFolder, "All")) { try folder.requireContent() }
    }

    /// Finds an item in a provider whose root has the file of `identity`, and whose folders have that of another.
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

    @Test("A file name is looked for at the root first, and then in every folder")
    func filename() async throws {
        let atRoot = try await find(identity.filename(.keySharing2025))
        #expect(atRoot.item.parent == "root" && atRoot.containers == ["root"])
        let older = TestIdentities.identity(.authentication, year: 2018)
        let inFolder = try await find(older.filename(.keySharing2025))
        #expect(inFolder.item.parent == "Unfiltered")
        #expect(inFolder.containers == ["root", "PIV", "Unfiltered"])
        await #expect(throws: RequestError(.noSuchItem, "")) { try await find("nothing.p12") }
    }

    @Test("A file name that several items have is refused with the identifiers that it may mean")
    func ambiguous() throws {
        let items = [Selector.all, .noFilter].map { Item.file(identity, in: $0, under: .keySharing2025) }
        let error = #expect(throws: RequestError.self) {
            try ItemLookup.match(identity.filename(.keySharing2025), in: items)
        }
        #expect(error?.code == .ambiguousName)
        #expect(error?.candidates == ["All.\(identity.label)", "Unfiltered.\(identity.label)"])
    }
}
