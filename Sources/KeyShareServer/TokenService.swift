internal import KeyShareProtocol
package import KeyShareWire
package import PersistentToken
package import SecretMemory

/// Performs a key use with its opened key. It never blocks: it takes only the time of the cryptographic operation.
package typealias TokenComputation = @Sendable () throws(TokenError) -> SecretBytes

/// A key use whose key is already open.
package struct OpenedTokenUse: Sendable {
    /// The approximate time of the computation.
    package enum Cost: Sendable {
        /// Less than a thread switch: tens of microseconds.
        case low
        /// Less than a millisecond.
        case moderate
        /// A millisecond or more.
        case high
    }

    /// The approximate time of the computation.
    package let cost: Cost
    /// Performs the cryptographic operation, and returns its result.
    package let computation: TokenComputation

    /// Creates a key use.
    package init(cost: Cost, computation: @escaping TokenComputation) {
        self.cost = cost
        self.computation = computation
    }
}

/// The operations of a provider with a persistent token.
///
/// `openedKey(for:)` and `message(for:)` are called on the event loop and must not block. All other functions run off
/// it concurrently. A thrown error is sent to the consumer, so its reason must not contain a secret.
package protocol TokenService: Sendable {
    /// Returns a page of the tokens.
    ///
    /// - Parameters:
    ///   - cursor: The `nextCursor` of the previous page; nil for the first page. A consumer may send any text here.
    ///   - limit: The maximum number of tokens, at least 1.
    /// - Throws: `notAvailable` if the cursor is invalid, `serviceFailed` if the provider cannot list the tokens.
    func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage

    /// Returns the token's changeable state.
    ///
    /// - Throws: `serviceFailed` if the provider cannot determine the state.
    func tokenStatus() async throws(ProviderFailure) -> TokenStatus

    /// Returns a page of the tokens' PKCS #11 objects.
    ///
    /// - Parameters:
    ///   - cursor: The `nextCursor` of the previous page; nil for the first page. A consumer may send any text here.
    ///   - limit: The maximum number of objects, at least 1.
    /// - Throws: `notAvailable` if the cursor is invalid, `serviceFailed` if the provider cannot list the objects.
    func tokenObjects(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenObjectPage

    /// Logs in, or returns the state of the login. It may wait for the user.
    ///
    /// The task is cancelled if the client no longer waits for the login.
    ///
    /// - Throws: `TokenError`: `authenticationFailed` for a wrong passcode, `notImplemented` if the token has no
    ///   logins.
    func logIn(_ login: TokenLogin) async throws(TokenError) -> TokenLoginState

    /// Begins a multipart message. This function does not access the key.
    ///
    /// - Parameter use: The key use, without data.
    /// - Throws: `badParameter` if the algorithm does not sign messages.
    func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature

    /// Returns a key use if its key is already open; nil if `openKey(for:)` must be called.
    ///
    /// It is called on the event loop. It answers from memory, and checks at most whether the device and the keychain
    /// have changed.
    func openedKey(for use: TokenUse) -> OpenedTokenUse?

    /// Checks a key use and opens its key, which may wait for the user.
    ///
    /// The task is cancelled if the client no longer waits for the result.
    ///
    /// - Throws: `TokenError`.
    func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation
}

extension TokenService {
    /// By default, a token has no logins and requires only the user's presence.
    package func logIn(_ login: TokenLogin) async throws(TokenError) -> TokenLoginState {
        guard login == .state else { throw TokenError(.notImplemented, "this token does not support logins") }
        return TokenLoginState(mode: .presence)
    }
}

/// A multipart message, whose parts are digested as they arrive.
package protocol MultipartSignature: AnyObject {
    /// Appends the next part.
    ///
    /// - Throws: `TokenError` if the digest fails.
    func append(_ bytes: [UInt8]) throws(TokenError)

    /// Ends the message.
    ///
    /// - Returns: A key use that signs the digest of the whole message.
    /// - Throws: `TokenError` if the digest fails.
    func finish() throws(TokenError) -> TokenUse
}

/// A step of a multipart message.
package enum MultipartSignatureStep: Sendable, Hashable {
    case begin(TokenUse)
    case append(handle: UInt32, data: [UInt8])
    case cancel(handle: UInt32)
}

/// The multipart messages of one connection.
struct MultipartSignatures {
    private struct Message {
        let message: any MultipartSignature
        var total: UInt64 = 0
    }

    private let limit: Int
    private var messages: [UInt32: Message] = [:]
    private var lastHandle: UInt32 = 0

    /// Creates an empty collection that holds at most `limit` messages.
    init(limit: Int) {
        self.limit = limit
    }

    /// Applies a step.
    ///
    /// - Returns: The reply.
    mutating func apply(_ step: MultipartSignatureStep, _ tokens: any TokenService) -> ProviderReply {
        do {
            switch step {
            case .begin(let use):
                guard messages.count < limit else {
                    throw ProviderFailure(
                        .refused, "this connection already has the maximum of \(limit) unfinished messages")
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
                (error as? ProviderFailure)
                    ?? ProviderFailure(.internalError, "the multipart message was lost"))
        }
    }

    /// Ends a message.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` if no message has this handle; `TokenError`.
    mutating func finish(_ handle: UInt32) throws -> TokenUse {
        guard let message = messages.removeValue(forKey: handle) else { throw Self.noMessage }
        return try message.message.finish()
    }

    private static let noMessage = ProviderFailure(
        .notAvailable, "this connection has no message with this handle")
}
