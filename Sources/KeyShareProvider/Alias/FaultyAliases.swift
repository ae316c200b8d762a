internal import DeviceSimulation
internal import KeySharing
package import KeyShareServer
package import KeyShareWire
internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken
private import Synchronization

/// Alias sharing that deviates from a correct one by one fault.
package final class FaultyAliases: AliasService {
    private let aliases: AliasContentProvider
    private let changes: AliasFault.Changes
    private let random: Mutex<RandomSource.Generator>

    /// Creates alias sharing that forwards requests to `aliases` and applies the changes of `fault`.
    ///
    /// - Parameters:
    ///   - aliases: The correct alias sharing.
    ///   - fault: The fault.
    ///   - random: The source of the number of entries in a truncated list.
    package init(_ aliases: AliasContentProvider, fault: AliasFault, random: RandomSource) {
        self.aliases = aliases
        changes = fault.changes
        self.random = Mutex(random.generator())
    }

    /// Returns a page of a query. The fault may deny it, shorten it, or add a row.
    package func aliases(
        _ query: AliasQueryRequest, limit: Int
    ) async throws(TokenError) -> AliasPage {
        guard !changes.deniesPermission else { throw .withoutReadAlias }
        var page = try await aliases.aliases(query, limit: limit)
        if changes.truncatesLists, !page.rows.isEmpty {
            let kept = random.withLock { Int.random(in: 0..<page.rows.count, using: &$0) }
            page.rows.removeLast(page.rows.count - kept)
            page.nextCursor = nil
        }
        if changes.listsGoneAlias, page.nextCursor == nil, var row = page.rows.last {
            if let place = page.columns.firstIndex(of: AliasQuery.Column.alias.rawValue) {
                row[place] = "\(row[place].prefix(200)) (gone)"
            }
            page.rows.append(row)
        }
        return page
    }

    /// Lets the user choose an entry. Faults do not change this.
    package func chooseAlias(_ request: AliasChoiceRequest) async throws(TokenError) -> AliasChoice {
        try await aliases.chooseAlias(request)
    }

    /// Opens the key of an entry. The fault may withhold it, or end the grant after the use.
    package func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
        let computation = try await aliases.openKey(for: use)
        guard !changes.hasNoKeys else {
            throw TokenError(.objectNotFound, "KeyChain returned no key", obstacle: .keyMissing)
        }
        guard changes.revokesGrant else { return computation }
        return { [aliases] () throws(TokenError) in
            let result = try computation()
            try aliases.revokeGrant(of: use)
            return result
        }
    }
}
