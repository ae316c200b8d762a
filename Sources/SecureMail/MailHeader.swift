internal import Diagnostics
internal import OpenSSL

/// The header fields of a message or of a part (RFC 5322, 2.2; RFC 2045, 3).
package struct MailHeader: Sendable {
    /// One header field: its name and its value.
    package struct Field: Sendable, Hashable {
        /// The field's name, with its original capitalization.
        package let name: String
        /// The field's value, unfolded into one line and without leading or trailing spaces.
        package fileprivate(set) var value: String

        /// Creates a field. The name and the value are not validated.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        /// Returns whether the field has this name, ignoring case.
        func `is`(_ other: String) -> Bool {
            // The lengths differ for most of the many fields that a message can have.
            name.utf8.count == other.utf8.count && name.lowercased() == other.lowercased()
        }
    }

    /// The header fields, in their order in the message.
    package let fields: [Field]
    /// Why some programs could find other fields in the bytes of the header, as a phrase that can follow “the header”;
    /// nil if there is no reason.
    package let lineAmbiguity: String?
    /// The parsed Content-Type field; nil if the field is missing, occurs more than once, or contains no media type.
    let contentType: ContentType?
    /// The file names that Content-Type and Content-Disposition (RFC 2183) declare, with the parts of divided names (RFC
    /// 2231) as separate names; nil if programs could find different names.
    let fileNames: [String]?
    /// The fields, decoded for comparison.
    let decoded: DecodedFields

    /// Creates a header.
    package init(_ fields: [Field], lineAmbiguity: String? = nil) {
        self.init(fields, lineAmbiguity: lineAmbiguity, isTypeDivided: false)
    }

    /// Creates a header. `isTypeDivided` is true if a parameter of Content-Type is on several lines.
    private init(_ fields: [Field], lineAmbiguity: String?, isTypeDivided: Bool) {
        self.fields = fields
        self.lineAmbiguity = lineAmbiguity
        decoded = DecodedFields(fields)
        let types = fields.filter { $0.is("Content-Type") }
        contentType = types.count == 1 ? ContentType(types[0].value, isDivided: isTypeDivided) : nil
        fileNames = Self.fileNames(in: fields)
    }

    /// The value of the first field with this name, ignoring case; nil if there is no such field.
    package subscript(_ name: String) -> String? { fields.first { $0.is(name) }?.value }

    /// The characters that some programs consider the end of a line.
    static let lineEnds: Set<Unicode.Scalar> = [
        "\0", "\r", "\u{B}", "\u{C}", "\u{1C}", "\u{1D}", "\u{1E}", "\u{85}",
    ]

    /// Whether other programs could find another media type or encoding in the header: Content-Type occurs more than once
    /// or contains no media type, Content-Transfer-Encoding has different values, or a field contains a control
    /// character that some programs consider the end of a line.
    var isAmbiguous: Bool {
        lineAmbiguity != nil || hasSeveralEncodings
            || fields.contains { $0.is("Content-Type") } && contentType == nil
            || fields.contains { field in
                field.value.unicodeScalars.contains { Self.lineEnds.contains($0) }
            }
    }

    /// Whether Content-Transfer-Encoding has different values. Some programs use the first one, and others the last one.
    var hasSeveralEncodings: Bool {
        Set(fields.filter { $0.is("Content-Transfer-Encoding") }.map { $0.value.lowercased() }).count > 1
    }

    /// The value of Content-Transfer-Encoding (RFC 2045, 6) in lower case; `7bit` if the field is missing.
    var transferEncoding: String { (self["Content-Transfer-Encoding"] ?? "7bit").lowercased() }

    /// Reads fields up to and including the empty line after them. Values are converted to the Stream-Safe Text Format.
    ///
    /// - Parameter entity: The role of the entity that begins with the header. Only a file or a message may begin with
    ///   the line that mailbox files put before each message. The first name in a file must consist of letters, digits
    ///   and `-_.`, as in every message in practice, so that other files, such as JSON, are not messages.
    /// - Returns: The header; nil if the first line is not a field, which means that the file is not a message.
    /// - Throws: `CMSError`: `.overLimit` for more than `MailLimits.headers` bytes, `.malformed` for a later line that
    ///   is not a field; `FileError`.
    static func read(
        _ reader: inout LineReader, as entity: MessageForm.Entity = .part
    ) throws -> MailHeader? {
        var fields: [Field] = []
        var lines = HeaderLines(allowsMailboxLine: [.file, .message].contains(entity))
        var isTypeDivided = false
        // Whether the current field is Content-Type.
        var isType = false
        // Whether the text of the current field ends within quotes.
        var isQuoted = false
        var size = 0
        while true {
            guard var line = try reader.next() else { break }
            let last = fields.indices.last
            let continues = last != nil && (line.first == 0x20 || line.first == 0x09)
            let colon = line.firstIndex(of: UInt8(ascii: ":")).flatMap {
                isName(line[..<$0], isCommon: entity == .file && fields.isEmpty) ? $0 : nil
            }
            // Mailbox files put this line before each message. In another header, it is an ambiguity.
            let isMailboxLine = size == 0 && line.starts(with: "From ".utf8)
            if continues || colon != nil || isMailboxLine {
                // The reader returns a line that is longer than a chunk in pieces.
                while line.last != 0x0A, size + line.count <= MailLimits.headers,
                    let more = try reader.next()
                {
                    line += more
                }
            }
            lines.read(line, colon: continues ? nil : colon)
            size += line.count
            guard size <= MailLimits.headers else {
                throw CMSError(
                    .overLimit, "the headers of the message are larger than \(MailLimits.headers) bytes")
            }
            let text = line.withoutLineEnd
            if text.isEmpty { break }
            if continues, let last {
                let isFirst = fields[last].value.isEmpty
                let isBetweenParameters = fields[last].value.utf8.last == UInt8(ascii: ";") && !isQuoted
                if isType, !isFirst, !isBetweenParameters { isTypeDivided = true }
                // Appends in place, because a value can have many lines.
                let more = trimmed(text)
                if !more.isEmpty { fields[last].value += (isFirst ? "" : " ") + more }
                isQuoted = isQuoted != hasOddQuotes(text)
            } else if let colon {
                fields.append(
                    Field(
                        trimmed(text[..<colon]), trimmed(text[text.index(after: colon)...])))
                isType = fields.last?.is("Content-Type") == true
                isQuoted = hasOddQuotes(text)
            } else if isMailboxLine {
                continue
            } else {
                guard !fields.isEmpty else { return nil }
                throw CMSError(.malformed, "a line in the headers of the message is not a header field")
            }
        }
        return fields.isEmpty
            ? nil
            : MailHeader(
                fields.map { Field($0.name, $0.value.streamSafe) },
                lineAmbiguity: lines.ambiguity, isTypeDivided: isTypeDivided)
    }

    /// Whether the bytes contain an odd number of quotes.
    private static func hasOddQuotes(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.count { $0 == UInt8(ascii: "\"") }.isMultiple(of: 2)
    }

    /// Whether the bytes before a colon can be the name of a field: printable ASCII (ftext, RFC 5322, 3.6.8), or only
    /// letters, digits and `-_.` if `isCommon` is true. Blanks before the colon are allowed (RFC 5322, 4.5).
    private static func isName(_ bytes: ArraySlice<UInt8>, isCommon: Bool) -> Bool {
        let name = bytes.reversed().drop { $0 == 0x20 || $0 == 0x09 }
        return !name.isEmpty && name.count <= 100
            && name.allSatisfy { byte in
                guard isCommon else { return (0x21...0x7E).contains(byte) }
                return (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || "-_.".utf8.contains(byte)
            }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).trimmedOfBlanks
    }
}

/// The value of a Content-Type field (RFC 2045, 5).
struct ContentType: Sendable {
    /// A parameter: its name in lower case, its value, and its range in the field, which begins with the semicolon.
    typealias Parameter = (name: String, value: String, range: Range<String.Index>)

    /// The media type and subtype in lower case, such as `text/plain`.
    let name: String
    /// The parameters, keyed by name in lower case. If a name occurs more than once, its first value is used.
    let parameters: [String: String]

    /// Whether the boundary occurs more than once, in any form (RFC 2231), so that programs use different ones.
    let hasSeveralBoundaries: Bool

    /// Whether the media type contains no comments or blanks, which not all programs skip.
    let isNameExact: Bool

    /// Whether programs could find another media type or different parameters, because the value contains comments, or
    /// is not exactly in the syntax of RFC 2045, 5.1.
    let isAmbiguous: Bool

    /// Parses the value of a Content-Type field. Returns nil if the value does not begin with a media type.
    ///
    /// - Parameter isDivided: Whether a parameter was on several lines. OpenSSL reads each line by itself, so it could find
    ///   another parameter in the second one.
    init?(_ value: String, isDivided: Bool = false) {
        var rest = value.unicodeScalars[...]
        guard let (name, isExact) = Self.mediaType(&rest) else { return nil }
        self.name = name
        let (pairs, isAmbiguous) = Self.parameters(&rest)
        isNameExact = isExact
        // Some programs decode encoded words before they divide the value into parameters. Programs also differ in the
        // case of letters outside ASCII: the Kelvin sign is k in lower case.
        let isPlain = value.utf8.allSatisfy { $0 < 0x80 } && !value.contains("=?")
        let isRecoded = name.hasPrefix("multipart/") && !isPlain
        self.isAmbiguous = isAmbiguous || !isExact || isRecoded || isDivided
        hasSeveralBoundaries =
            pairs.filter { $0.name == "boundary" || $0.name.hasPrefix("boundary*") }.count > 1
        parameters = Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads a media type up to a semicolon; nil if the text is not a media type. Comments and blanks around its names
    /// are skipped (RFC 2045, 5.1). `isExact` is false if there are any, because not all programs skip them.
    static func mediaType(
        _ rest: inout Substring.UnicodeScalarView
    ) -> (name: String, isExact: Bool)? {
        var text = ""
        var hasComment = false
        while let scalar = rest.first, scalar != ";" {
            rest = rest.dropFirst()
            if scalar != "(" {
                text.unicodeScalars.append(scalar)
                continue
            }
            guard rest.skipComment() else { return nil }
            text.append(" ")
            hasComment = true
        }
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
            .map { String($0).trimmedOfBlanks }
        guard names.count == 2, names.allSatisfy(isToken) else { return nil }
        let name = names.joined(separator: "/")
        return (name.lowercased(), !hasComment && text.trimmedOfBlanks == name)
    }

    /// Whether a text is a token (RFC 2045, 5.1).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && !"()<>@,;:\\\"/[]?=".utf8.contains($0)
            }
    }

    /// Reads the parameters after a media type or another first value. The names are in lower case.
    ///
    /// The parameters are ambiguous if programs could find different ones: they are not `name=value`, a name contains
    /// other characters than letters, digits and `-._*`, a quoted string has no end, contains a backslash or is followed
    /// by text, a value without quotes is not a token, or there are more than `MailLimits.parameters`.
    static func parameters(
        _ rest: inout Substring.UnicodeScalarView
    ) -> (pairs: [Parameter], isAmbiguous: Bool) {
        var parameters: [Parameter] = []
        var isAmbiguous = false
        var isAfterBoundary = false
        // All programs ignore semicolons at the end.
        var isAtEnd = false
        while !rest.isEmpty {
            guard parameters.count < MailLimits.parameters else { return (parameters, true) }
            let start = rest.startIndex
            rest = rest.dropFirst()
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(key.count)
            let name = String(key).trimmedOfBlanks
            if name.isEmpty, rest.first != "=" {
                isAtEnd = true
                continue
            }
            if isAtEnd || rest.first != "=" || !isParameterName(name) { isAmbiguous = true }
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let text: String
            if rest.first == "\"" {
                let quoted = quotedString(&rest)
                text = quoted.text
                let following = rest.prefix { $0 != ";" }
                rest = rest.dropFirst(following.count)
                let isEnd = String(following).trimmedOfBlanks.isEmpty
                if !quoted.isComplete || quoted.hasEscape || !isEnd { isAmbiguous = true }
            } else {
                let plain = rest.prefix { $0 != ";" }
                rest = rest.dropFirst(plain.count)
                text = String(plain).trimmedOfBlanks
                if !isUnquotedValue(text, of: name.lowercased(), isAfterBoundary) { isAmbiguous = true }
            }
            parameters.append((name.lowercased(), text, start..<rest.startIndex))
            if name.lowercased() == "boundary" { isAfterBoundary = true }
        }
        return (parameters, isAmbiguous)
    }

    private static func isParameterName(_ name: String) -> Bool {
        guard let first = name.utf8.first, first != UInt8(ascii: "*") else { return false }
        return name.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "-._*".utf8.contains(byte)
        }
    }

    /// Whether a value without quotes is allowed: a token or, for some parameters, a media type or a Content-ID. Many
    /// programs write these without quotes, although RFC 2045 does not allow it. Camel reads no parameter after them, so
    /// they must follow the boundary.
    private static func isUnquotedValue(_ text: String, of name: String, _ isAfterBoundary: Bool) -> Bool {
        guard isAfterBoundary, ["protocol", "type", "start"].contains(name) else { return isToken(text) }
        return isToken(text.filter { !"/<>@".contains($0) })
    }

    /// Reads a quoted string with its quotes. `isComplete` is false if the second quote is missing.
    private static func quotedString(
        _ rest: inout Substring.UnicodeScalarView
    ) -> (text: String, isComplete: Bool, hasEscape: Bool) {
        var text = ""
        var hasEscape = false
        rest = rest.dropFirst()
        while let scalar = rest.popFirst() {
            if scalar == "\"" { return (text, true, hasEscape) }
            if scalar == "\\" { hasEscape = true }
            text.unicodeScalars.append(scalar == "\\" ? rest.popFirst() ?? "\\" : scalar)
        }
        return (text, false, hasEscape)
    }
}

extension MailHeader {
    static func fileNames(in fields: [Field]) -> [String]? {
        var names: [String] = []
        for field in fields where field.is("Content-Type") || field.is("Content-Disposition") {
            var rest = field.value.unicodeScalars.drop { $0 != ";" }
            let (pairs, isAmbiguous) = ContentType.parameters(&rest)
            if isAmbiguous { return nil }
            names += inOrder(pairs.filter { isFileName($0.name) })
        }
        return names
    }

    /// The values of parameters, sorted by the numbers in their names.
    static func inOrder(_ parameters: [ContentType.Parameter]) -> [String] {
        parameters.map { (number: partNumber($0.name), text: $0.value) }
            .sorted { $0.number < $1.number }.map(\.text)
    }

    /// Whether a parameter with this name is a file name, or a part of one.
    static func isFileName(_ name: String) -> Bool {
        let base = name.prefix { $0 != "*" }
        return base == "name" || base == "filename"
    }

    /// The number in the name of a divided parameter, such as `name*1*` (RFC 2231, 3); 0 for other names.
    static func partNumber(_ name: String) -> Int {
        name.split(separator: "*").dropFirst().first.flatMap { Int($0) } ?? 0
    }
}

extension MailHeader {
    /// Whether a value of MIME-Version is 1.0, apart from comments (RFC 2045, 4).
    static func isCurrentVersion(_ value: String) -> Bool {
        var rest = value.unicodeScalars[...]
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == "(" {
                guard rest.skipComment() else { return false }
            } else if scalar != " ", scalar != "\t" {
                text.append(scalar)
            }
        }
        return String(text) == "1.0"
    }
}

extension Substring.UnicodeScalarView {
    /// Skips a comment after its first parenthesis (RFC 5322, 3.2.2). Comments can be nested. Returns false if the last
    /// parenthesis is missing.
    mutating func skipComment() -> Bool {
        var depth = 1
        while depth > 0 {
            guard let scalar = popFirst() else { return false }
            switch scalar {
            case "(": depth += 1
            case ")": depth -= 1
            case "\\": _ = popFirst()
            default: break
            }
        }
        return true
    }
}

extension String {
    /// The text without leading and trailing spaces, tabs and line endings.
    var trimmedOfBlanks: String {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        let bytes = utf8.drop(while: isBlank)
        let end = bytes.lastIndex { !isBlank($0) }
        return end.map { String(Substring(bytes[...$0])) } ?? ""
    }
}
