import KeyShareProtocol
import KeyShareWire
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareServer

@Suite("Signing multipart messages", .timeLimit(.minutes(10)))
struct MultipartSignatureTests {
    /// A token whose messages accept no data, unless `accepts` is true.
    private struct FailingToken: TokenService {
        var accepts = false

        func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
            throw ProviderFailure(.internalError, "x")
        }

        func tokenStatus() async throws(ProviderFailure) -> TokenStatus {
            throw ProviderFailure(.internalError, "x")
        }

        func tokenObjects(
            after cursor: String?, limit: Int
        ) async throws(ProviderFailure) -> TokenObjectPage {
            throw ProviderFailure(.internalError, "x")
        }

        func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature {
            accepts ? AcceptingMessage() : FailingMessage()
        }

        func openedKey(for use: TokenUse) -> OpenedTokenUse? { nil }

        func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
            throw TokenError(.communicationError, "x")
        }
    }

    private final class FailingMessage: MultipartSignature {
        func append(_ bytes: [UInt8]) throws(TokenError) { throw TokenError(.communicationError, "x") }

        func finish() throws(TokenError) -> TokenUse { throw TokenError(.communicationError, "x") }
    }

    private final class AcceptingMessage: MultipartSignature {
        private var bytes: [UInt8] = []

        func append(_ bytes: [UInt8]) throws(TokenError) { self.bytes += bytes }

        func finish() throws(TokenError) -> TokenUse {
            TokenUse(objectID: "AB", .ecdsaSignatureX962(.message, .sha256), data: bytes)
        }
    }

    @Test("A multipart message can be finished once, and not after it is canceled")
    func finishedMessage() throws {
        let token = FailingToken(accepts: true)
        let use = TokenUse(objectID: "AB", .ecdsaSignatureX962(.message, .sha256), data: [])
        var messages = MultipartSignatures(limit: 1)
        for isCanceled in [false, true] {
            guard case .useBegun(let handle) = messages.apply(.begin(use), token),
                case .useUpdated(2) = messages.apply(.append(handle: handle, data: [1, 2]), token),
                case .useUpdated(3) = messages.apply(.append(handle: handle, data: [3]), token)
            else {
                Issue.record("the message was not begun")
                return
            }
            if isCanceled {
                #expect(messages.apply(.cancel(handle: handle), token) == .useCanceled)
            } else {
                #expect(try messages.finish(handle).data == [1, 2, 3])
            }
            #expect(throws: ProviderFailure(.notAvailable, "")) { try messages.finish(handle) }
        }
    }

    @Test("A token without logins reports its state, and rejects every login")
    func logins() async throws {
        let token = FailingToken()
        #expect(try await token.logIn(.state).mode == .presence)
        await #expect(throws: TokenError(.notImplemented, "")) { try await token.logIn(.presence) }
    }

    @Test("A multipart message that fails is removed and no longer counts toward the limit")
    func failedMessage() {
        var messages = MultipartSignatures(limit: 1)
        let use = TokenUse(objectID: "AB", .ecdsaSignatureX962(.message, .sha256), data: [])
        guard case .useBegun(let handle) = messages.apply(.begin(use), FailingToken()),
            case .failure(let refusal) = messages.apply(.begin(use), FailingToken()),
            case .tokenFailure = messages.apply(.append(handle: handle, data: [1]), FailingToken()),
            case .failure(let failure) = messages.apply(.append(handle: handle, data: [1]), FailingToken()),
            case .useBegun(let next) = messages.apply(.begin(use), FailingToken())
        else {
            Issue.record("the message was not begun, limited, failed or ended")
            return
        }
        #expect(refusal.code == .refused && failure.code == .notAvailable && next != handle)
    }
}
