internal import LocalSockets
internal import Logging
internal import LoopbackHTTP

/// The server of a `OneTimeOffer` on a random port of 127.0.0.1. The first call of `port()` starts it.
actor OfferServer {
    /// The address that the server listens on.
    static let host = "127.0.0.1"

    private let offer: OneTimeOffer
    private var listening: Task<LoopbackServer, any Error>?

    /// Creates the server of `offer`. It does not listen yet.
    init(_ offer: OneTimeOffer) {
        self.offer = offer
    }

    /// Returns the port. The first call starts the server, which listens until `close()` is called.
    ///
    /// - Throws: `SocketError`: `addressInUse`, `system`.
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

    /// Limits with a long deadline, because a busy machine must not be mistaken for a slow peer. The client times out
    /// earlier.
    private static var limits: LoopbackServer.Limits {
        var limits = LoopbackServer.Limits()
        limits.time = .seconds(120)
        return limits
    }

    /// Returns the port if the server is listening, otherwise nil.
    func openPort() async -> Int? {
        try? await listening?.value.address.port
    }

    /// Stops listening and deletes the content of the offer.
    func close() async {
        offer.withdraw()
        let server = try? await listening.take()?.value
        await server?.close()
    }
}
