package import KeyShareWire
package import KeySharing
package import SecretMemory

/// What a provider must do behind the connection. The server checks framing, grants and limits before it asks.
///
/// `password(for:)` and `grantPeriod()` are called on the event loop and must not block. All other functions run off
/// it, several at once. An error that is thrown goes to the consumer, so its reason must hold no secret.
package protocol ProviderService: Sendable {
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

    /// Returns the bytes of an item that is granted. The server keeps them until the grant ends.
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

    /// Returns the number of the period in which grants are valid. A number that differs from the last one ends every
    /// grant made before, as when the device was locked or the password replaced (docs/rules.md R6.9, R6.11).
    ///
    /// It is called on the event loop before every use of a grant. It must take no longer than a look at one small
    /// file.
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
