internal import Diagnostics

extension PersonDescription {
    /// Whether a file is a table of comma-separated values, according to the file name or the column names in the first
    /// line.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - source: The name of the file.
    static func isCSV(_ bytes: [UInt8], source: String) -> Bool {
        if source.lowercased().hasSuffix(".csv") { return true }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard line.contains(UInt8(ascii: ",")), let header = try? CSVText(Array(line)).records.first else {
            return false
        }
        return header.allSatisfy { column(of: $0) != nil }
    }

    /// Reads descriptions from a table whose first line names the columns. Empty fields are ignored.
    ///
    /// - Parameter bytes: The text.
    /// - Throws: `ProvisioningError` with the position of the invalid field.
    static func table(_ bytes: [UInt8]) throws(ProvisioningError) -> [Located] {
        let records = try CSVText(bytes, most: largestValueCount).records
        guard let header = records.first else {
            throw ProvisioningError(
                .start,
                "the text is empty; expected a header line with column names:  \(keys.joined(separator: ", "))"
            )
        }
        let columns = try columns(of: header)
        guard records.count > 1 else {
            throw ProvisioningError(
                header[0].position, "no person follows the header line")
        }
        var persons: [Located] = []
        for record in records.dropFirst() {
            var person = PersonDescription()
            for (key, field) in zip(columns, record) where !field.text.isEmpty {
                guard !field.text.contains(where: \.isNewline) else {
                    throw ProvisioningError(field.position, "expected text without line breaks")
                }
                try person.set(key, to: field.text, at: field.position)
            }
            persons.append(Located(person: person, position: record[0].position))
        }
        return persons
    }

    private static func columns(of header: [CSVText.Field]) throws(ProvisioningError) -> [String] {
        var columns: [String] = []
        for field in header {
            guard let key = column(of: field) else {
                if field.text.contains(where: { $0 == ";" || $0 == "\t" }) {
                    throw ProvisioningError(
                        field.position, "expected commas between the columns, not semicolons or tabs")
                }
                throw ProvisioningError(
                    field.position, "unknown column \u{201C}\(field.text.prefix(60))\u{201D}",
                    remedy: .keys(nearest: NearMatch.of(field.text, among: keys), all: keys))
            }
            guard !columns.contains(key) else {
                throw ProvisioningError(
                    field.position, "the column \u{201C}\(key)\u{201D} occurs twice; expected it once")
            }
            columns.append(key)
        }
        return columns
    }

    /// Returns the key that a field of the header names, ignoring case. Returns nil if there is no such key.
    private static func column(of field: CSVText.Field) -> String? {
        let name = field.text.lowercased()
        return keys.contains(name) ? name : nil
    }
}
