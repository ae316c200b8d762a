package import KeyShareWire
package import SecretMemory
package import KeySharing

/// What a provider does behind the connection; the server checks grants, limits and framing before it asks.
///
/// All but `password(for:)` may take their time: they run off the event loop, and several at once. The
/// error thrown is the error that the consumer sees, so its message must hold nothing secret.
package protocol ProviderService: Sendable {
    /// The items of a container.
    ///
    /// - Parameters:
    ///   - container: The container's identifier, as the consumer sent it.
    ///   - cursor: What the page before gave as `nextCursor`; nil for the first page. A consumer may send
    ///     anything here.
    ///   - limit: The most items to return, at least 1. Where a page does not fit a frame, the server asks
    ///     again with the same cursor and a smaller limit.
    /// - Returns: The page; its items in the order of the listing.
    /// - Throws: `notAvailable` for a container that is not there.
    func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage

    /// One item.
    ///
    /// - Throws: `notAvailable` where there is none.
    func item(_ identifier: String) async throws(ProviderFailure) -> Item

    /// The names of the services of an item.
    ///
    /// - Throws: `notAvailable` where there is no such item.
    func services(for identifier: String) async throws(ProviderFailure) -> [String]

    /// The bytes of an item that was granted. The server keeps them until the grant ends.
    ///
    /// - Throws: `notAvailable` where it has gone since, `refused` where it is over a limit or the device keeps
    ///   it closed.
    func content(of identifier: String) async throws(ProviderFailure) -> [UInt8]

    /// The password of an item that was granted.
    ///
    /// Called on the event loop, once for each fetch: it must answer from memory, and look at no more than one
    /// small file for whether it may.
    ///
    /// - Throws: `notAvailable` where the item has gone since, `refused` while the device keeps it closed,
    ///   `serviceFailed` where there is no password.
    func password(for identifier: String) throws(ProviderFailure) -> SecretBytes

    /// A number that is another one when everything that was granted before is over, as when the device was
    /// locked or restarted.
    ///
    /// Called on the event loop, before whatever might use a grant: it must take no longer than a look at one
    /// small file.
    ///
    /// - Throws: Where the provider cannot tell, which ends what was granted too.
    func grantPeriod() throws(ProviderFailure) -> UInt64

    /// Legacy: the rows for these types, in pages as `page(of:after:limit:)` has them.
    ///
    /// - Throws: `usage` for types that are not known, `mixedMechanisms` for types of the other mechanism.
    func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage

    /// Legacy: makes the export of a row that `present` gave for these types.
    ///
    /// - Throws: As `present`, and `notAvailable` where there is no such row.
    func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport

    /// The facts that decide where identities are listed, in pages as `page(of:after:limit:)` has them.
    ///
    /// - Throws: Where the provider cannot tell.
    func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage
}

/// One export of the legacy mechanism: a file for the one connection that chose it.
///
/// The connection that asked holds the bytes and reads them under the item's identifier; nobody else can.
/// Its password goes to the pasteboard, never through here.
package struct LegacyExport: Sendable {
    /// The file as handed over, such as `tmp.p12`; its identifier must be this export's alone.
    package var item: Item
    package var content: [UInt8]

    package init(item: Item, content: [UInt8]) {
        self.item = item
        self.content = content
    }
}
