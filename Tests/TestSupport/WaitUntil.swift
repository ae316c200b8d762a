/// Waits until a condition is true, without sleeping.
///
/// - Parameters:
///   - limit: The longest wait.
///   - condition: The condition, which other tasks or threads make true.
/// - Returns: Whether the condition became true in time.
package func waitUntil(
    within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { return false }
        await Task.yield()
    }
    return true
}
