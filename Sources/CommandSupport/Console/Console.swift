internal import Diagnostics
package import Foundation
internal import Glibc

/// Writes a command's output: data to standard output, everything else to standard error.
package struct Console: Sendable {
    /// The amount of output on standard error.
    package enum Verbosity: Int, Sendable, Comparable {
        case quiet, normal, verbose

        package static func < (left: Verbosity, right: Verbosity) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether standard output contains one JSON document instead of text.
    package let isJSON: Bool
    /// The amount of output on standard error.
    package let verbosity: Verbosity
    /// Whether text may be coloured: standard output is a terminal and `NO_COLOR` is not set.
    package let hasColor: Bool
    /// Whether `--wide` was given: tables are never narrowed to the terminal.
    package let isWide: Bool
    /// The number of terminal columns for tables. Nil means that nothing is shortened: standard output is not a
    /// terminal and `COLUMNS` is not set, or `--wide` was given.
    package let width: Int?
    /// The columns of the terminal on standard error, or the value of `COLUMNS`; nil if neither is known.
    let errorWidth: Int?
    /// Whether progress may be shown: standard error is a terminal, `--quiet` was not given and `NO_COLOR` is not set.
    package let hasProgress: Bool

    /// The environment variables that affect a console, if they are set and not empty.
    package static var variables: [String: String] {
        var variables: [String: String] = [:]
        for name in ["NO_COLOR", "COLUMNS"] { variables[name] = DeviceOptions.environment(name) }
        return variables
    }

    /// Creates a console for this process's standard descriptors.
    ///
    /// - Parameters:
    ///   - isJSON: Whether the output is one JSON document.
    ///   - verbosity: The amount of output on standard error.
    ///   - isWide: Whether tables keep their full width on every terminal.
    ///   - environment: The environment variables. Only `NO_COLOR` (no-color.org) and `COLUMNS` are used.
    package init(isJSON: Bool, verbosity: Verbosity, isWide: Bool = false, environment: [String: String]) {
        self.isJSON = isJSON
        self.verbosity = verbosity
        self.isWide = isWide
        let named = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        width = isWide ? nil : named ?? Self.columns(of: STDOUT_FILENO)
        errorWidth = named ?? Self.columns(of: STDERR_FILENO)
        let plain = !(environment["NO_COLOR"] ?? "").isEmpty
        hasColor = !plain && isatty(STDOUT_FILENO) == 1
        hasProgress = !plain && verbosity > .quiet && isatty(STDERR_FILENO) == 1
    }

    /// Writes a line of data. Leading line feeds produce blank lines. All other line feeds are escaped, because
    /// untrusted text could otherwise forge a line of output.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func data(_ line: String) throws(CommandFailure) {
        try write(Data((Self.oneLine(line) + "\n").utf8))
    }

    /// Writes text of several lines, or nothing if the text is empty. The caller must have processed all untrusted
    /// values in the text with `String.visible`, as ``Table`` does.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func lines(_ text: String) throws(CommandFailure) {
        guard !text.isEmpty else { return }
        try write(Data((text.visible(keepingLineFeeds: true) + "\n").utf8))
    }

    private static func oneLine(_ line: String) -> String {
        let blank = line.unicodeScalars.prefix { $0 == "\n" }
        return String(blank) + String(line.unicodeScalars[blank.endIndex...]).visible
    }

    /// Writes raw bytes, such as a file.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written. The code is 141, and the failure is not
    ///   printed, if the reader closed standard output, as `head` does.
    package func write(_ bytes: Data) throws(CommandFailure) {
        do {
            try FileHandle.standardOutput.write(contentsOf: bytes)
        } catch {
            // Foundation's error hides the more specific system error.
            let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            if underlying?.domain == NSPOSIXErrorDomain, underlying?.code == Int(EPIPE) {
                throw CommandFailure(.closedOutput, "standard output was closed").reported
            }
            let reason = underlying.map { unsafe String(cString: strerror(Int32($0.code))) }
            throw CommandFailure(
                .inputOutput, "cannot write to standard output: \(reason ?? error.localizedDescription)")
        }
    }

    /// Writes a value as the only JSON document of this run, or as one of several.
    ///
    /// - Parameters:
    ///   - value: The value to encode.
    ///   - onOneLine: Whether to write the document on one line, as each of several documents is.
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func document(_ value: some Encodable, onOneLine: Bool = false) throws(CommandFailure) {
        let bytes: Data
        do {
            bytes = try DocumentCoding.encode(value, onOneLine: onOneLine)
        } catch {
            throw CommandFailure(.unexpected, "cannot encode the JSON document: \(error)")
        }
        try write(bytes + Data("\n".utf8))
    }

    /// Prints the result of a command: one JSON document under `--json`, and text otherwise. If the command failed, the
    /// document also contains the key `error`.
    ///
    /// - Parameters:
    ///   - document: The result as a document, for `--json`.
    ///   - failure: The failure of a command that also has a result; nil if the command succeeds.
    ///   - failures: The failures to print after the result; nil for only `failure`.
    ///   - text: A function that writes the result as text.
    /// - Throws: `failure`, marked as reported; `CommandFailure` (74) if standard output cannot be written; the errors
    ///   of `text`.
    package func present(
        _ document: some Encodable, failure: CommandFailure? = nil,
        reporting failures: [CommandFailure]? = nil,
        text: () throws -> Void
    ) throws {
        if isJSON {
            try self.document(AnsweredDocument(document: document, failure: failure))
        } else {
            try text()
        }
        for reported in failures ?? [failure].compactMap(\.self) { Self.failure(reported) }
        if let failure { throw failure.reported }
    }

    /// Prints a note to standard error, unless `--quiet` was given.
    package func note(_ line: String) {
        if verbosity >= .normal { Self.standardError(line) }
    }

    /// Prints a note through `log` without waiting, unless `--quiet` was given.
    package func note(_ line: String, to log: LineWriter) {
        if verbosity >= .normal { log.write(line.visible(keepingLineFeeds: true) + "\n") }
    }

    /// Prints a detail to standard error if `--verbose` was given.
    package func detail(_ line: String) {
        if verbosity >= .verbose { Self.standardError(line) }
    }

    /// Returns the number of columns of a descriptor's terminal; nil if it is not a terminal (ioctl_tty(2)).
    static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Shows a status line, which the next call overwrites; nil removes it. Does nothing if progress is off. The line
    /// is truncated to the terminal's width, because a second line would not be overwritten.
    package func progress(_ line: String?) {
        guard hasProgress else { return }
        // The last column stays free, because some terminals wrap after writing to it.
        Self.say("\r\u{1B}[K\((line ?? "").prefix(max((errorWidth ?? 80) - 1, 0)))")
    }

    /// Writes a table that fits the terminal, or nothing if the table has no rows.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - isDimmed: Whether to dim the row with this index if colour is on.
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func table(
        _ table: Table, isDimmed: (Int) -> Bool = { _ in false }
    ) throws(CommandFailure) {
        let lines = table.lines(fitting: width)
        guard hasColor else {
            return lines.isEmpty ? () : try self.lines(lines.map(\.text).joined(separator: "\n"))
        }
        for line in lines {
            if line.row.map(isDimmed) == true {
                try dimmed(line.text)
            } else {
                try data(line.text)
            }
        }
    }

    /// Returns a label for running text. On a terminal, the label is shortened to sixteen characters and an ellipsis;
    /// every command accepts this form. Otherwise, the label is unchanged.
    package func abbreviated(_ label: String) -> String {
        width == nil || label.count <= 17 ? label : label.prefix(16) + "\u{2026}"
    }

    /// Writes a line of data, dimmed if colour is on.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func dimmed(_ line: String) throws(CommandFailure) {
        guard hasColor else { return try data(line) }
        try write(Data("\u{1B}[2m\(Self.oneLine(line))\u{1B}[0m\n".utf8))
    }

    /// Writes a line to standard error regardless of the verbosity, for failures and warnings. Line feeds in it are
    /// escaped, because untrusted text could otherwise forge a hint. On a terminal the line is wrapped between words.
    package static func standardError(_ line: String) {
        say(fitted(line.visible, to: columns(of: STDERR_FILENO)) + "\n")
    }

    /// Wraps a line for standard error to the terminal. The command in a hint is not wrapped, so that it can be pasted.
    ///
    /// - Parameter width: The columns of the terminal; nil if there is no terminal.
    static func fitted(_ line: String, to width: Int?) -> String {
        guard let width, line.columnCount > width else { return line }
        if line.hasPrefix("hint: "), let start = line.range(of: "keyshare-", options: .backwards)?.lowerBound
        {
            let words = line[..<start].dropLast().wrapped(to: width)
            return words.joined(separator: "\n") + "\n  " + line[start...]
        }
        return line.wrapped(to: width).joined(separator: "\n")
    }

    /// Writes text, such as a question, to standard error unchanged. Errors are ignored, because they could not be
    /// reported anywhere else.
    package static func say(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Prints a failure and its hint regardless of the verbosity.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - name: The name before the message; nil for the name of the running command.
    package static func failure(_ failure: CommandFailure, of name: String? = nil) {
        standardError("\(name ?? CommandMain.programName): \(failure.message)")
        if let hint = failure.hint { standardError("hint: \(PasteableHint.complete(hint))") }
    }
}
