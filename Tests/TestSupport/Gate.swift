import Synchronization

/// A gate at which tasks wait until a test opens it. The test can also wait until a task has reached the gate.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var hasArrival = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watching: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    package init() {}

    /// Waits until the gate is open.
    package func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watching) = state.withLock { state in
                state.hasArrival = true
                if !state.isOpen {
                    state.waiting.append(continuation)
                }
                defer { state.watching = [] }
                return (state.isOpen, state.watching)
            }
            if isOpen {
                continuation.resume()
            }
            watching.forEach { $0.resume() }
        }
    }

    /// Waits until a task has reached the gate.
    package func arrival() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if !state.hasArrival {
                    state.watching.append(continuation)
                }
                return state.hasArrival
            }
            if isThere {
                continuation.resume()
            }
        }
    }

    /// Opens the gate permanently.
    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        waiting.forEach { $0.resume() }
    }
}
