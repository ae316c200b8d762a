internal import LoopbackHTTP
internal import SecretMemory
internal import Synchronization

/// Content that is returned over HTTP only once, and only within one minute, for a request with the right token.
final class OneTimeOffer: Sendable {
    /// The path in the URL under which the content is offered.
    static let path = "/credential"
    /// The text before the token in `Authorization` (RFC 6750, 2.1).
    private static let scheme = "Bearer "
    /// How long the content is offered.
    private static let lifetime = Duration.seconds(60)

    private struct State {
        /// The content. Nil after it has been returned.
        var content: [UInt8]?
        let token: SecretBytes
        let end: ContinuousClock.Instant
    }

    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex<State?>(nil)

    /// Creates an empty offer. The clock `now` measures its lifetime of one minute.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.now = now
    }

    /// Creates the request that fetches the content with `token`, or without a token.
    static func request(token: SecretBytes?) -> HTTPRequest {
        HTTPRequest(method: .get, path: path, authorization: token.map(authorization))
    }

    /// Offers `content` to a request with `token`, replacing earlier content.
    func set(_ content: [UInt8], token: SecretBytes) {
        let end = now() + Self.lifetime
        state.withLock { $0 = State(content: content, token: token, end: end) }
        // Delete the content after one minute even if no request arrives.
        Task { [weak self] in
            try? await Task.sleep(until: end, clock: .continuous)
            self?.withdrawIfOver()
        }
    }

    /// Ends the offer and deletes the content.
    func withdraw() {
        state.withLock { $0 = nil }
    }

    /// Responds to a request:
    ///
    /// - 200 with the content
    /// - 401 without the right token
    /// - 404 for another path
    /// - 405 for another method
    /// - 410 if the content has already been returned
    func answer(_ request: HTTPRequest) -> HTTPResponse {
        guard request.path == Self.path else { return Self.response(404) }
        guard request.method == .get else { return Self.response(405) }
        guard let token = request.authorization.flatMap(Self.token) else { return Self.response(401) }
        withdrawIfOver()
        return state.withLock { state in
            guard let known = state?.token, token == known else { return Self.response(401) }
            guard let content = state?.content.take() else { return Self.response(410) }
            return Self.response(200, content)
        }
    }

    private func withdrawIfOver() {
        let now = now()
        state.withLock { state in
            if let end = state?.end, end <= now { state = nil }
        }
    }

    private static func response(_ status: Int, _ content: [UInt8] = []) -> HTTPResponse {
        HTTPResponse(
            status: status, contentType: "application/octet-stream", body: content, mayBeStored: false)
    }

    private static func authorization(_ token: SecretBytes) -> SecretBytes {
        let scheme = Array(scheme.utf8)
        return unsafe SecretBytes(capacity: scheme.count + token.count) { buffer in
            unsafe buffer.copyBytes(from: scheme)
            unsafe token.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[scheme.count...]).copyMemory(from: $0)
            }
            return scheme.count + token.count
        }
    }

    private static func token(in authorization: SecretBytes) -> SecretBytes? {
        unsafe authorization.withUnsafeBytes { bytes in
            guard unsafe bytes.starts(with: scheme.utf8) else { return nil }
            return unsafe SecretBytes(bytes.dropFirst(scheme.utf8.count))
        }
    }
}
