internal import DeviceSimulation
internal import KeyShareProtocol
internal import PersistentToken

extension UserPresence {
    /// Asks the user for consent, and waits for the answer.
    ///
    /// - Parameters:
    ///   - timeout: How long the prompt waits.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    /// - Throws: `TokenError.Code.canceledByUser`, with an obstacle that identifies the answer; the errors of
    ///   `request`.
    func require(
        timeout: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async throws {
        switch try await request(timeout: timeout, sleep: sleep) {
        case .confirmed: return
        case .denied:
            throw TokenError(.canceledByUser, "the user declined", obstacle: .userDenied)
        case .canceled:
            throw TokenError(.canceledByUser, "the user dismissed the prompt", obstacle: .userCanceled)
        case .timedOut:
            throw TokenError(.canceledByUser, "the user did not respond in time", obstacle: .userTimedOut)
        }
    }
}
