internal import Diagnostics
package import Foundation
internal import Glibc

/// Where a command writes: data to standard output, everything else to standard error.
package struct Console: Sendable {
    /// How much goes to standard error.
    package enum Verbosity: Int, Sendable, Comparable {
        case quiet, normal, verbose

        package static func < (left: Verbosity, right: Verbosity) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether standard output carries one JSON document in place of text.
    package let isJSON: Bool
    package let verbosity: Verbosity
    /// Whether text may be coloured: standard output is a terminal and `NO_COLOR` is not set.
    package let hasColor: Bool
    /// Whether progress may be shown: both outputs are terminals, and nobody asked for JSON or to be quiet.
    package let hasProgress: Bool

    package init(isJSON: Bool, verbosity: Verbosity, environment: [String: String]) {
        self.isJSON = isJSON
        self.verbosity = verbosity
        let plain = !(environment["NO_COLOR"] ?? "").isEmpty
        hasColor = !plain && isatty(STDOUT_FILENO) == 1
        hasProgress =
            !plain && !isJSON && verbosity > .quiet && isatty(STDERR_FILENO) == 1
            && isatty(STDOUT_FILENO) == 1
    }

    /// Writes a line of data.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func data(_ line: String) throws(CommandFailure) {
        try write(Data((line.visible(keepingLineFeeds: true) + "\n").utf8))
    }

    /// Writes raw bytes of data, such as a file.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take them.
    package func write(_ bytes: Data) throws(CommandFailure) {
        do {
            try FileHandle.standardOutput.write(contentsOf: bytes)
        } catch {
            // The system's own word, which Foundation hides behind a number of its own.
            let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            let reason = underlying.map { unsafe String(cString: strerror(Int32($0.code))) }
            throw CommandFailure(
                .inputOutput, "cannot write to standard output: \(reason ?? error.localizedDescription)")
        }
    }

    /// Writes a value as the one JSON document of this run, or as one of several.
    ///
    /// - Parameter onOneLine: for several: each is a line then.
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func document(_ value: some Encodable, onOneLine: Bool = false) throws(CommandFailure) {
        let bytes: Data
        do {
            let encoder = Self.encoder
            if onOneLine { encoder.outputFormatting.remove(.prettyPrinted) }
            bytes = try encoder.encode(value)
        } catch {
            throw CommandFailure(.unexpected, "cannot encode the answer: \(error)")
        }
        try write(bytes + Data("\n".utf8))
    }

    /// Tells the user something that is not data; silent under `--quiet`.
    package func note(_ line: String) {
        if verbosity >= .normal { Self.standardError(line) }
    }

    /// Tells a detail that only `--verbose` shows.
    package func detail(_ line: String) {
        if verbosity >= .verbose { Self.standardError(line) }
    }

    /// The terminal's width, of standard error; eighty where it does not say.
    var columns: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// A status line that is overwritten by the next one; nothing where progress is off.
    package func progress(_ line: String?) {
        guard hasProgress else { return }
        Self.say("\r\u{1B}[K\(line ?? "")")
    }

    /// Writes a line of data, dimmed where colour is on.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func dimmed(_ line: String) throws(CommandFailure) {
        guard hasColor else { return try data(line) }
        try write(Data("\u{1B}[2m\(line.visible(keepingLineFeeds: true))\u{1B}[0m\n".utf8))
    }

    /// Writes a line to standard error whatever the verbosity; for failures.
    package static func standardError(_ line: String) {
        say(line.visible(keepingLineFeeds: true) + "\n")
    }

    /// Writes to standard error as it is, such as a question; where that is closed or full nobody can be told.
    package static func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Says what went wrong and what to do, whatever the verbosity.
    ///
    /// - Parameter name: who says it; nil for the command itself.
    package static func failure(_ failure: CommandFailure, of name: String? = nil) {
        standardError("\(name ?? CommandMain.programName): \(failure.message)")
        if let hint = failure.hint { standardError("hint: \(hint)") }
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.utcText)
        }
        return encoder
    }
}

extension Date {
    /// ISO 8601 in UTC to the second, as every output shows times.
    package var utcText: String {
        formatted(.iso8601)
    }
}
