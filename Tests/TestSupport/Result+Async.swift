extension Result where Failure == any Error {
    /// Keeps what the asynchronous `body` returns or throws, so that a test can clean up before it looks.
    package init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
