internal import KeyShareProtocol
package import KeyShareWire
internal import LocalSockets

// Requests for the aliases that a provider shares, as on Android.

/// The answer to a query for aliases: all rows of all pages.
package struct AliasTable: Sendable, Hashable {
    /// The names of the columns, in the provider's order.
    package let columns: [String]
    /// The rows. Each has a value for each column.
    package let rows: [[String]]

    /// Creates a table.
    package init(columns: [String], rows: [[String]]) {
        self.columns = columns
        self.rows = rows
    }
}

extension ProviderClient {
    /// Whether the provider shares aliases.
    package var hasAliases: Bool { welcome.features.contains(Wire.Feature.aliases) }

    /// Queries the shared aliases. The provider may ask the user for the permission READ_ALIAS first.
    ///
    /// - Parameters:
    ///   - app: The name of the querying app.
    ///   - columns: The names of the columns; empty for none.
    /// - Throws: `TokenError`, whose obstacle is the specific reason, such as `permissionDenied`. `ProviderFailure`
    ///   `unknownRequest` if the provider shares no aliases. `SocketError`, including `contentTooLarge` and `timedOut` if
    ///   the list exceeds the limits.
    package func aliases(app: String, columns: [String]) async throws -> AliasTable {
        try requireAliases()
        var attempts = 0
        while true {
            attempts += 1
            do {
                var first: AliasPage?
                let rows = try await list(size: { $0.reduce(0) { $0 + $1.utf8.count } }) { cursor in
                    let query = AliasQueryRequest(app: app, columns: columns, cursor: cursor)
                    guard
                        case .aliases(let page) = try await reply(to: .aliasQuery(query), within: limits.use)
                    else { throw Self.mismatch }
                    // All pages of one list have the same change count. If the list changes, request it again.
                    guard first == nil || first?.changeCount == page.changeCount else {
                        throw Self.aliasesChanged
                    }
                    first = first ?? page
                    return (page.rows, page.nextCursor)
                }
                return AliasTable(columns: first?.columns ?? [], rows: rows)
            } catch let failure as ProviderFailure
                where failure.code == .notAvailable && attempts < Self.mostQueries
            {
                continue
            }
        }
    }

    /// Asks the user to choose a KeyChain entry. The provider then grants its key to the app.
    ///
    /// - Throws: `TokenError`, `ProviderFailure`, `SocketError`.
    package func chooseAlias(_ request: AliasChoiceRequest) async throws -> AliasChoice {
        try requireAliases()
        guard case .aliasChosen(let choice) = try await reply(to: .aliasChoose(request), within: limits.use)
        else { throw Self.mismatch }
        return choice
    }

    private func requireAliases() throws(ProviderFailure) {
        guard hasAliases else {
            throw ProviderFailure(.unknownRequest, "this provider shares no aliases")
        }
    }

    /// The maximum number of attempts to read a list that changes while it is read.
    private static let mostQueries = 5
    private static let aliasesChanged = ProviderFailure(
        .notAvailable, "the aliases changed while they were listed")
}
