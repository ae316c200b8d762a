internal import Diagnostics

/// A table of comma-separated values (RFC 4180, section 2). It consists of records, and each record of fields with
/// their positions.
///
/// The parser is strict, so that no wrong person is created from a damaged table. Quotation marks may only enclose a
/// whole field; inside such a field, a quotation mark is doubled. Every record must have as many fields as the first.
/// Lines end in CR LF or LF. Empty lines are skipped.
///
/// This is a separate implementation because errors must report line and column, which no available library supports.
struct CSVText {
    /// One field of a CSV record.
    struct Field: Sendable, Hashable {
        /// The text of the field, without enclosing quotation marks.
        let text: String
        /// The position of the field's first character, which may be a quotation mark.
        let position: SourcePosition
    }

    /// The non-empty records, in the order of the text.
    let records: [[Field]]

    /// Parses a table in UTF-8, with or without a byte order mark.
    ///
    /// - Parameters:
    ///   - bytes: The octets of the text.
    ///   - most: The maximum number of fields.
    /// - Throws: `ProvisioningError` with the position of the first syntax error.
    init(_ bytes: [UInt8], most: Int = .max) throws(ProvisioningError) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ProvisioningError(
                SourcePosition(line: bytes.linesUpToBrokenText, column: 1), "expected text in UTF-8")
        }
        var scanner = Scanner(text)
        var records: [[Field]] = []
        var count = 0
        while let record = try scanner.record() {
            for field in record { try field.checkText() }
            if record.count == 1, record[0].text.isEmpty { continue }
            if let header = records.first, header.count != record.count {
                throw ProvisioningError(
                    record[0].position,
                    "expected \(counted(header.count, "field", "fields")) as in the first line, not \(record.count)"
                )
            }
            count += record.count
            guard count <= most else {
                throw ProvisioningError(record[0].position, "the text has more than \(most) fields")
            }
            records.append(record)
        }
        self.records = records
    }
}

extension CSVText.Field {
    /// Checks the limits of a text. Comparing long sequences of combining marks takes minutes.
    ///
    /// - Throws: `ProvisioningError`.
    fileprivate func checkText() throws(ProvisioningError) {
        guard text.utf8.count <= TextBounds.largestText else {
            throw .longText(at: position)
        }
        guard text.isStreamSafe else {
            throw .manyMarks(at: position)
        }
    }
}

extension CSVText {
    /// Scans the table by Unicode scalars. Characters are unsuitable because CR LF is a single Swift character.
    private struct Scanner {
        private var rest: Substring.UnicodeScalarView
        private var line = 1
        private var column = 1

        init(_ text: String) {
            rest = text.unicodeScalars[...]
            if rest.first == "\u{FEFF}" { rest.removeFirst() }
        }

        private var position: SourcePosition { SourcePosition(line: line, column: column) }

        /// Reads the next record, including its line ending. Returns nil at the end of the text.
        mutating func record() throws(ProvisioningError) -> [Field]? {
            guard !rest.isEmpty else { return nil }
            var fields: [Field] = []
            repeat { fields.append(try field()) } while take(",")
            guard rest.isEmpty || takeLineEnd() else {
                throw ProvisioningError(position, "expected a comma or the end of the line after the field")
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
                    "a quotation mark inside a field; enclose the whole field in quotation marks and double those inside it"
                )
            }
            return Field(text: text, position: start)
        }

        /// Reads the rest of a field after the quotation mark at `start`.
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
            throw ProvisioningError(start, "the field has no closing quotation mark")
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
