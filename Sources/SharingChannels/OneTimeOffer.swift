internal import LoopbackHTTP
internal import SecretMemory
internal import DeviceSimulation
internal import Logging
internal import OpenSSL
internal import Synchronization

/// Hands one thing out over HTTP, once, to whoever brings its token in time.
final class OneTimeOffer: Sendable {
    static let path = "/credential"
    /// What stands before the token in `Authorization` (RFC 6750 2.1).
    static let scheme = "Bearer "

    /// For how long something is offered.
    private static let lifetime = Duration.seconds(60)

    private struct State {
        /// Nil where it has been handed out.
        var content: [UInt8]?
        let token: SecretBytes
        let end: ContinuousClock.Instant
    }

    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex<State?>(nil)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.now = now
    }

    /// Offers `content` to whoever brings `token`, in place of what was offered before.
    func set(_ content: [UInt8], token: SecretBytes) {
        let end = now() + Self.lifetime
        state.withLock { $0 = State(content: content, token: token, end: end) }
        // Nobody may ask: what is over must not stay in memory for that.
        Task { [weak self] in
            try? await Task.sleep(until: end, clock: .continuous)
            self?.withdrawIfOver()
        }
    }

    /// Forgets what is offered.
    func withdraw() {
        state.withLock { $0 = nil }
    }

    /// What a request gets.
    func answer(_ query: HTTPRequest) -> HTTPResponse {
        guard query.path == Self.path else { return Self.answer(404) }
        guard query.method == .get else { return Self.answer(405) }
        guard let token = query.authorization.flatMap(Self.token) else { return Self.answer(401) }
        withdrawIfOver()
        return state.withLock { state in
            guard let known = state?.token, token == known else { return Self.answer(401) }
            guard let content = state?.content.take() else { return Self.answer(410) }
            return Self.answer(200, content)
        }
    }

    private func withdrawIfOver() {
        let now = now()
        state.withLock { state in
            if let end = state?.end, end <= now { state = nil }
        }
    }

    private static func answer(_ status: Int, _ content: [UInt8] = []) -> HTTPResponse {
        HTTPResponse(
            status: status, contentType: "application/octet-stream", body: content, mayBeStored: false)
    }

    private static func token(in authorization: SecretBytes) -> SecretBytes? {
        unsafe authorization.withUnsafeBytes { bytes in
            guard unsafe bytes.starts(with: scheme.utf8) else { return nil }
            return unsafe SecretBytes(bytes.dropFirst(scheme.utf8.count))
        }
    }
}

/// Listens at a random port of 127.0.0.1 for those who come for an offer, from the first that asks for the
/// port on.
actor OfferServer {
    static let host = "127.0.0.1"

    private let offer: OneTimeOffer
    private var listening: Task<LoopbackServer, any Error>?

    init(_ offer: OneTimeOffer) {
        self.offer = offer
    }

    /// The port that is listened at, from the first call on until `close()`.
    ///
    /// - Throws: `SocketError` where there is no port to be had.
    func port() async throws -> Int {
        if let listening { return try await listening.value.address.port }
        let starting = Task { [offer] in
            try await LoopbackServer(
                LoopbackAddress("\(Self.host):0"), limits: Self.limits,
                logger: Logger(label: "offer") { _ in SwiftLogNoOpLogHandler() },
                answerAtOnce: { offer.answer($0) })
        }
        listening = starting
        do {
            return try await starting.value.address.port
        } catch {
            listening = nil
            throw error
        }
    }

    /// Patient ones: a busy machine must not pass for a peer that holds it up. Who asks gives up before.
    private static var limits: LoopbackServer.Limits {
        var limits = LoopbackServer.Limits()
        limits.time = .seconds(120)
        return limits
    }

    /// The port, if it is listened at.
    func openPort() async -> Int? {
        try? await listening?.value.address.port
    }

    /// Stops listening, and forgets what was offered.
    func close() async {
        offer.withdraw()
        let server = try? await listening.take()?.value
        await server?.close()
    }
}
