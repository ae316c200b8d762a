import Dispatch
import KeyShareClient
import KeyShareProtocol
import KeyShareWire
import KeySharing
import NIOCore
import PersistentToken
import SecretMemory
import Synchronization
import TestSupport
import Testing

@testable import KeyShareServer

@Suite("Calls of tokens and aliases", .timeLimit(.minutes(10)))
struct TokenCallTests {
    /// Aliases whose rows have a given length.
    private struct LongAliases: AliasService {
        let rowSize: Int

        func aliases(_ query: AliasQueryRequest, limit: Int) async throws(TokenError) -> AliasPage {
            let row = [String(repeating: "a", count: rowSize)]
            return AliasPage(
                changeCount: 1, columns: ["alias"], rows: Array(repeating: row, count: limit), nextCursor: nil
            )
        }

        func chooseAlias(_ request: AliasChoiceRequest) async throws(TokenError) -> AliasChoice {
            throw TokenError(.notImplemented, "")
        }

        func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
            throw TokenError(.notImplemented, "")
        }
    }

    /// A token with an open key of a given cost.
    private struct OpenToken: TokenService {
        let cost: OpenedTokenUse.Cost
        let computation: TokenComputation

        func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
            throw ProviderFailure(.internalError, "")
        }
        func tokenStatus() async throws(ProviderFailure) -> TokenStatus {
            throw ProviderFailure(.internalError, "")
        }
        func tokenObjects(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenObjectPage
        {
            throw ProviderFailure(.internalError, "")
        }
        func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature {
            throw TokenError(.notImplemented, "")
        }
        func openedKey(for use: TokenUse) -> OpenedTokenUse? {
            OpenedTokenUse(cost: cost, computation: computation)
        }
        func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation { computation }
    }

    @Test("A page of aliases that does not fit in a frame is requested again with half the rows")
    func aliasPages() async throws {
        let call = ProviderCall.aliases(AliasQueryRequest(app: "a", columns: []), limit: 256)
        for (rowSize, rows) in [(800, 64), (1_000, 64), (40_000, 1), (70_000, nil)] as [(Int, Int?)] {
            var provider = StandInProvider(count: 1)
            provider.aliases = LongAliases(rowSize: rowSize)
            switch await call.execute(on: provider, requestID: 1) {
            case .encoded(let frame): #expect(frame.readableBytes / rowSize == rows)
            case .failed(let failure): #expect(failure.code == .internalError && rows == nil)
            default: Issue.record("another outcome")
            }
        }
    }

    /// A token whose objects have certificates of a given size, with one result of every login.
    private struct LongObjects: TokenService {
        var certificateSize = 0
        var login: Result<TokenLoginState, TokenError> = .success(TokenLoginState(mode: .pin))

        func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
            throw ProviderFailure(.internalError, "")
        }
        func tokenStatus() async throws(ProviderFailure) -> TokenStatus {
            throw ProviderFailure(.internalError, "")
        }
        func tokenObjects(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenObjectPage
        {
            var object = WireSamples.tokenObjects[0]
            object.certificate = [UInt8](repeating: 7, count: certificateSize)
            return TokenObjectPage(
                changeCount: 1, holder: "", objects: Array(repeating: object, count: limit), nextCursor: nil)
        }
        func logIn(_ login: TokenLogin) async throws(TokenError) -> TokenLoginState {
            try self.login.get()
        }
        func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature {
            throw TokenError(.notImplemented, "")
        }
        func openedKey(for use: TokenUse) -> OpenedTokenUse? { nil }
        func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
            throw TokenError(.notImplemented, "")
        }
    }

    @Test("A page of a token's objects that does not fit in a frame is requested again with half the objects")
    func objectPages() async throws {
        let call = ProviderCall.tokenObjects(cursor: nil, limit: 256)
        // The rest of each object has less than 200 bytes.
        for (size, count) in [(800, 64), (10_000, 4), (40_000, 1), (70_000, nil)] as [(Int, Int?)] {
            var provider = StandInProvider(count: 1)
            provider.token = LongObjects(certificateSize: size)
            switch await call.execute(on: provider, requestID: 1) {
            case .encoded(var bytes):
                let frame = try #require(try Frame.next(from: &bytes, limit: Wire.replyLimit))
                guard case .tokenObjects(let page) = try ProviderReply(frame) else {
                    Issue.record("another reply")
                    continue
                }
                #expect(page.objects.count == count)
            case .failed(let failure): #expect(failure.code == .internalError && count == nil)
            default: Issue.record("another outcome")
            }
        }
    }

    @Test("The token's verdict about a login is the outcome of the call")
    func logins() async throws {
        var provider = StandInProvider(count: 1)
        let state = TokenLoginState(mode: .pin, asksAlways: true, ticket: WireSamples.ticket)
        provider.token = LongObjects(login: .success(state))
        let call = ProviderCall.logIn(.presence)
        guard case .encoded(let frame) = await call.execute(on: provider, requestID: 5) else {
            Issue.record("another outcome")
            return
        }
        let expected = try WireSamples.bytes(.tokenLogin(state), id: 5)
        #expect(Array(frame.readableBytesView) == expected)
        provider.token = LongObjects(login: .failure(TokenError(.canceledByUser, "no")))
        guard case .tokenFailed(let error) = await call.execute(on: provider, requestID: 5) else {
            Issue.record("another outcome")
            return
        }
        #expect(error.code == .canceledByUser)
    }

    @Test("An expensive key use does not delay the requests of other clients")
    func expensive() async throws {
        let held = DispatchSemaphore(value: 0)
        let hasBegun = Mutex(false)
        var provider = StandInProvider(count: 3)
        provider.token = OpenToken(cost: .high) { () throws(TokenError) in
            hasBegun.withLock { $0 = true }
            guard held.wait(timeout: .now() + 20) == .success else {
                throw TokenError(.communicationError, "the other client was not served")
            }
            return SecretBytes([1])
        }
        try await withServer(provider) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            let other = try await ProviderClient.connect(path: path, clientName: "other")
            let use = Task {
                try await client.use(
                    TokenUse(objectID: "AB", .ecdsaSignatureX962(.message, .sha256), data: [1]))
            }
            #expect(await waitUntil { hasBegun.withLock { $0 } })
            #expect(try await other.items(in: Item.root).count == 3)
            held.signal()
            #expect(try await use.value == SecretBytes([1]))
            await client.close()
            await other.close()
        }
    }
}
