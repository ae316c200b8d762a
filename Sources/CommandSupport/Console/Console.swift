internal import Diagnostics
package import Foundation
internal import Glibc

/// Where a command writes: data to standard output, everything else to standard error.
package struct Console: Sendable {
    /// How much a command tells on standard error.
    package enum Verbosity: Int, Sendable, Comparable {
        case quiet, normal, verbose

        package static func < (left: Verbosity, right: Verbosity) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether standard output carries one JSON document in place of text.
    package let isJSON: Bool
    /// How much the command tells on standard error.
    package let verbosity: Verbosity
    /// Whether text may be coloured: standard output is a terminal and `NO_COLOR` is not set.
    package let hasColor: Bool
    /// Whether progress may be shown: both outputs are terminals, and neither `--json` nor `--quiet` was given.
    package let hasProgress: Bool

    /// A console on the standard descriptors of this process.
    ///
    /// - Parameters:
    ///   - isJSON: whether the answer is one JSON document.
    ///   - verbosity: how much goes to standard error.
    ///   - environment: the variables of the process, of which `NO_COLOR` matters (no-color.org).
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
            // The error of the system says more than Foundation's, which hides it.
            let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            let reason = underlying.map { unsafe String(cString: strerror(Int32($0.code))) }
            throw CommandFailure(
                .inputOutput, "cannot write to standard output: \(reason ?? error.localizedDescription)")
        }
    }

    /// Writes a value as the one JSON document of this run, or as one of several.
    ///
    /// - Parameters:
    ///   - value: the value that is encoded.
    ///   - onOneLine: whether the document stands on one line, as each of several documents does.
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func document(_ value: some Encodable, onOneLine: Bool = false) throws(CommandFailure) {
        let bytes: Data
        do {
            bytes = try DocumentCoding.encode(value, onOneLine: onOneLine)
        } catch {
            throw CommandFailure(.unexpected, "cannot encode the answer: \(error)")
        }
        try write(bytes + Data("\n".utf8))
    }

    /// Presents the answer of a command: one JSON document under `--json`, and text otherwise. The document gets
    /// the key `error` where the command failed.
    ///
    /// - Parameters:
    ///   - document: the answer as a document, for `--json`.
    ///   - failure: why the command fails, although it has an answer; nil where it succeeds.
    ///   - failures: the failures to tell the user of, after the answer; nil for `failure` alone.
    ///   - text: writes the answer as text.
    /// - Throws: `failure`, marked as reported; `CommandFailure` (74) when standard output does not take the answer;
    ///   what `text` throws.
    package func present(
        _ document: some Encodable, failure: CommandFailure? = nil, telling failures: [CommandFailure]? = nil,
        text: () throws -> Void
    ) throws {
        if isJSON {
            try self.document(AnsweredDocument(document: document, failure: failure))
        } else {
            try text()
        }
        for told in failures ?? [failure].compactMap(\.self) { Self.failure(told) }
        if let failure { throw failure.reported }
    }

    /// Tells the user something that is not data; silent under `--quiet`.
    package func note(_ line: String) {
        if verbosity >= .normal { Self.standardError(line) }
    }

    /// Tells a detail that only `--verbose` shows.
    package func detail(_ line: String) {
        if verbosity >= .verbose { Self.standardError(line) }
    }

    /// The width of the terminal on standard error, in characters; eighty where there is no terminal.
    var columns: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Shows a status line, which the next one overwrites; nil removes it. Does nothing where progress is off.
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

    /// Writes a line to standard error, whatever the verbosity; for failures and warnings.
    package static func standardError(_ line: String) {
        say(line.visible(keepingLineFeeds: true) + "\n")
    }

    /// Writes text to standard error as it is, such as a question. An error is ignored: there is no other place to
    /// report it.
    package static func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Tells what went wrong and what to do about it, whatever the verbosity.
    ///
    /// - Parameters:
    ///   - failure: what went wrong.
    ///   - name: the name before the message; nil for the name of the running command.
    package static func failure(_ failure: CommandFailure, of name: String? = nil) {
        standardError("\(name ?? CommandMain.programName): \(failure.message)")
        if let hint = failure.hint { standardError("hint: \(hint)") }
    }
}
