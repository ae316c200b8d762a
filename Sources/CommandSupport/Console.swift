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
    /// Whether progress may be shown: standard error is a terminal that nobody asked to be quiet.
    package let hasProgress: Bool

    package init(isJSON: Bool, verbosity: Verbosity, environment: [String: String]) {
        self.isJSON = isJSON
        self.verbosity = verbosity
        let plain = !(environment["NO_COLOR"] ?? "").isEmpty
        hasColor = !plain && isatty(STDOUT_FILENO) == 1
        hasProgress = !plain && verbosity > .quiet && isatty(STDERR_FILENO) == 1
    }

    /// Writes a line of data.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func data(_ line: String) throws(CommandFailure) {
        try write(Data((line + "\n").utf8))
    }

    /// Writes raw bytes of data, such as a file.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take them.
    package func write(_ bytes: Data) throws(CommandFailure) {
        do {
            try FileHandle.standardOutput.write(contentsOf: bytes)
        } catch {
            throw CommandFailure(
                .inputOutput, "cannot write to standard output: \(error.localizedDescription)")
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

    /// A status line that is overwritten by the next one; nothing where progress is off.
    package func progress(_ line: String?) {
        guard hasProgress else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(line ?? "")".utf8))
    }

    /// Dimmed text, where colour is on.
    package func dimmed(_ text: String) -> String {
        hasColor ? "\u{1B}[2m\(text)\u{1B}[0m" : text
    }

    /// Writes a line to standard error whatever the verbosity; for failures.
    package static func standardError(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
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
