/// Finds the lines of a header in which some programs find other fields: programs that end lines or the header elsewhere,
/// and OpenSSL, which reads each line by itself.
struct HeaderLines {
    /// The maximum number of bytes in a line without its end (RFC 5322, 2.1.1). Some programs read the rest of a longer
    /// line as the next one.
    static let longest = 998

    /// Whether the header may begin with the line that mailbox files put before each message.
    private let allowsMailboxLine: Bool
    private var isFirst = true
    private var lineEnds = StrayLineEnds()
    /// Whether the previous line ends with LF, without CR.
    private var endsInFeed = false
    private var finding: String?
    /// Whether the first line of the current field ends within a comment. OpenSSL then ignores this line, but not the
    /// next one.
    private var isInComment = false
    /// Whether OpenSSL has found a field, so that it reads further continuation lines as parameters.
    private var hasField = false

    /// Creates a search in a header.
    init(allowsMailboxLine: Bool) { self.allowsMailboxLine = allowsMailboxLine }

    /// Why some programs could find other fields, as a phrase that can follow “the header”; nil if there is no reason.
    var ambiguity: String? {
        lineEnds.isFound ? "contains a CR or NUL that some programs read as the end of a line" : finding
    }

    /// Reads the next line, which continues a field or is the first one of a field.
    ///
    /// - Parameters:
    ///   - line: The line with its end.
    ///   - colon: The position of the colon after the name of a field; nil if the line continues a field.
    mutating func read(_ line: ArraySlice<UInt8>, colon: Int?) {
        lineEnds.read(line)
        finding = finding ?? ambiguity(of: line, colon: colon)
        isFirst = false
        endsInFeed = line.last == 0x0A && line.dropLast().last != 0x0D
        guard let colon else { return }
        let value = line[colon...]
        isInComment =
            value.lastIndex(of: UInt8(ascii: "(")) ?? colon > value.lastIndex(of: UInt8(ascii: ")")) ?? colon
        if !isInComment { hasField = true }
    }

    private func ambiguity(of line: ArraySlice<UInt8>, colon: Int?) -> String? {
        if isFirst, !allowsMailboxLine, line.starts(with: "From ".utf8) {
            return "begins with the line of a mailbox file, where some programs end it"
        }
        if endsInFeed, line.elementsEqual([0x0D, 0x0A]) {
            return "ends with different line ends, where some programs find no end"
        }
        if line.withoutLineEnd.count > Self.longest {
            return "contains a line of more than \(Self.longest) bytes, which some programs divide"
        }
        if let colon, colon > line.startIndex {
            if [0x20, 0x09].contains(line[colon - 1]) {
                return "contains a blank before a colon, where some programs end it"
            }
            if line[..<colon].contains(UInt8(ascii: "\"")) {
                return "contains the name of a field with a quote, which some programs remove"
            }
        }
        guard colon == nil, isInComment else { return nil }
        let isField = !hasField && Self.name(line, before: ":") == "content-type"
        let isParameter = line.split(separator: UInt8(ascii: ";")).contains {
            Self.name($0, before: "=") == "boundary"
        }
        return isField || isParameter
            ? "contains a comment in which some programs find another field or parameter" : nil
    }

    /// The name before a character as OpenSSL reads it, in lower case: without white space and quotes at its ends. Empty
    /// if the bytes do not contain the character.
    static func name(_ bytes: ArraySlice<UInt8>, before end: Unicode.Scalar) -> String {
        guard let end = bytes.firstIndex(of: UInt8(ascii: end)) else { return "" }
        let name = bytes[..<end].drop(while: isRemoved).reversed().drop(while: isRemoved).reversed()
        return String(decoding: name, as: UTF8.self).lowercased()
    }

    private static func isRemoved(_ byte: UInt8) -> Bool {
        (0x09...0x0D).contains(byte) || byte == 0x20 || byte == UInt8(ascii: "\"")
    }
}
