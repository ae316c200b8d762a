internal import PrivateFiles

/// The line between the parts of a multipart message (RFC 2046, 5.1.1).
struct PartDelimiter {
    /// The two forms of a delimiter.
    enum Match {
        /// Another part follows.
        case next
        /// The last part has ended.
        case close
    }

    /// The bytes at the beginning of the line.
    fileprivate let start: [UInt8]

    /// Creates the delimiter for a boundary.
    init(_ boundary: String) { start = Array("--\(boundary)".utf8) }

    /// Compares a line with the delimiter.
    ///
    /// - Returns: The form of the delimiter; nil if the line is not this delimiter. A longer boundary that begins with
    ///   this one does not match, nor does the first piece of a line that is longer than a chunk.
    func match(_ line: ArraySlice<UInt8>) -> Match? {
        guard line.starts(with: start), line.last == 0x0A || line.count < OpenFile.chunk else { return nil }
        let rest = line.dropFirst(start.count)
        if rest.allSatisfy(Self.isBlank) { return .next }
        return rest.starts(with: "--".utf8) && rest.dropFirst(2).allSatisfy(Self.isBlank) ? .close : nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D, 0x0A].contains(byte) }
}

/// Finds delimiters that only some programs see: programs that end lines at every CR or after a number of bytes, that
/// compare only the beginning of a line with the delimiter (RFC 2046, 5.1.1), or that continue after the last part.
///
/// Between delimiters, a part can contain a CR without LF, because its content may be any bytes. Text outside the parts
/// cannot.
struct HiddenDelimiters {
    private let delimiter: PartDelimiter
    private let findsLongerLines: Bool
    /// The end of the previous piece of the line, where a hidden delimiter could begin.
    private var tail: [UInt8] = []
    /// Whether the current line begins like the delimiter.
    private var isDelimiterLike = false
    /// The first hidden delimiter, as a phrase that can follow “contains”; nil if there is none.
    private(set) var finding: String?

    /// Creates a search for the delimiter's hidden forms.
    ///
    /// - Parameter findsLongerLines: Whether a line counts that only begins with the delimiter, or contains it.
    init(_ delimiter: PartDelimiter, findsLongerLines: Bool) {
        self.delimiter = delimiter
        self.findsLongerLines = findsLongerLines
    }

    /// Reads the next line, or the next piece of a long line.
    mutating func read(_ piece: ArraySlice<UInt8>, isLineStart: Bool, isInPart: Bool) {
        if finding != nil { return }
        if isLineStart {
            tail = []
            isDelimiterLike = piece.starts(with: delimiter.start)
        }
        let bytes = tail.isEmpty ? piece : (tail + piece)[...]
        var rest = bytes
        while let position = rest.firstIndex(of: 0x0D) {
            rest = bytes[(position + 1)...]
            if rest.isEmpty || rest.first == 0x0A { continue }
            if !isInPart || isDelimiterLike || rest.starts(with: delimiter.start) {
                finding = "a CR that some programs read as the end of a line"
                return
            }
        }
        // A truncated message can end within its last delimiter.
        if findsLongerLines, isLineStart, isDelimiterLike, delimiter.match(piece) == nil,
            !(delimiter.start + "--".utf8).starts(with: piece)
        {
            finding = "a line that some programs read as a delimiter, because it begins like one"
        }
        // Some programs continue after a full buffer as at the beginning of a line.
        if findsLongerLines, bytes.dropFirst().contains(bytes: delimiter.start) {
            finding = "a line that some programs read as a delimiter, because it contains one"
        }
        tail = piece.last == 0x0A ? [] : Array(bytes.suffix(delimiter.start.count))
    }

    /// Notes a colon before the first part. Perl's Email::MIME then shows the text before it as a part.
    mutating func noteFieldBeforeParts() {
        guard findsLongerLines else { return }
        finding = finding ?? "text with a colon before its first part, which some programs show"
    }

    /// Notes a delimiter after the one that closed the last part.
    mutating func noteDelimiterAfterEnd() {
        finding = finding ?? "a part after its end, which some programs read"
    }
}

extension LineReader {
    /// Reads lines up to a delimiter and the delimiter itself. Without a delimiter, reads the rest of the file.
    ///
    /// - Parameter isPreamble: Whether the lines precede the first part.
    /// - Returns: The form of the delimiter, or nil if the file ends first.
    mutating func skip(
        past delimiter: PartDelimiter, _ hidden: inout HiddenDelimiters, isPreamble: Bool = false
    ) throws -> PartDelimiter.Match? {
        while true {
            let isLineStart = isAtLineStart
            guard let line = try next() else { return nil }
            hidden.read(line, isLineStart: isLineStart, isInPart: false)
            if isLineStart, let match = delimiter.match(line) { return match }
            if isPreamble, line.contains(UInt8(ascii: ":")) { hidden.noteFieldBeforeParts() }
        }
    }

    /// Copies a part to a file and reads the delimiter that follows. The line ending before a delimiter belongs to
    /// the delimiter and is not copied.
    ///
    /// - Parameters:
    ///   - delimiter: The delimiter that ends the part.
    ///   - hidden: Finds the delimiter's hidden forms.
    ///   - file: Receives the part.
    ///   - isCanonical: Whether lines are written with CR LF line endings, instead of unchanged.
    /// - Returns: The form of the delimiter, or nil if the file ends first.
    mutating func copyPart(
        until delimiter: PartDelimiter, _ hidden: inout HiddenDelimiters, to file: UnnamedFile,
        isCanonical: Bool
    ) throws -> PartDelimiter.Match? {
        var ends = CanonicalLines()
        // The last lines, and the unwritten bytes before them. In a long line, the CR and the LF may be in different
        // pieces.
        var (held, pending): (ArraySlice<UInt8>, [UInt8]) = ([], [])
        while true {
            // Every form of the delimiter contains it, so lines without it need no further search. After a finding, only
            // the delimiter itself matters.
            var text =
                hidden.finding == nil
                ? lines(without: delimiter.start) : lines(beforeLineWith: delimiter.start)
            if text == nil {
                let isLineStart = isAtLineStart
                guard let line = try next() else {
                    try file.write(pending + held)
                    return nil
                }
                hidden.read(line, isLineStart: isLineStart, isInPart: true)
                if isLineStart, let match = delimiter.match(line) {
                    try file.write((pending + held)[...].withoutLineEnd)
                    return match
                }
                text = line
            }
            pending += held
            if pending.count >= OpenFile.chunk {
                try file.write(pending.dropLast())
                pending.removeFirst(pending.count - 1)
            }
            if let text { held = isCanonical ? ends.canonical(text) : text }
        }
    }
}

/// Reads the parts of a multipart message one after another, and copies each to a file of its own.
struct PartReader {
    private let delimiter: PartDelimiter
    private let scratch: String
    private var reader: LineReader
    private var hidden: HiddenDelimiters
    private var last: PartDelimiter.Match?

    /// Skips the text before the first part.
    ///
    /// - Parameters:
    ///   - reader: A reader whose next byte is the first one after the headers.
    ///   - boundary: The boundary between the parts.
    ///   - scratch: A folder for temporary files without a name.
    init(_ reader: LineReader, _ boundary: String, scratch: String) throws {
        self.reader = reader
        self.scratch = scratch
        delimiter = PartDelimiter(boundary)
        hidden = HiddenDelimiters(delimiter, findsLongerLines: true)
        last = try self.reader.skip(past: delimiter, &hidden, isPreamble: true)
        try readEnd()
    }

    /// Whether another part follows.
    var hasNext: Bool { last == .next }

    /// The reason why some programs could find other parts in the text that was read, as a phrase; nil if there is none.
    var ambiguity: String? { hidden.finding }

    /// Copies the next part to a file, without changes. Call it only if ``hasNext`` is true.
    mutating func next() throws -> UnnamedFile {
        let file = try UnnamedFile(in: scratch)
        last = try reader.copyPart(until: delimiter, &hidden, to: file, isCanonical: false)
        try readEnd()
        return file
    }

    /// Reads the text after the last part.
    private mutating func readEnd() throws {
        guard last == .close else { return }
        while let match = try reader.skip(past: delimiter, &hidden) {
            if match == .next { hidden.noteDelimiterAfterEnd() }
        }
    }
}
