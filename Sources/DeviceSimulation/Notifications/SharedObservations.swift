internal import PrivateFiles
internal import SimulatedKeychain
private import Synchronization

extension Notifications {
    /// Starts observing `name`, like ``observe(_:)``. All tasks of this process that observe a name of a device in this
    /// way share one inotify instance, because a user has only 128 of them by default (inotify(7)).
    ///
    /// The stream has one buffered element, which represents all unread notifications. It ends when the waiting task is
    /// cancelled or the device's folder is removed.
    ///
    /// - Throws: `FileError`, like ``observe(_:)``.
    func observeShared(_ name: NotificationName) throws(FileError) -> AsyncStream<Void> {
        try SharedObservations.join(try path(name)) { () throws(FileError) in try observe(name) }
    }
}

/// The observations of this process that several tasks share, keyed by the path of the notification.
private enum SharedObservations {
    private struct Source: Sendable {
        /// Distinguishes this source from earlier ones of the same path.
        let number: Int
        /// Forwards the notifications to the observers.
        let task: Task<Void, Never>
        var observers: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private struct Registry: Sendable {
        var sources: [String: Source] = [:]
        /// The number of the latest source or observer.
        var lastNumber = 0
    }

    private static let registry = Mutex(Registry())

    /// Adds an observer. The first one calls `observe`.
    static func join(
        _ path: String, _ observe: () throws(FileError) -> Observations
    ) throws(FileError) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        try registry.withLock { registry throws(FileError) in
            if registry.sources[path] == nil {
                let observations = try observe()
                registry.lastNumber += 1
                let number = registry.lastNumber
                let task = Task {
                    for await _ in observations { notify(path) }
                    end(path, number)
                }
                registry.sources[path] = Source(number: number, task: task)
            }
            registry.lastNumber += 1
            let observer = registry.lastNumber
            continuation.onTermination = { _ in leave(path, observer) }
            registry.sources[path]?.observers[observer] = continuation
        }
        return stream
    }

    /// Wakes all observers.
    private static func notify(_ path: String) {
        let observers = registry.withLock { registry in
            registry.sources[path].map { Array($0.observers.values) } ?? []
        }
        for observer in observers { observer.yield() }
    }

    /// Removes an observer. The last one ends the observation.
    private static func leave(_ path: String, _ observer: Int) {
        let task = registry.withLock { registry -> Task<Void, Never>? in
            guard registry.sources[path]?.observers.removeValue(forKey: observer) != nil,
                registry.sources[path]?.observers.isEmpty == true
            else { return nil }
            return registry.sources.removeValue(forKey: path)?.task
        }
        task?.cancel()
    }

    /// Ends the streams of all observers after the device's folder was removed.
    private static func end(_ path: String, _ number: Int) {
        let ended = registry.withLock { registry -> Source? in
            guard registry.sources[path]?.number == number else { return nil }
            return registry.sources.removeValue(forKey: path)
        }
        // Each stream calls `leave` when it ends, so the lock must not be held.
        guard let ended else { return }
        for observer in ended.observers.values { observer.finish() }
    }
}
