package import KeyShareWire
package import PersistentToken
package import SecretMemory

/// The computation of a use whose key is open. It waits for nothing, and takes as long as the operation.
package typealias TokenComputation = @Sendable () throws(TokenError) -> SecretBytes

/// A use whose key is open.
package struct OpenedTokenUse: Sendable {
    /// About how long the computation takes.
    package enum Cost: Sendable {
        /// Less than handing it to another thread costs: tens of microseconds.
        case low
        /// Less than a millisecond.
        case moderate
        /// More.
        case high
    }

    /// About how long the computation takes.
    package let cost: Cost
    /// The computation.
    package let computation: TokenComputation

    /// Describes a use.
    package init(cost: Cost, computation: @escaping TokenComputation) {
        self.cost = cost
        self.computation = computation
    }
}

/// What a provider with a persistent token does behind the connection.
///
/// `openedKey(for:)` and `message(for:)` are called on the event loop and must not block. All other functions run off
/// it, several at once. An error that is thrown goes to the consumer, so its reason must hold no secret.
package protocol TokenService: Sendable {
    /// Returns a page of the tokens.
    ///
    /// - Parameters:
    ///   - cursor: The `nextCursor` of the page before; nil for the first page. A consumer may send any text here.
    ///   - limit: The most tokens to return, at least 1.
    /// - Throws: `notAvailable` where the cursor means nothing, `serviceFailed` where the provider cannot tell.
    func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage

    /// Returns what changes about the token.
    ///
    /// - Throws: `serviceFailed` where the provider cannot tell.
    func tokenStatus() async throws(ProviderFailure) -> TokenStatus

    /// Returns a page of the tokens as PKCS #11 shows them.
    ///
    /// - Parameters:
    ///   - cursor: The `nextCursor` of the page before; nil for the first page. A consumer may send any text here.
    ///   - limit: The most objects to return, at least 1.
    /// - Throws: `notAvailable` where the cursor means nothing, `serviceFailed` where the provider cannot tell.
    func tokenObjects(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenObjectPage

    /// Logs in, or tells how. It may wait for the user.
    ///
    /// The task is cancelled where nobody waits for the login any more.
    ///
    /// - Throws: `TokenError`: `authenticationFailed` for a wrong passcode, `notImplemented` where the token takes no logins.
    func logIn(_ login: TokenLogin) async throws(TokenError) -> TokenLoginState

    /// Begins a message that arrives in parts. It is not for this function to look at the key.
    ///
    /// - Parameter use: The use, without data.
    /// - Throws: `badParameter` where the algorithm signs no messages.
    func message(for use: TokenUse) throws(TokenError) -> any TokenMessage

    /// Returns a use whose key is open already; nil where `openKey(for:)` must be asked.
    ///
    /// It is called on the event loop. It answers from memory, and looks at most at whether device and keychain have
    /// changed.
    func openedKey(for use: TokenUse) -> OpenedTokenUse?

    /// Checks a use and opens its key, for which it may wait for the user.
    ///
    /// The task is cancelled where nobody waits for the use any more.
    ///
    /// - Throws: `TokenError`.
    func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation
}

extension TokenService {
    /// A token without logins asks for the user's presence alone.
    package func logIn(_ login: TokenLogin) async throws(TokenError) -> TokenLoginState {
        guard login == .state else { throw TokenError(.notImplemented, "this token takes no logins") }
        return TokenLoginState(mode: .presence)
    }
}

/// A message whose parts are digested as they arrive.
package protocol TokenMessage: AnyObject {
    /// Takes the next part.
    ///
    /// - Throws: `TokenError` where the digest fails.
    func append(_ bytes: [UInt8]) throws(TokenError)

    /// Ends the message.
    ///
    /// - Returns: The use that signs what the message comes to.
    /// - Throws: `TokenError` where the digest fails.
    func finish() throws(TokenError) -> TokenUse
}

/// A step of a message that arrives in parts.
package enum TokenMessageStep: Sendable, Hashable {
    case begin(TokenUse)
    case append(handle: UInt32, data: [UInt8])
    case cancel(handle: UInt32)
}

/// The messages of one connection that arrive in parts.
struct TokenMessages {
    private struct Message {
        let message: any TokenMessage
        var total: UInt64 = 0
    }

    private let limit: Int
    private var messages: [UInt32: Message] = [:]
    private var lastHandle: UInt32 = 0

    /// No messages yet, and at most `limit` at a time.
    init(limit: Int) {
        self.limit = limit
    }

    /// Takes a step.
    ///
    /// - Returns: The reply.
    mutating func take(_ step: TokenMessageStep, _ tokens: any TokenService) -> ProviderReply {
        do {
            switch step {
            case .begin(let use):
                guard messages.count < limit else {
                    throw ProviderFailure(
                        .refused, "this connection has \(limit) messages that are not ended")
                }
                let message = try tokens.message(for: use)
                repeat {
                    lastHandle &+= 1
                } while messages[lastHandle] != nil
                messages[lastHandle] = Message(message: message)
                return .useBegun(handle: lastHandle)
            case .append(let handle, let data):
                guard let message = messages[handle] else { throw Self.noMessage }
                do throws(TokenError) {
                    try message.message.append(data)
                } catch {
                    messages[handle] = nil
                    throw error
                }
                let total = message.total + UInt64(data.count)
                messages[handle]?.total = total
                return .useUpdated(total: total)
            case .cancel(let handle):
                messages[handle] = nil
                return .useCanceled
            }
        } catch let error as TokenError {
            return .tokenFailure(error)
        } catch {
            return .failure(
                (error as? ProviderFailure) ?? ProviderFailure(.internalError, "the message was lost"))
        }
    }

    /// Ends a message.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` where there is none of this handle; `TokenError`.
    mutating func finish(_ handle: UInt32) throws -> TokenUse {
        guard let message = messages.removeValue(forKey: handle) else { throw Self.noMessage }
        return try message.message.finish()
    }

    private static let noMessage = ProviderFailure(
        .notAvailable, "this connection has no message of this handle")
}
