internal import Logging
internal import NIOCore

/// A log for events that clients can cause as often as they like. Each kind is logged at most once a second, with the
/// number of events since the last line, so that no client can fill a disk.
///
/// It is used only on the server's one event loop.
final class RepetitionLimiter {
    private struct Kind {
        var level: Logger.Level
        var metadata: Logger.Metadata
        /// The number of events since the last line.
        var count: Int
    }

    private let eventLoop: any EventLoop
    private let logger: Logger
    /// The kinds that were logged within the last second.
    private var recent: [String: Kind] = [:]

    init(_ eventLoop: any EventLoop, _ logger: Logger) {
        self.eventLoop = eventLoop
        self.logger = logger
    }

    /// Logs an event immediately, or counts it for the line that follows within a second.
    ///
    /// - Parameters:
    ///   - level: The level of the line.
    ///   - message: The kind of event.
    ///   - metadata: The fields of this event. A line about several events has the fields of the last one.
    func log(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) {
        guard recent[message] != nil else {
            write(level, message, metadata, count: 1)
            return
        }
        recent[message]?.count += 1
        recent[message]?.metadata = metadata
    }

    private func write(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, count: Int) {
        var metadata = metadata
        metadata["count"] = "\(count)"
        logger.log(level: level, "\(message)", metadata: metadata)
        recent[message] = Kind(level: level, metadata: metadata, count: 0)
        eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { [self] in
            guard let kind = recent.removeValue(forKey: message), kind.count > 0 else { return }
            write(kind.level, message, kind.metadata, count: kind.count)
        }
    }
}
