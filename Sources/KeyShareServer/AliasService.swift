package import KeyShareWire
package import PersistentToken

/// The operations of a provider that shares aliases, and of Android's KeyChain, which holds the keys.
///
/// All functions run off the event loop concurrently. A thrown error is sent to the consumer, so its reason must not
/// contain a secret. A task is cancelled if the client no longer waits for the result.
package protocol AliasService: Sendable {
    /// Returns a page of the rows of a query. It may wait for the user, who grants the permission READ_ALIAS.
    ///
    /// - Parameters:
    ///   - query: The query. A consumer may send any text as a cursor.
    ///   - limit: The maximum number of rows, at least 1.
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    func aliases(_ query: AliasQueryRequest, limit: Int) async throws(TokenError) -> AliasPage

    /// Lets the user choose an entry, and grants its key to the app. It waits for the user.
    ///
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    func chooseAlias(_ request: AliasChoiceRequest) async throws(TokenError) -> AliasChoice

    /// Checks the key grant of a key use, and opens its key.
    ///
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation
}
