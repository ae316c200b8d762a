internal import Diagnostics
internal import KeyShareProtocol
internal import KeyShareWire
package import KeyShareClient
package import KeySharing

/// Simulates the system's document picker. It shows everything that the provider lists, and enables the items that
/// conform to the requested types (docs/rules.md R1.6).
package struct DocumentPicker: Sendable {
    private let client: ProviderClient
    private let request: TypeRequest

    /// Creates a picker for the items of the provider to which `client` is connected.
    package init(_ client: ProviderClient, request: TypeRequest) {
        self.client = client
        self.request = request
    }

    /// Returns the items of a container, with the decision about each. A folder can always be opened, even if it is
    /// disabled (docs/rules.md R2.8).
    ///
    /// - Throws: `ProviderFailure`, `SocketError`.
    package func items(in container: String = Item.root) async throws -> [ItemDecision] {
        try await client.items(in: container).map { request.keySharing2025Decision(for: $0) }
    }

    /// Whether the files of a folder are enabled.
    private func filesAreEnabled(in folder: Item) -> Bool {
        folder.fileTypes.contains { type in
            request.identifiers.contains { UniformTypeRegistry.standard.conforms(type, to: $0) }
        }
    }

    /// Returns every enabled file and zip of every container, in list order. A file whose identity is also in an
    /// earlier container, or at the root, is omitted.
    ///
    /// - Throws: `ImportError` `.nothingToImport` if nothing can be picked; `ProviderFailure`, `SocketError`.
    package func everyItem() async throws -> [Item] {
        let items = try await client.allItems()
        var found: [Item] = []
        var labels: Set<String> = []
        for item in items.filter({ $0.parent == Item.root }) + items.filter({ $0.parent != Item.root })
        where item.kind.hasContent && request.keySharing2025Decision(for: item).isEnabled {
            if let label = item.label, !labels.insert(label).inserted { continue }
            found.append(item)
        }
        guard !found.isEmpty else {
            throw ImportError(.nothingToImport, "the provider lists no item that the request enables")
        }
        return found
    }

    /// Returns the item with this identifier or file name (docs/rules.md R7.18, R7.19).
    ///
    /// - Parameters:
    ///   - name: An identifier or a file name, as entered by the user.
    ///   - mustBeEnabled: Whether the item must have content and be enabled. Previews do not require this.
    /// - Throws: `RequestError`: `.noSuchItem`, `.ambiguousName`, `.isFolder`, `.itemDisabled`;
    ///   `ProviderFailure`, `SocketError`.
    package func pick(_ name: String, mustBeEnabled: Bool = true) async throws -> Item {
        let item = try await ItemLookup.find(name) { identifier in
            do {
                return try await client.item(identifier.description)
            } catch let failure as ProviderFailure where failure.code == .notAvailable {
                return nil
            }
        } items: { container in
            try await client.items(in: container)
        }
        guard mustBeEnabled else { return item }
        let decision = request.keySharing2025Decision(for: item)
        guard item.kind.hasContent else {
            throw RequestError(
                .isFolder, item.filename, candidates: filesAreEnabled(in: item) ? [] : item.fileTypes)
        }
        guard decision.isEnabled else {
            throw RequestError(.itemDisabled, name, detail: decision.message, candidates: decision.missing)
        }
        return item
    }
}

extension Item {
    /// The type of the files in a folder, as a list; empty for files, zips and unknown folders.
    fileprivate var fileTypes: [String] {
        IdentitySelector(folderName: identifier).map { [$0.companionType] } ?? []
    }
}
