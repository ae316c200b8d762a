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
        try await client.items(in: container).map { request.decide($0) }
    }

    /// Returns the item with this identifier or file name (docs/rules.md R7.18, R7.19).
    ///
    /// - Parameters:
    ///   - name: an identifier or a file name, as entered by the user.
    ///   - mustBeEnabled: whether the item must have content and be enabled. Previews do not require this.
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
        try item.requireContent()
        let decision = request.decide(item)
        guard decision.isEnabled else {
            throw RequestError(.itemDisabled, name, detail: decision.message, candidates: decision.missing)
        }
        return item
    }
}
