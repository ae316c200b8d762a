internal import DeviceSimulation
internal import PersistentToken

extension UserPresence {
    /// Asks the user to prove to be there, and waits for the end of the question.
    ///
    /// - Parameters:
    ///   - timeout: how long the question waits.
    ///   - sleep: waits; throws `CancellationError` where the task is cancelled.
    /// - Throws: `TokenError.Code.canceledByUser`, with an obstacle that says which answer it was; what `request` throws.
    func require(
        timeout: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async throws {
        switch try await request(timeout: timeout, sleep: sleep) {
        case .confirmed: return
        case .denied:
            throw TokenError(.canceledByUser, "the user did not agree", obstacle: .userDenied)
        case .canceled:
            throw TokenError(.canceledByUser, "the user closed the question", obstacle: .userCanceled)
        case .timedOut:
            throw TokenError(.canceledByUser, "the user did not answer in time", obstacle: .userTimedOut)
        }
    }
}
