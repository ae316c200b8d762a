package import KeySharing

/// The JSON document of `import`, of the provider and of the consumer.
package struct ImportDocument: Codable, Sendable {
    /// The result for one identity.
    package enum Status: String, Codable, Sendable {
        case imported
        case duplicate
        case failed
    }

    /// One identity, or one file or entry that failed.
    package struct Row: Codable, Sendable {
        /// The item or the file as it was named on the command line.
        package let item: String
        /// The entry of the zip; nil outside zips.
        package let entry: String?
        /// The result.
        package let status: Status
        /// The label of the identity; nil for a failure.
        package let label: String?
        /// The credential type under the rules of 2025; nil for a failure.
        package let type: String?
        /// The serial number in hexadecimal digits; nil for a failure.
        package let serial: String?
        /// Why the import failed; nil for an identity.
        package let error: FailureDocument.Body?

        /// The row of an identity that is in the keychain now.
        package init(item: String, entry: String?, status: Status, identity: IdentitySummary) {
            self.item = item
            self.entry = entry
            self.status = status
            label = identity.label
            type = identity.type(.keySharing2025).rawValue
            serial = identity.serialNumber
            error = nil
        }

        /// The row of a file or an entry that failed.
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
    package struct Skipped: Codable, Sendable {
        /// The item or the file as it was named on the command line.
        package let item: String
        /// The name of the entry.
        package let entry: String
        /// Why the entry was skipped, as a phrase.
        package let reason: String

        /// An entry by its place and the reason to skip it.
        package init(item: String, entry: String, reason: String) {
            self.item = item
            self.entry = entry
            self.reason = reason
        }
    }

    /// A row for each identity and for each failure, in the order of the command line.
    package let results: [Row]
    /// The entries of zips that were not looked into; left out where there is none.
    package let skipped: [Skipped]?
    /// The types that `--require` asked for and that did not arrive; left out without `--require`.
    package let missing: [String]?

    /// The results of an import.
    ///
    /// - Parameters:
    ///   - results: a row for each identity and each failure.
    ///   - missing: the types that were required and did not arrive; nil where none was required.
    ///   - skipped: the entries of archives that were not read.
    package init(results: [Row], missing: [String]? = nil, skipped: [Skipped] = []) {
        self.results = results
        self.skipped = skipped.isEmpty ? nil : skipped
        self.missing = missing
    }
}

extension Console {
    /// Presents the results of an import. Standard error gets the message and the hint of each failed row, and the
    /// entries that were skipped.
    ///
    /// - Parameters:
    ///   - document: the results.
    ///   - failure: the failure that gives the exit code: one of the rows', or `missing`.
    ///   - missing: the failure that required types are missing, which is told after the rows; nil where
    ///     none is.
    /// - Throws: the failure that gives the exit code; `CommandFailure` (74) when standard output does not take the
    ///   results.
    package func present(
        _ document: ImportDocument, failure: CommandFailure?, missing: CommandFailure? = nil
    ) throws {
        let program = CommandMain.programName
        for row in document.results {
            guard let error = row.error else { continue }
            let name = row.entry.map { "\(row.item) \($0)" } ?? row.item
            Self.standardError("\(program): \(name): \(error.message)")
            if let hint = error.hint { Self.standardError("hint: \(hint)") }
        }
        for entry in document.skipped ?? [] {
            Self.standardError("\(program): \(entry.item) \(entry.entry): skipped: \(entry.reason)")
        }
        try present(document, failure: failure ?? missing, telling: [missing].compactMap(\.self)) {
            var table = Table("RESULT", "TYPE", "SERIAL", "LABEL", "FROM")
            for row in document.results where row.error == nil {
                let isNamedByLabel = row.entry == nil && row.label.map(row.item.hasSuffix) == true
                let place = row.entry.map { "\(row.item) \($0)" } ?? (isNamedByLabel ? "" : row.item)
                table.append(
                    row.status.rawValue, row.type ?? "", row.serial ?? "", row.label?.abbreviated ?? "", place
                )
            }
            try lines(table.text)
        }
    }
}
