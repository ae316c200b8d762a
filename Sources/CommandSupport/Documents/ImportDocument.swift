package import KeySharing

/// The JSON document of `import`, on either side.
package struct ImportDocument: Encodable, Sendable {
    /// What became of one identity.
    package enum Status: String, Encodable, Sendable {
        case imported
        case duplicate
        case failed
    }

    /// One identity, or one file or entry that failed.
    package struct Row: Encodable, Sendable {
        package let item: String
        package let entry: String?
        package let status: Status
        package let label: String?
        package let type: String?
        package let serial: String?
        package let error: FailureDocument.Body?

        package init(item: String, entry: String?, status: Status, identity: IdentitySummary) {
            self.item = item
            self.entry = entry
            self.status = status
            label = identity.label
            type = identity.type(.keySharing2025).rawValue
            serial = identity.serialNumber
            error = nil
        }

        package init(item: String, entry: String?, failure: CommandFailure) {
            self.item = item
            self.entry = entry
            status = .failed
            label = nil
            type = nil
            serial = nil
            error = .init(failure)
        }
    }

    /// An entry of a zip that was not looked into.
    package struct Skipped: Encodable, Sendable {
        package let item: String
        package let entry: String
        /// A phrase.
        package let reason: String

        package init(item: String, entry: String, reason: String) {
            self.item = item
            self.entry = entry
            self.reason = reason
        }
    }

    package let results: [Row]
    /// Left out where nothing was skipped.
    package let skipped: [Skipped]?
    /// The first failure, which gives the exit code.
    package let error: FailureDocument.Body?

    /// What `--require` asked for and did not arrive; left out where nothing was asked for.
    package let missing: [String]?

    package init(
        results: [Row], failure: CommandFailure?, missing: [String]? = nil, skipped: [Skipped] = []
    ) {
        self.results = results
        self.skipped = skipped.isEmpty ? nil : skipped
        self.missing = missing
        error = failure.map(FailureDocument.Body.init)
    }

    /// Writes the document, or a line for each result; the failures with their hints go to standard error
    /// either way.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func write(to console: Console, json: Bool) throws(CommandFailure) {
        for row in results {
            guard let error = row.error else { continue }
            let name = row.entry.map { "\(row.item) \($0)" } ?? row.item
            Console.standardError("\(CommandMain.programName): \(name): \(error.message)")
            if let hint = error.hint { Console.standardError("hint: \(hint)") }
        }
        for entry in skipped ?? [] {
            Console.standardError(
                "\(CommandMain.programName): \(entry.item) \(entry.entry): skipped: \(entry.reason)")
        }
        if json { return try console.document(self) }
        var table = Table("RESULT", "TYPE", "SERIAL", "LABEL", "FROM")
        for row in results where row.error == nil {
            let label = row.label.map { String($0.prefix(16)) + "\u{2026}" } ?? ""
            let isNamedByLabel = row.entry == nil && row.label.map(row.item.hasSuffix) == true
            let place = row.entry.map { "\(row.item) \($0)" } ?? (isNamedByLabel ? "" : row.item)
            table.append(row.status.rawValue, row.type ?? "", row.serial ?? "", label, place)
        }
        try console.lines(table.text)
    }
}
