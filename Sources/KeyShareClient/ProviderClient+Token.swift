internal import KeyShareProtocol
internal import KeyShareWire
internal import LocalSockets
internal import NIOCore
package import PersistentToken
package import SecretMemory

// Requests for the persistent token, whose keys never leave the provider.

extension ProviderClient {
    /// Whether the provider has a persistent token.
    package var hasToken: Bool { welcome.features.contains(Wire.Feature.token) }

    /// Requests the list of the tokens.
    ///
    /// - Throws: `ProviderFailure` `unknownRequest` if the provider has no persistent token. `SocketError`, including
    ///   `contentTooLarge` and `timedOut` if the list exceeds the limits.
    package func tokens() async throws -> [TokenEntry] {
        try requireToken()
        var attempts = 0
        while true {
            attempts += 1
            do {
                // All pages of one list have the same change count. If the list changes, request it again.
                var changeCount: UInt64?
                return try await list(size: \.wireSize) { cursor in
                    let request = ProviderRequest.tokens(cursor: cursor, limit: 0)
                    guard case .tokens(let page) = try await reply(to: request) else { throw Self.mismatch }
                    guard changeCount == nil || changeCount == page.changeCount else { throw Self.changed }
                    changeCount = page.changeCount
                    return (page.entries, page.nextCursor)
                }
            } catch let failure as ProviderFailure
                where failure.code == .notAvailable && attempts < Self.mostAttempts
            {
                continue
            }
        }
    }

    /// Requests the token's current state, such as whether its keys can be used.
    ///
    /// - Throws: `ProviderFailure` `unknownRequest` if the provider has no persistent token. `SocketError`.
    package func tokenStatus() async throws -> TokenStatus {
        try requireToken()
        guard case .tokenStatus(let status) = try await reply(to: .tokenStatus) else { throw Self.mismatch }
        return status
    }

    /// Requests a key use. If it requires the user's consent, the call waits until the user responds.
    ///
    /// A message that does not fit in one request is sent in parts.
    ///
    /// - Returns: The signature, the plaintext or the shared secret.
    /// - Throws: `TokenError`. `ProviderFailure`: `unknownRequest` if the provider has no persistent token, `refused`
    ///   if the data are too long and cannot be sent in parts, `serverBusy`. `SocketError`.
    package func use(_ use: TokenUse) async throws -> SecretBytes {
        try requireToken()
        guard use.data.count > Wire.useDataLimit else {
            guard case .used(let result) = try await reply(to: .use(use), within: limits.use) else {
                throw Self.mismatch
            }
            return result
        }
        guard SecKeyAlgorithm(named: use.algorithm)?.takesMessage == true else {
            throw TokenError(
                .badParameter,
                "the data exceed the token's limit of \(Wire.useDataLimit) bytes for this algorithm",
                obstacle: .wrongLength)
        }
        return try await useInParts(use)
    }

    /// Requests a key use like ``use(_:)`` and blocks the calling thread until it is done. Use it in C callbacks, which
    /// cannot suspend.
    ///
    /// The connection runs on its own thread, so blocking the caller's thread does not delay the reply.
    ///
    /// - Throws: The errors of ``use(_:)``. The message is never sent in parts.
    package func useAndWait(_ use: TokenUse) throws -> SecretBytes {
        try requireToken()
        guard case .used(let result) = try Self.future(.use(use), within: limits.use, handler).wait() else {
            throw Self.mismatch
        }
        return result
    }

    private func useInParts(_ use: TokenUse) async throws -> SecretBytes {
        var beginning = use
        beginning.data = []
        guard case .useBegun(let handle) = try await reply(to: .useBegin(beginning)) else {
            throw Self.mismatch
        }
        var sent = 0
        while sent < use.data.count {
            let end = min(sent + Wire.useDataLimit, use.data.count)
            let request = ProviderRequest.useUpdate(handle: handle, data: Array(use.data[sent..<end]))
            guard case .useUpdated(let total) = try await reply(to: request), total == UInt64(end) else {
                throw Self.mismatch
            }
            sent = end
        }
        guard case .useEnded(let result) = try await reply(to: .useEnd(handle: handle), within: limits.use)
        else {
            throw Self.mismatch
        }
        return result
    }

    private func requireToken() throws(ProviderFailure) {
        guard hasToken else {
            throw ProviderFailure(.unknownRequest, "this provider has no persistent token")
        }
    }

    /// The maximum number of attempts to read a list that changes while it is read.
    private static let mostAttempts = 5
    private static let changed = ProviderFailure(
        .notAvailable, "the list of tokens kept changing while it was read")
}

extension TokenEntry {
    /// The size of the entry's strings and certificate, in bytes.
    fileprivate var wireSize: Int {
        tokenID.utf8.count + objectID.utf8.count + label.utf8.count + certificate.count
    }
}
