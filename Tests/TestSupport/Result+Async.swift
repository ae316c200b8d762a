extension Result where Failure == any Error {
    /// Stores the result or error of the asynchronous `body`, so that a test can clean up before it checks
    /// it.
    package init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
