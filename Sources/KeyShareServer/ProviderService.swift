package import KeyShareWire
package import KeySharing
package import SecretMemory

/// What a provider must do behind the connection. The server checks framing, grants and limits before it asks.
///
/// `password(for:)` and `grantPeriod()` are called on the event loop and must not block. All other functions run off
/// it, several at once. An error that is thrown goes to the consumer, so its reason must hold no secret.
package protocol ProviderService: Sendable {
    /// The provider's persistent token; nil where it has none.
    var token: (any TokenService)? { get }

    /// Returns a page of a container's items (docs/rules.md R3).
    ///
    /// - Parameters:
    ///   - container: The container's identifier, as the consumer sent it.
    ///   - cursor: The `nextCursor` of the page before; nil for the first page. A consumer may send any text here.
    ///   - limit: The most items to return, at least 1. Where a page does not fit a frame, the server asks again with
    ///     this cursor and a smaller limit.
    /// - Returns: The page, its items in the order of the listing.
    /// - Throws: `notAvailable` where there is no such container, or the cursor means nothing.
    func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage

    /// Returns one item.
    ///
    /// - Throws: `notAvailable` where there is no such item.
    func item(_ identifier: String) async throws(ProviderFailure) -> Item

    /// Returns the names of the services of an item (docs/rules.md R6.1).
    ///
    /// - Throws: `notAvailable` where there is no such item.
    func services(for identifier: String) async throws(ProviderFailure) -> [String]

    /// Looks at what it takes to answer a request for the content of an item that is granted, without making
    /// anything. It must take no longer than a look-up, because it does not wait behind work that takes long.
    ///
    /// - Throws: The errors of `content(of:)`, as far as a look tells them.
    func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState

    /// Returns the bytes of an item that is granted. The server keeps them until the grant ends.
    ///
    /// The task is cancelled where nobody waits for the bytes any more; the provider should stop at its next step.
    ///
    /// - Throws: `notAvailable` where the item has gone since; `refused` where it is over a limit, or the device keeps
    ///   it closed.
    func content(of identifier: String) async throws(ProviderFailure) -> [UInt8]

    /// Returns the password of an item that is granted.
    ///
    /// It is called on the event loop, once for each fetch. It must answer from memory; a look at one small file, the
    /// device's state, is the most it may add.
    ///
    /// - Throws: `notAvailable` where the item has gone since, `refused` while the device keeps the password closed,
    ///   `serviceFailed` where there is no password.
    func password(for identifier: String) throws(ProviderFailure) -> SecretBytes

    /// Runs `body`, on the event loop, for what a consumer has sent. What the provider has looked at once it need not look
    /// at again before `body` ends: the requests were sent before.
    func withOneLook(_ body: () -> Void)

    /// Returns the number of the period in which grants are valid. A number that differs from the last one ends every
    /// grant made before, as when the device was locked or the password replaced (docs/rules.md R6.9, R6.11).
    ///
    /// It is called on the event loop after requests were read and before grants are used for them. It must take no longer
    /// than a look at one small file.
    ///
    /// - Throws: `serviceFailed` where the provider cannot tell, which ends all grants, too.
    func grantPeriod() throws(ProviderFailure) -> UInt64

    /// Legacy: returns a page of the rows for `types` (docs/rules.md R4).
    ///
    /// - Parameters:
    ///   - types: The types that the consumer asked for.
    ///   - cursor: The `nextCursor` of the page before; nil for the first page. A consumer may send any text here.
    ///   - limit: The most rows to return, at least 1.
    /// - Throws: `usage` for unknown types, `mixedMechanisms` for types of the other mechanism.
    func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage

    /// Legacy: looks at what it takes to export a row, without making anything, like `contentState(of:)`.
    ///
    /// - Throws: The errors of `choose(_:types:)`, as far as a look tells them.
    func exportWork(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedWork

    /// Legacy: exports a row that `present` gave for `types` (docs/rules.md R4.10).
    ///
    /// - Throws: `notAvailable` where there is no such row, `usage` for unknown types, `mixedMechanisms` for types of the
    ///   other mechanism.
    func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport

    /// Returns a page of the facts that decide where identities are listed.
    ///
    /// - Parameters:
    ///   - cursor: The `nextCursor` of the page before; nil for the first page. A consumer may send any text here.
    ///   - limit: The most identities to describe, at least 1.
    /// - Throws: `serviceFailed` where the provider cannot tell.
    func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage

    /// Returns a page of the identities whose files a container holds: the facts with details, no keys.
    ///
    /// - Parameters:
    ///   - container: The container's identifier, as the consumer sent it.
    ///   - cursor: The `nextCursor` of the page before; nil for the first page. A consumer may send any text here.
    ///   - limit: The most identities to describe, at least 1.
    /// - Throws: `notAvailable` where there is no such container, or the cursor means nothing.
    func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage
}

/// What it takes to answer a request for content.
package enum ContentState: Sendable {
    /// The content is in memory.
    case ready([UInt8])
    /// The content must be made.
    case toMake(ExpectedWork)
}

/// What is known of work before it is begun.
package struct ExpectedWork: Sendable, Hashable {
    /// The name of the work. Requests that need work of one name at the same time share its outcome; nil for work of
    /// which each request needs its own.
    package var sharedName: String?
    /// The bytes of memory that the work is expected to hold at most.
    package var bytes: Int

    /// Describes work.
    package init(sharedName: String? = nil, bytes: Int = 0) {
        self.sharedName = sharedName
        self.bytes = bytes
    }
}

extension ProviderService {
    /// No token.
    package var token: (any TokenService)? { nil }

    /// Looks whenever it has to.
    package func withOneLook(_ body: () -> Void) { body() }

    /// Says that content must be made, for each request anew: for providers that keep none.
    package func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        .toMake(ExpectedWork())
    }

    /// Says nothing of the work: for providers whose exports are small.
    package func exportWork(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedWork {
        ExpectedWork()
    }
}

/// An export of the legacy mechanism: a file for the one connection that chose it.
///
/// The server keeps the bytes for that connection, which reads them under the item's identifier. The file's password
/// goes to the pasteboard, never over the connection (docs/rules.md R4.10).
package struct LegacyExport: Sendable {
    /// The file's description, such as `tmp.p12` (docs/rules.md R4.11). Its identifier must be unique to this export.
    package var item: Item
    /// The file's bytes.
    package var content: [UInt8]

    /// Makes an export from a file's description and bytes.
    package init(item: Item, content: [UInt8]) {
        self.item = item
        self.content = content
    }
}
