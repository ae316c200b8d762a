internal import OpenSSL

/// The header fields of a message or of a part (RFC 5322, 2.2; RFC 2045, 3).
package struct MailHeader: Sendable {
    /// One header field: its name and its value.
    package struct Field: Sendable, Hashable {
        /// The field's name, with its original capitalization.
        package let name: String
        /// The field's value, unfolded into one line and without leading or trailing spaces.
        package let value: String

        /// Creates a field. The name and the value are not validated.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        /// Returns whether the field has this name, ignoring case.
        func `is`(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
    }

    /// The header fields, in their order in the message.
    package let fields: [Field]

    /// Creates a header.
    package init(_ fields: [Field]) { self.fields = fields }

    /// The value of the first field with this name, ignoring case; nil if there is no such field.
    package subscript(_ name: String) -> String? { fields.first { $0.is(name) }?.value }

    /// The parsed Content-Type field; nil if the field is missing or contains no media type.
    var contentType: ContentType? { self["Content-Type"].flatMap { ContentType($0) } }

    /// The value of Content-Transfer-Encoding (RFC 2045, 6) in lower case; `7bit` if the field is missing.
    var transferEncoding: String { (self["Content-Transfer-Encoding"] ?? "7bit").lowercased() }

    /// Reads fields up to and including the empty line after them.
    ///
    /// - Returns: The header; nil if the first line is not a field, which means that the file is not a message.
    /// - Throws: `CMSError`: `.overLimit` for more than `MailLimits.headers` bytes, `.malformed` for a later line that
    ///   is not a field; `FileError`.
    static func read(_ reader: inout LineReader) throws -> MailHeader? {
        var fields: [Field] = []
        var size = 0
        while true {
            let isLineStart = reader.isAtLineStart
            guard let line = try reader.next() else { break }
            size += line.count
            guard size <= MailLimits.headers else {
                throw CMSError(
                    .overLimit, "the headers of the message are larger than \(MailLimits.headers) bytes")
            }
            let text = line.withoutLineEnd
            if !isLineStart, let last = fields.popLast() {
                // This piece continues a line that is longer than a chunk.
                fields.append(Field(last.name, last.value + trimmed(text)))
                continue
            }
            if text.isEmpty { break }
            if text.first == 0x20 || text.first == 0x09, let last = fields.popLast() {
                fields.append(Field(last.name, (last.value + " " + trimmed(text)).trimmedOfBlanks))
            } else if let colon = text.firstIndex(of: UInt8(ascii: ":")), isName(text[..<colon]) {
                fields.append(
                    Field(
                        trimmed(text[..<colon]), trimmed(text[text.index(after: colon)...])))
            } else if fields.isEmpty, text.starts(with: "From ".utf8) {
                // Mailbox files put this line before each message.
                continue
            } else {
                guard !fields.isEmpty else { return nil }
                throw CMSError(.malformed, "a line in the headers of the message is not a header field")
            }
        }
        return fields.isEmpty ? nil : MailHeader(fields)
    }

    /// Whether the bytes before a colon can be the name of a field. RFC 5322 also allows other characters, which occur
    /// in other files, such as JSON, but in no header in practice.
    private static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
        let name = bytes.reversed().drop { $0 == 0x20 || $0 == 0x09 }
        return !name.isEmpty && name.count <= 100
            && name.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "-_.".utf8.contains(byte)
            }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).trimmedOfBlanks
    }
}

/// The value of a Content-Type field (RFC 2045, 5).
struct ContentType: Sendable {
    /// The media type and subtype in lower case, such as `text/plain`.
    let name: String
    /// The parameters, keyed by name in lower case. If a name occurs more than once, its first value is used.
    let parameters: [String: String]

    /// Parses the value of a Content-Type field. Returns nil if the value contains no media type.
    init?(_ value: String) {
        var rest = value.unicodeScalars[...]
        let name = rest.prefix { $0 != ";" }
        rest = rest.dropFirst(name.count)
        self.name = String(name).trimmedOfBlanks.lowercased()
        guard self.name.contains("/") else { return nil }
        var parameters: [String: String] = [:]
        while rest.popFirst() != nil {
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(key.count)
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            var text = ""
            if rest.first == "\"" {
                rest = rest.dropFirst()
                while let scalar = rest.popFirst(), scalar != "\"" {
                    text.unicodeScalars.append(scalar == "\\" ? rest.popFirst() ?? "\\" : scalar)
                }
                rest = rest.drop { $0 != ";" }
            } else {
                let plain = rest.prefix { $0 != ";" }
                rest = rest.dropFirst(plain.count)
                text = String(plain).trimmedOfBlanks
            }
            let name = String(key).trimmedOfBlanks.lowercased()
            if parameters[name] == nil { parameters[name] = text }
        }
        self.parameters = parameters
    }
}

extension String {
    /// The text without leading and trailing spaces, tabs and line endings.
    var trimmedOfBlanks: String {
        let blanks: Set<Unicode.Scalar> = [" ", "\t", "\r", "\n"]
        let scalars = unicodeScalars.drop { blanks.contains($0) }
        let end = scalars.lastIndex { !blanks.contains($0) }
        return end.map { String(scalars[...$0]) } ?? ""
    }
}
