internal import OpenSSL

/// The header fields of a mail or of a part of one (RFC 5322, 2.2; RFC 2045, 3).
package struct MailHeader: Sendable {
    /// One field.
    package struct Field: Sendable, Hashable {
        /// The name as it is written.
        package let name: String
        /// The value on one line, without blanks around it.
        package let value: String

        /// A field of these parts.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        /// Whether the field has this name, whatever the letters' case.
        func `is`(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
    }

    /// The fields in their order.
    package let fields: [Field]

    /// A header of these fields.
    package init(_ fields: [Field]) { self.fields = fields }

    /// The value of the first field of this name; nil where there is none.
    package subscript(_ name: String) -> String? { fields.first { $0.is(name) }?.value }

    /// What kind of content follows; nil where no field says so.
    var contentType: ContentType? { self["Content-Type"].flatMap { ContentType($0) } }

    /// How the content is written (RFC 2045, 6), in lower case.
    var transferEncoding: String { (self["Content-Transfer-Encoding"] ?? "7bit").lowercased() }

    /// Reads fields up to the empty line behind them.
    ///
    /// - Returns: nil where the first line is no field: this is no mail.
    /// - Throws: `CMSError.Code.overLimit` for more than `MailLimits.headers`; `FileError`.
    static func read(_ reader: inout LineReader) throws -> MailHeader? {
        var fields: [Field] = []
        var size = 0
        while true {
            let isLineStart = reader.isAtLineStart
            guard let line = try reader.next() else { break }
            size += line.count
            guard size <= MailLimits.headers else {
                // What is no mail may go on for ever without an end of a line.
                guard !fields.isEmpty else { return nil }
                throw CMSError(
                    .overLimit, "the headers of the mail are larger than \(MailLimits.headers) bytes")
            }
            let text = line.withoutLineEnd
            if !isLineStart, let last = fields.popLast() {
                // A line that is longer than a chunk goes on.
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
                // The line that a mailbox file puts in front of each mail.
                continue
            } else {
                guard !fields.isEmpty else { return nil }
                throw CMSError(.malformed, "a line among the headers of the mail is no header")
            }
        }
        return fields.isEmpty ? nil : MailHeader(fields)
    }

    /// Whether the bytes before a colon can be the name of a field. RFC 5322 would allow other signs, which no field has
    /// and the lines of other files do, such as those of JSON.
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

/// The type of a content (RFC 2045, 5).
struct ContentType: Sendable {
    /// Type and subtype in lower case, such as `text/plain`.
    let name: String
    /// The parameters by their names in lower case.
    let parameters: [String: String]

    /// Reads the value of a Content-Type field; nil where it names no type.
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
    /// The text without blanks and tabs at either end.
    var trimmedOfBlanks: String {
        let blanks: Set<Unicode.Scalar> = [" ", "\t", "\r", "\n"]
        let scalars = unicodeScalars.drop { blanks.contains($0) }
        let end = scalars.lastIndex { !blanks.contains($0) }
        return end.map { String(scalars[...$0]) } ?? ""
    }
}
