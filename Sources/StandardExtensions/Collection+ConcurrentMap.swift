private import Synchronization

extension Collection where Self: Sendable, Element: Sendable {
    /// Applies `transform` to every element, several of them concurrently, and returns the results in the order of the
    /// elements.
    ///
    /// Use it for work that keeps a core busy, such as reading and writing many PKCS #12 files. Each task yields after
    /// an element, so that other tasks of the executor can run.
    ///
    /// - Parameter width: The maximum number of elements that are transformed concurrently; less than 1 counts as 1.
    /// - Throws: The first error that `transform` throws; `CancellationError` if the task is cancelled. Cancellation is
    ///   checked before each element. Elements in progress are finished, and their results are discarded.
    package func concurrentMap<Result: Sendable>(
        width: Int, _ transform: @escaping @Sendable (Element) throws -> Result
    ) async throws -> [Result] {
        let elements = Array(self)
        let cursor = Cursor(end: elements.count)
        return try await withThrowingTaskGroup(of: [(Int, Result)].self) { group in
            // Each task fetches the next element itself. If one task distributed the elements, it would have to be
            // scheduled before each of them.
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

/// Distributes the indices of the elements among tasks. Each index is returned once.
private final class Cursor: Sendable {
    private let place = Atomic(0)
    private let end: Int

    init(end: Int) {
        self.end = end
    }

    /// Returns the next index; nil after the last one.
    func next() -> Int? {
        let place = place.add(1, ordering: .relaxed).oldValue
        return place < end ? place : nil
    }
}
