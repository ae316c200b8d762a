internal import KeyShareWire
package import KeyShareClient
package import KeySharing

/// The OS's part between provider and consumer: shows everything the provider lists, and lets only what
/// conforms to the requested types be picked.
package struct DocumentPicker: Sendable {
    private let client: ProviderClient
    private let request: TypeRequest

    package init(_ client: ProviderClient, request: TypeRequest) {
        self.client = client
        self.request = request
    }

    /// The items of a container with the decision about each; a folder can be opened whatever its own is.
    ///
    /// - Throws: `ConnectionError`.
    package func items(in container: String = Item.root) async throws -> [ItemDecision] {
        try await client.items(in: container).map { request.decide($0) }
    }

    /// The enabled item of this identifier or file name.
    ///
    /// - Throws: `ItemLookupError`; `ConsumerError`: `.isFolder`, `.itemDisabled`; `ConnectionError`.
    package func pick(_ name: String) async throws -> Item {
        let item = try await find(name)
        guard item.kind != .folder else {
            throw ConsumerError(
                .isFolder, "\u{201C}\(name)\u{201D} is a folder",
                hint: "import one of the files in it, or \u{201C}\(name).zip\u{201D}")
        }
        let decision = request.decide(item)
        guard decision.isEnabled else {
            throw ConsumerError(
                .itemDisabled, "\u{201C}\(name)\u{201D} is disabled: \(decision.message)",
                hint: decision.missing.isEmpty
                    ? nil : "ask for it with --uti " + decision.missing.joined(separator: " --uti "))
        }
        return item
    }

    /// The item of this identifier or file name, enabled or not.
    ///
    /// - Throws: `ItemLookupError`, `ConnectionError`.
    package func find(_ name: String) async throws -> Item {
        if ItemIdentifier(name) != nil {
            do {
                return try await client.item(name)
            } catch  where error.code == .provider(.notAvailable) {
                throw ItemLookupError(.noSuchItem, name)
            }
        }
        let root = try await client.items(in: Item.root)
        if let item = try ItemLookup.match(name, in: root) { return item }
        if let item = try ItemLookup.match(name, in: try await contents(ofFoldersIn: root)) { return item }
        throw ItemLookupError(.noSuchItem, name)
    }

    private func contents(ofFoldersIn root: [Item]) async throws -> [Item] {
        var contents: [Item] = []
        for folder in root where folder.kind == .folder {
            contents += try await client.items(in: folder.identifier)
        }
        return contents
    }
}
