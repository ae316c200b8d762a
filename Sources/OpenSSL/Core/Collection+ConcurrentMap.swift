extension Collection where Self: Sendable, Element: Sendable {
    /// Applies `transform` to every element, several at a time, and returns the results in the order of the elements.
    ///
    /// Reading and writing many PKCS #12 files takes its time in OpenSSL, so that one core for each file pays.
    ///
    /// - Parameter width: How many elements are transformed at a time; less than 1 counts as 1.
    /// - Throws: The first error that `transform` throws; `CancellationError` where the task is cancelled, before the next
    ///   element. Elements that are being transformed then are finished, and
    ///   their results are dropped.
    package func concurrentMap<Result: Sendable>(
        width: Int, _ transform: @escaping @Sendable (Element) throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results = [Result?](repeating: nil, count: count)
            var pending = enumerated().makeIterator()
            func startNext() {
                guard let (index, element) = pending.next() else { return }
                group.addTask {
                    try Task.checkCancellation()
                    return (index, try transform(element))
                }
            }
            for _ in 0..<Swift.max(width, 1) { startNext() }
            while let (index, result) = try await group.next() {
                results[index] = result
                startNext()
            }
            return results.compactMap(\.self)
        }
    }
}
