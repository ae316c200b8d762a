private import Synchronization

extension Collection where Self: Sendable, Element: Sendable {
    /// Applies `transform` to every element, several at a time, and returns the results in the order of the elements.
    ///
    /// Reading and writing many PKCS #12 files takes its time in OpenSSL, so that one core for each file pays. Other tasks of
    /// the executor have their turns between two elements.
    ///
    /// - Parameter width: How many elements are transformed at a time; less than 1 counts as 1.
    /// - Throws: The first error that `transform` throws; `CancellationError` where the task is cancelled, before the next
    ///   element. Elements that are being transformed then are finished, and
    ///   their results are dropped.
    package func concurrentMap<Result: Sendable>(
        width: Int, _ transform: @escaping @Sendable (Element) throws -> Result
    ) async throws -> [Result] {
        let elements = Array(self)
        let cursor = Cursor(end: elements.count)
        return try await withThrowingTaskGroup(of: [(Int, Result)].self) { group in
            // Each task takes the next element itself. If one task handed them out, each element would wait for its turn.
            for _ in 0..<Swift.min(Swift.max(width, 1), elements.count) {
                group.addTask {
                    var results: [(Int, Result)] = []
                    while let index = cursor.next() {
                        try Task.checkCancellation()
                        results.append((index, try transform(elements[index])))
                        await Task.yield()
                    }
                    return results
                }
            }
            var results = [Result?](repeating: nil, count: elements.count)
            for try await part in group {
                for (index, result) in part { results[index] = result }
            }
            return results.compactMap(\.self)
        }
    }
}

/// The places of elements, each of which is given out once.
private final class Cursor: Sendable {
    private let place = Atomic(0)
    private let end: Int

    init(end: Int) {
        self.end = end
    }

    /// The next place; nil behind the last one.
    func next() -> Int? {
        let place = place.add(1, ordering: .relaxed).oldValue
        return place < end ? place : nil
    }
}
