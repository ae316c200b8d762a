package import KeyShareWire
package import KeySharing
package import SecretMemory

/// The operations that a provider must implement. The server checks framing, grants and limits before it calls them.
///
/// `password(for:)` and `grantPeriod()` are called on the event loop and must not block. All other functions run off it
/// concurrently. A thrown error is sent to the consumer, so its reason must not contain a secret.
package protocol ProviderService: Sendable {
    /// The provider's persistent token; nil if the provider does not offer one.
    var token: (any TokenService)? { get }

    /// The provider's shared aliases; nil if the provider shares none.
    var aliases: (any AliasService)? { get }

    /// Returns a page of a container's items (docs/rules.md R3).
    ///
    /// - Parameters:
    ///   - container: The container's identifier, as the consumer sent it.
    ///   - cursor: The `nextCursor` of the previous page; nil for the first page. A consumer may send any text here.
    ///   - limit: The maximum number of items, at least 1. If a page does not fit in a frame, the server calls again
    ///     with this cursor and a smaller limit.
    /// - Returns: The page, with its items in the order of the listing.
    /// - Throws: `notAvailable` if the container does not exist or the cursor is invalid.
    func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage

    /// Returns one item.
    ///
    /// - Throws: `notAvailable` if the item does not exist.
    func item(_ identifier: String) async throws(ProviderFailure) -> Item

    /// Returns the names of the services of an item (docs/rules.md R6.1).
    ///
    /// - Throws: `notAvailable` if the item does not exist.
    func services(for identifier: String) async throws(ProviderFailure) -> [String]

    /// Returns the content of a granted item if it is in memory, and otherwise the expected cost of the export, without
    /// starting it. It must take no longer than a lookup, because it does not queue with exports.
    ///
    /// - Throws: The errors of `content(of:)` that can be detected without an export.
    func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState

    /// Returns the bytes of a granted item. The server keeps them until the grant ends.
    ///
    /// The task is cancelled if no connection waits for the bytes any more. The provider should stop at its next step.
    ///
    /// - Throws: `notAvailable` if the item no longer exists; `refused` if it exceeds a limit or the device is locked.
    func content(of identifier: String) async throws(ProviderFailure) -> [UInt8]

    /// Returns the password of a granted item.
    ///
    /// It is called on the event loop, once for each fetch. It must answer from memory, and may read at most one small
    /// file, the device's state.
    ///
    /// - Throws: `notAvailable` if the item no longer exists, `refused` while the device protects the password,
    ///   `serviceFailed` if there is no password.
    func password(for identifier: String) throws(ProviderFailure) -> SecretBytes

    /// Runs `body` on the event loop, for requests that consumers have already sent. The provider may check its state
    /// once and reuse the result until `body` ends, because every request was sent before the check.
    func withStateSnapshot(_ body: () -> Void)

    /// Returns the number of the current grant period. A number that differs from the last one ends all earlier grants,
    /// for example after the device was locked or the password was replaced (docs/rules.md R6.9, R6.11).
    ///
    /// It is called on the event loop after requests were read and before grants are used for them. It must take no
    /// longer than reading one small file.
    ///
    /// - Throws: `serviceFailed` if the provider cannot determine the period, which also ends all grants.
    func grantPeriod() throws(ProviderFailure) -> UInt64

    /// Legacy: returns a page of the rows for `types` (docs/rules.md R4).
    ///
    /// - Parameters:
    ///   - types: The types that the consumer requested.
    ///   - cursor: The `nextCursor` of the previous page; nil for the first page. A consumer may send any text here.
    ///   - limit: The maximum number of rows, at least 1.
    /// - Throws: `usage` for unknown types, `mixedMechanisms` for types of the other mechanism.
    func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage

    /// Legacy: returns the expected cost of exporting a row, without starting the export, like `contentState(of:)`.
    ///
    /// - Throws: The errors of `choose(_:types:)` that can be detected without an export.
    func exportCost(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedCost

    /// Legacy: exports a row that `present` returned for `types` (docs/rules.md R4.10).
    ///
    /// - Throws: `notAvailable` if the row does not exist, `usage` for unknown types, `mixedMechanisms` for types of
    ///   the other mechanism.
    func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport

    /// Returns a page of the facts that determine where identities are listed.
    ///
    /// - Parameters:
    ///   - cursor: The `nextCursor` of the previous page; nil for the first page. A consumer may send any text here.
    ///   - limit: The maximum number of identities, at least 1.
    /// - Throws: `serviceFailed` if the provider cannot determine the facts.
    func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage

    /// Returns a page of the identities in the files of a container: facts and details, but no keys.
    ///
    /// - Parameters:
    ///   - container: The container's identifier, as the consumer sent it.
    ///   - cursor: The `nextCursor` of the previous page; nil for the first page. A consumer may send any text here.
    ///   - limit: The maximum number of identities, at least 1.
    /// - Throws: `notAvailable` if the container does not exist or the cursor is invalid.
    func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage
}

/// Whether content is available immediately or needs an export.
package enum ContentState: Sendable {
    /// The content is in memory.
    case ready([UInt8])
    /// The content must be exported first.
    case needsExport(ExpectedCost)
}

/// The expected cost of an export.
package struct ExpectedCost: Sendable, Hashable {
    /// The name of the export. Concurrent requests with the same name share one export. Nil if each request needs an
    /// export of its own.
    package var sharedName: String?
    /// The maximum memory that the export is expected to hold, in bytes.
    package var bytes: Int

    /// Creates a cost. By default, the memory is unknown and the export is not shared.
    package init(sharedName: String? = nil, bytes: Int = 0) {
        self.sharedName = sharedName
        self.bytes = bytes
    }
}

extension ProviderService {
    /// By default, a provider has no token.
    package var token: (any TokenService)? { nil }

    /// By default, a provider shares no aliases.
    package var aliases: (any AliasService)? { nil }

    /// By default, the provider checks its state for every request.
    package func withStateSnapshot(_ body: () -> Void) { body() }

    /// By default, content is exported for each request. This suits providers that keep no content.
    package func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        .needsExport(ExpectedCost())
    }

    /// By default, the cost is unknown. This suits providers whose exports are small.
    package func exportCost(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedCost {
        ExpectedCost()
    }
}

/// An export of the legacy mechanism: a file for the one connection that chose it.
///
/// The server keeps the bytes for that connection, which reads them under the item's identifier. The file's password
/// goes to the pasteboard, and never over the connection (docs/rules.md R4.10).
package struct LegacyExport: Sendable {
    /// The file's description, such as `tmp.p12` (docs/rules.md R4.11). Its identifier must be unique to this export.
    package var item: Item
    /// The file's bytes.
    package var content: [UInt8]

    /// Creates an export from a file's description and bytes.
    package init(item: Item, content: [UInt8]) {
        self.item = item
        self.content = content
    }
}
