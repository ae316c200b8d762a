package import DeviceSimulation
internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
internal import OpenSSL
package import PersistentToken
internal import SecretMemory
package import SimulatedKeychain

/// A token extension with one fault.
package struct FaultyToken: KeyOpeningToken {
    private let token: TokenExtension
    private let changes: TokenFault.Changes
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Creates a token that forwards requests to `token` and applies the changes of its fault; nil if it has none.
    ///
    /// - Parameters:
    ///   - token: The token extension.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    package init?(
        _ token: TokenExtension, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        guard let fault = token.fault else { return nil }
        self.token = token
        self.sleep = sleep
        changes = fault.changes
    }

    /// The device that the token belongs to.
    package var device: Device { token.device }

    /// Returns the status of the token's device.
    package func deviceStatus() throws -> DeviceStatus { try token.deviceStatus() }

    /// Returns the token's page. The fault may hide the keys.
    package func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
        var page = try await token.tokens(after: cursor, limit: limit)
        guard changes.hidesKeys else { return page }
        for place in page.entries.indices { page.entries[place].hasKey = false }
        return page
    }

    /// Returns the token's page. The fault may hide the keys.
    package func tokenObjects(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> TokenObjectPage {
        var page = try await token.tokenObjects(after: cursor, limit: limit)
        guard changes.hidesKeys else { return page }
        for place in page.objects.indices { page.objects[place].hasKey = false }
        return page
    }

    /// Returns the token's status.
    package func tokenStatus() async throws(ProviderFailure) -> TokenStatus { try await token.tokenStatus() }

    /// Begins a multipart message. Faults do not change this step.
    package func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature {
        try token.message(for: use)
    }

    /// Returns a key use whose key is already open; nil if it is not open, or if the fault delays key uses or makes
    /// them fail.
    package func openedKey(for use: TokenUse, isUserPresent: Bool) -> OpenedTokenUse? {
        guard changes.delay == .zero, changes.refusal == nil else { return nil }
        return token.openedKey(for: use, isUserPresent: isUserPresent).map { opened in
            OpenedTokenUse(cost: opened.cost, computation: changed(opened.computation, use))
        }
    }

    /// Opens a key of the token. The fault may delay this, make it fail, or open a different key.
    package func openKey(
        for use: TokenUse, isUserPresent: Bool
    ) async throws(TokenError) -> TokenComputation {
        do {
            if changes.delay > .zero { try await sleep(changes.delay) }
            if let refusal = changes.refusal { throw try refusal(use, token) }
            return changed(try await token.openKey(for: use, isUserPresent: isUserPresent), use)
        } catch {
            throw changes.error(TokenError(ofKeyUse: error))
        }
    }

    /// Returns the computation with the result or the error that the fault requires.
    private func changed(_ computation: @escaping TokenComputation, _ use: TokenUse) -> TokenComputation {
        { [changes] () throws(TokenError) in
            do throws(TokenError) {
                let result = try computation()
                return changes.result?(result, use) ?? result
            } catch {
                throw changes.error(error)
            }
        }
    }
}
