import ArgumentParser
import CommandSupport
import Logging

/// The format and the level of the provider's log.
struct LogOptions: ParsableArguments {
    /// The formats of the log.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text
        case json
    }

    /// The lowest levels of messages that the log can contain.
    enum Level: String, ExpressibleByArgument, CaseIterable {
        case error
        case warning
        case info
        case debug

        var value: Logger.Level {
            switch self {
            case .error: .error
            case .warning: .warning
            case .info: .info
            case .debug: .debug
            }
        }
    }

    @Option(
        help: ArgumentHelp(
            "The format of the log on standard error: text, or json with one object per line. (default: text)",
            valueName: "format"))
    var logFormat: Format?

    @Option(
        help: ArgumentHelp(
            "The lowest level of messages in the log; info includes a line for each request. (default: info with --log-format json, otherwise warning)",
            valueName: "level"))
    var logLevel: Level?

    /// Whether every answered request is logged.
    var logsRequests: Bool { (logLevel?.value ?? (logFormat == .json ? .info : .warning)) <= .info }

    /// Starts the writer of the log.
    func writer() -> LineWriter {
        guard logFormat == .json else { return LineWriter() }
        return LineWriter { JSONLogHandler.line(.warning, LineWriter.droppedText($0)) }
    }

    /// Returns the logger. `--log-level` takes precedence over `--quiet` and `--verbose`.
    func logger(_ verbosity: Console.Verbosity, _ log: LineWriter) -> Logger {
        var logger = Logger(label: "keyshare-provider") { label in
            guard logFormat == .json else { return StreamLogHandler(label: label, stream: log) }
            return JSONLogHandler(log)
        }
        let usual: Logger.Level =
            switch verbosity {
            case .quiet: .error
            case .normal: logFormat == .json ? .info : .warning
            case .verbose: .debug
            }
        logger.logLevel = logLevel?.value ?? usual
        return logger
    }
}
