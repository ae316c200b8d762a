import KeyShareProtocol
import KeyShareWire
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareServer

@Suite("Signing multipart messages", .timeLimit(.minutes(10)))
struct MultipartSignatureTests {
    /// A token whose messages accept no data.
    private struct FailingToken: TokenService {
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

        func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature { FailingMessage() }

        func openedKey(for use: TokenUse) -> OpenedTokenUse? { nil }

        func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
            throw TokenError(.communicationError, "x")
        }
    }

    private final class FailingMessage: MultipartSignature {
        func append(_ bytes: [UInt8]) throws(TokenError) { throw TokenError(.communicationError, "x") }

        func finish() throws(TokenError) -> TokenUse { throw TokenError(.communicationError, "x") }
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
