internal import Diagnostics

/// A text of comma-separated values (RFC 4180, section 2): records of fields, each with its place.
///
/// The reader is strict, so that a damaged table makes no wrong persons: a quotation mark stands only round a whole
/// field or twice inside one, and every record has as many fields as the first. Lines end in CR LF or LF. Empty lines
/// are passed over.
///
/// The reader is written here because an error must name line and column, which no library that is at hand gives.
struct CSVText {
    /// One field of a record.
    struct Field: Sendable, Hashable {
        /// The text of the field, without the quotation marks round it.
        let text: String
        /// Where the field starts, a quotation mark included.
        let position: SourcePosition
    }

    /// The records in the order of the text; none of them is empty.
    let records: [[Field]]

    /// Reads a table in UTF-8, with a byte order mark or without.
    ///
    /// - Parameters:
    ///   - bytes: the octets of the text.
    ///   - most: how many fields are allowed.
    /// - Throws: `ProvisioningError` at the position where the text stops being a table.
    init(_ bytes: [UInt8], most: Int = .max) throws(ProvisioningError) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ProvisioningError(
                SourcePosition(line: bytes.linesUpToBrokenText, column: 1), "expected text in UTF-8")
        }
        var scanner = Scanner(text)
        var records: [[Field]] = []
        var count = 0
        while let record = try scanner.record() {
            if record.count == 1, record[0].text.isEmpty { continue }
            if let header = records.first, header.count != record.count {
                throw ProvisioningError(
                    record[0].position,
                    "expected \(counted(header.count, "field", "fields")) as in the first line, not \(record.count)"
                )
            }
            count += record.count
            guard count <= most else {
                throw ProvisioningError(record[0].position, "there are more than \(most) fields in the text")
            }
            records.append(record)
        }
        self.records = records
    }
}

extension CSVText {
    /// The reader of a text, one scalar at a time. Characters would not do: Swift takes CR LF for one of them.
    private struct Scanner {
        private var rest: Substring.UnicodeScalarView
        private var line = 1
        private var column = 1

        init(_ text: String) {
            rest = text.unicodeScalars[...]
            if rest.first == "\u{FEFF}" { rest.removeFirst() }
        }

        private var position: SourcePosition { SourcePosition(line: line, column: column) }

        /// Reads the next record up to the end of its last line; nil at the end of the text.
        mutating func record() throws(ProvisioningError) -> [Field]? {
            guard !rest.isEmpty else { return nil }
            var fields: [Field] = []
            repeat { fields.append(try field()) } while take(",")
            guard rest.isEmpty || takeLineEnd() else {
                throw ProvisioningError(position, "expected a comma or the end of the line behind the field")
            }
            return fields
        }

        private mutating func field() throws(ProvisioningError) -> Field {
            let start = position
            if take("\"") { return Field(text: try quoted(from: start), position: start) }
            let end = rest.firstIndex { $0 == "," || $0 == "\n" || $0 == "\r" || $0 == "\"" } ?? rest.endIndex
            let text = String(rest[..<end])
            column += text.unicodeScalars.count
            rest = rest[end...]
            if rest.first == "\"" {
                throw ProvisioningError(
                    position,
                    "a quotation mark stands inside a field; expected marks round the whole field, and two for one inside"
                )
            }
            return Field(text: text, position: start)
        }

        /// Reads the rest of a field behind the quotation mark at `start`.
        private mutating func quoted(from start: SourcePosition) throws(ProvisioningError) -> String {
            var text = String.UnicodeScalarView()
            while let scalar = rest.popFirst() {
                column += 1
                switch scalar {
                case "\"":
                    guard take("\"") else { return String(text) }
                    text.append("\"")
                case "\n":
                    (line, column) = (line + 1, 1)
                    text.append(scalar)
                default: text.append(scalar)
                }
            }
            throw ProvisioningError(start, "the field starts with a quotation mark and has none at its end")
        }

        private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard rest.first == scalar else { return false }
            rest.removeFirst()
            column += 1
            return true
        }

        private mutating func takeLineEnd() -> Bool {
            if rest.starts(with: "\r\n".unicodeScalars) {
                rest.removeFirst(2)
            } else if rest.first == "\n" {
                rest.removeFirst()
            } else {
                return false
            }
            (line, column) = (line + 1, 1)
            return true
        }
    }
}
