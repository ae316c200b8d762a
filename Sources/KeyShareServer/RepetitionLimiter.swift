internal import Logging
internal import NIOCore

/// A log of events that peers can cause as often as they like: each kind is logged at most once a second, with the
/// number of events since the last line, so that no peer can fill a disk.
///
/// It is used on the server's one event loop only.
final class RepetitionLimiter {
    private struct Kind {
        var level: Logger.Level
        var metadata: Logger.Metadata
        /// The events since the last line.
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

    /// Logs an event at once, or counts it for the line that follows within a second.
    ///
    /// - Parameters:
    ///   - level: The level of the line.
    ///   - message: The kind of event.
    ///   - metadata: The fields of this event; a line about several has those of the last.
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
