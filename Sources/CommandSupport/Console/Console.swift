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
    /// Whether `--wide` was given: tables are as wide as they are, whatever the terminal.
    package let isWide: Bool
    /// The columns of the terminal that tables are made to fit into; nil where nothing is shortened: standard output
    /// is no terminal and `COLUMNS` is not set, or `--wide` was given.
    package let width: Int?
    /// The columns of the terminal on standard error, or of `COLUMNS`; nil where there is neither.
    let errorWidth: Int?
    /// Whether progress may be shown: both outputs are terminals, and neither `--json` nor `--quiet` was given.
    package let hasProgress: Bool

    /// The variables of this process that matter to a console, where they are set and not empty.
    package static var variables: [String: String] {
        var variables: [String: String] = [:]
        for name in ["NO_COLOR", "COLUMNS"] { variables[name] = DeviceOptions.environment(name) }
        return variables
    }

    /// A console on the standard descriptors of this process.
    ///
    /// - Parameters:
    ///   - isJSON: whether the answer is one JSON document.
    ///   - verbosity: how much goes to standard error.
    ///   - isWide: whether tables are as wide as they are, whatever the terminal.
    ///   - environment: the variables of the process, of which `NO_COLOR` (no-color.org) and `COLUMNS` matter.
    package init(isJSON: Bool, verbosity: Verbosity, isWide: Bool = false, environment: [String: String]) {
        self.isJSON = isJSON
        self.verbosity = verbosity
        self.isWide = isWide
        let named = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        width = isWide ? nil : named ?? Self.columns(of: STDOUT_FILENO)
        errorWidth = named ?? Self.columns(of: STDERR_FILENO)
        let plain = !(environment["NO_COLOR"] ?? "").isEmpty
        hasColor = !plain && isatty(STDOUT_FILENO) == 1
        hasProgress =
            !plain && !isJSON && verbosity > .quiet && isatty(STDERR_FILENO) == 1
            && isatty(STDOUT_FILENO) == 1
    }

    /// Writes a line of data. Line feeds in front of it make blank lines; any other is spelled out, because foreign text
    /// in the line could add a line that looks like ours.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func data(_ line: String) throws(CommandFailure) {
        try write(Data((Self.oneLine(line) + "\n").utf8))
    }

    /// Writes text of several lines, all of whose values went through `String.visible` before, as those of a
    /// ``Table`` do; nothing where it is empty.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func lines(_ text: String) throws(CommandFailure) {
        guard !text.isEmpty else { return }
        try write(Data((text.visible(keepingLineFeeds: true) + "\n").utf8))
    }

    private static func oneLine(_ line: String) -> String {
        let blank = line.unicodeScalars.prefix { $0 == "\n" }
        return String(blank) + String(line.unicodeScalars[blank.endIndex...]).visible
    }

    /// Writes raw bytes of data, such as a file.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take them; one (141) that nobody is told of when
    ///   its reader has closed it, as `head` does.
    package func write(_ bytes: Data) throws(CommandFailure) {
        do {
            try FileHandle.standardOutput.write(contentsOf: bytes)
        } catch {
            // The error of the system says more than Foundation's, which hides it.
            let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            if underlying?.domain == NSPOSIXErrorDomain, underlying?.code == Int(EPIPE) {
                throw CommandFailure(.closedOutput, "standard output was closed").reported
            }
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

    /// Tells the user something that is not data by way of `log`, without waiting; silent under `--quiet`.
    package func note(_ line: String, to log: LineWriter) {
        if verbosity >= .normal { log.write(line.visible(keepingLineFeeds: true) + "\n") }
    }

    /// Tells a detail that only `--verbose` shows.
    package func detail(_ line: String) {
        if verbosity >= .verbose { Self.standardError(line) }
    }

    /// The columns of the terminal that a descriptor leads to; nil where it leads to none (ioctl_tty(2)).
    static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Shows a status line, which the next one overwrites; nil removes it. Does nothing where progress is off. What
    /// does not fit into the terminal is left out: a second line would not be overwritten.
    package func progress(_ line: String?) {
        guard hasProgress else { return }
        // The last column stays free: some terminals go on to the next line with it.
        Self.say("\r\u{1B}[K\((line ?? "").prefix(max((errorWidth ?? 80) - 1, 0)))")
    }

    /// Writes a table, which is made to fit the terminal; nothing where it has no row.
    ///
    /// - Parameters:
    ///   - table: the table.
    ///   - isDimmed: whether the row of this number is dimmed where colour is on.
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
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

    /// A label as it stands in text beside other things: its first sixteen characters and an ellipsis on a terminal,
    /// by which commands find it, and the whole label where nothing is shortened.
    package func abbreviated(_ label: String) -> String {
        width == nil || label.count <= 17 ? label : label.prefix(16) + "\u{2026}"
    }

    /// Writes a line of data, dimmed where colour is on.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func dimmed(_ line: String) throws(CommandFailure) {
        guard hasColor else { return try data(line) }
        try write(Data("\u{1B}[2m\(Self.oneLine(line))\u{1B}[0m\n".utf8))
    }

    /// Writes a line to standard error, whatever the verbosity; for failures and warnings. Line feeds in it are spelled
    /// out, because foreign text could add a line that looks like a hint of ours. On a terminal the line is broken
    /// between words.
    package static func standardError(_ line: String) {
        say(fitted(line.visible, to: columns(of: STDERR_FILENO)) + "\n")
    }

    /// A line of standard error in lines that fit the terminal. The command of a hint is not broken, so that it can be
    /// pasted.
    ///
    /// - Parameter width: the columns of the terminal; nil where there is none.
    static func fitted(_ line: String, to width: Int?) -> String {
        guard let width, line.columnCount > width else { return line }
        if line.hasPrefix("hint: "), let start = line.range(of: "keyshare-", options: .backwards)?.lowerBound
        {
            let words = line[..<start].dropLast().wrapped(to: width)
            return words.joined(separator: "\n") + "\n  " + line[start...]
        }
        return line.wrapped(to: width).joined(separator: "\n")
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
        if let hint = failure.hint { standardError("hint: \(PasteableHint.complete(hint))") }
    }
}
