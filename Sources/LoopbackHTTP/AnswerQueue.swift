internal import NIOCore

/// The responses of a `LoopbackServer` that are in progress or waiting, in the order of their requests.
///
/// When a connection ends, its response is removed from the queue, or cancelled if it is in progress. Each connection
/// has at most one response, so the limit on connections also limits the queue. Use the queue only on the server's
/// event loop.
final class AnswerQueue {
    private struct Entry {
        var make: @Sendable () async -> HTTPAnswer
        var done: (HTTPAnswer) -> Void
        var task: Task<Void, Never>?
    }

    private let limit: Int
    private let eventLoop: any EventLoop
    private var entries: [Int: Entry] = [:]
    /// The numbers of the waiting responses, in order. Numbers of cancelled responses may remain in the queue.
    private var waiting = CircularBuffer<Int>()
    private var underWay = 0
    private var lastNumber = 0

    /// Creates an empty queue.
    ///
    /// - Parameter limit: The maximum number of responses in progress.
    init(limit: Int, on eventLoop: any EventLoop) {
        self.limit = max(limit, 1)
        self.eventLoop = eventLoop
    }

    /// Queues a response.
    ///
    /// - Parameters:
    ///   - make: Creates the response. It runs as a task, not on the event loop.
    ///   - done: Receives the response on the event loop, unless it is cancelled.
    /// - Returns: The number of the response, to pass to `cancel(_:)`.
    func submit(
        _ make: @escaping @Sendable () async -> HTTPAnswer, done: @escaping (HTTPAnswer) -> Void
    ) -> Int {
        lastNumber += 1
        entries[lastNumber] = Entry(make: make, done: done)
        waiting.append(lastNumber)
        beginNext()
        return lastNumber
    }

    /// Cancels a response that is no longer needed. Has no effect after the response was delivered.
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
