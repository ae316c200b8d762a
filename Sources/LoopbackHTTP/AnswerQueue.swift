internal import NIOCore

/// The answers of a `LoopbackServer` that are being made or wait to be made, in the order of their requests.
///
/// An answer belongs to its connection: when that ends, the answer is not begun, or is cancelled. There are no more of
/// them than connections, so that nothing else bounds those that wait. It is used on the server's one event loop only.
final class AnswerQueue {
    private struct Entry {
        var make: @Sendable () async -> HTTPAnswer
        var done: (HTTPAnswer) -> Void
        var task: Task<Void, Never>?
    }

    private let limit: Int
    private let eventLoop: any EventLoop
    private var entries: [Int: Entry] = [:]
    /// The numbers of the answers that wait, and of some that were cancelled.
    private var waiting = CircularBuffer<Int>()
    private var underWay = 0
    private var lastNumber = 0

    /// Makes an empty queue.
    ///
    /// - Parameter limit: The number of answers that are made at a time.
    init(limit: Int, on eventLoop: any EventLoop) {
        self.limit = max(limit, 1)
        self.eventLoop = eventLoop
    }

    /// Has an answer made in its turn.
    ///
    /// - Parameters:
    ///   - make: Makes the answer, off the event loop.
    ///   - done: Receives it on the event loop, unless it is cancelled.
    /// - Returns: The number by which it can be cancelled.
    func submit(
        _ make: @escaping @Sendable () async -> HTTPAnswer, done: @escaping (HTTPAnswer) -> Void
    ) -> Int {
        lastNumber += 1
        entries[lastNumber] = Entry(make: make, done: done)
        waiting.append(lastNumber)
        beginNext()
        return lastNumber
    }

    /// Drops an answer that nobody waits for any more. It has no effect on one that was given.
    func cancel(_ number: Int) {
        entries.removeValue(forKey: number)?.task?.cancel()
        while let first = waiting.first, entries[first] == nil { waiting.removeFirst() }
    }

    private func beginNext() {
        while underWay < limit, let number = waiting.popFirst() {
            guard let make = entries[number]?.make else { continue }
            underWay += 1
            let box = NIOLoopBound(self, eventLoop: eventLoop)
            entries[number]?.task = Task { [eventLoop] in
                let answer = Task.isCancelled ? nil : await make()
                eventLoop.execute { box.value.finish(number, answer) }
            }
        }
    }

    private func finish(_ number: Int, _ answer: HTTPAnswer?) {
        underWay -= 1
        let entry = entries.removeValue(forKey: number)
        beginNext()
        if let answer { entry?.done(answer) }
    }
}
