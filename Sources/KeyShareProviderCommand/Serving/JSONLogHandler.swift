import CommandSupport
import Foundation
import Logging

/// Writes each log message as a JSON object on a line of its own, with the keys `time`, `level`, `event` and those of
/// the message's metadata.
struct JSONLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    private let log: LineWriter
    private let now: @Sendable () -> Date

    /// Creates a handler that writes to `log`.
    init(_ log: LineWriter, now: @escaping @Sendable () -> Date = { Date() }) {
        self.log = log
        self.now = now
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { $1 }
        log.write(Self.line(event.level, event.message.description, fields, at: now()) + "\n")
    }

    /// Returns a message as one JSON object, without a line feed.
    static func line(
        _ level: Logger.Level, _ message: String, _ fields: Logger.Metadata = [:], at time: Date = Date()
    ) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = Line(time: time, level: level, message: message, fields: fields)
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

/// A message with its metadata, as one JSON object.
private struct Line: Encodable {
    let time: Date
    let level: Logger.Level
    let message: String
    let fields: Logger.Metadata

    /// The keys whose values are numbers, although the server logs them as text outside of request lines.
    private static let numericKeys: Set = ["connection", "pid", "request"]

    /// The value of a metadata entry as a number; nil if it is written as a string.
    private static func number(_ key: String, _ value: Logger.MetadataValue) -> Int? {
        switch value {
        case .stringConvertible(let number as Int): number
        case .string(let text) where numericKeys.contains(key): Int(text)
        default: nil
        }
    }

    /// A key of the object: a fixed one, or that of a metadata entry.
    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        // The fixed keys come last, so that no metadata can replace them.
        for (key, value) in fields {
            let codingKey = Key(stringValue: key)
            if let number = Self.number(key, value) {
                try container.encode(number, forKey: codingKey)
            } else {
                try container.encode("\(value)", forKey: codingKey)
            }
        }
        try container.encode(
            time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            forKey: Key(stringValue: "time"))
        try container.encode(level.rawValue, forKey: Key(stringValue: "level"))
        try container.encode(message, forKey: Key(stringValue: "event"))
    }
}
