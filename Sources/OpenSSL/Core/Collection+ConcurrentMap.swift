extension Collection where Self: Sendable, Element: Sendable {
    /// What `transform` makes of every element, in order, with `width` of them at work at a time.
    ///
    /// - Throws: the first error a transformation throws; the others are let finish and forgotten.
    package func concurrentMap<Result: Sendable>(
        width: Int, _ transform: @escaping @Sendable (Element) throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results = [Result?](repeating: nil, count: count)
            var pending = enumerated().makeIterator()
            func start() {
                guard let (index, element) = pending.next() else { return }
                group.addTask { (index, try transform(element)) }
            }
            for _ in 0..<Swift.max(width, 1) { start() }
            while let (index, result) = try await group.next() {
                results[index] = result
                start()
            }
            return results.compactMap(\.self)
        }
    }
}
