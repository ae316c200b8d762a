internal import Diagnostics
internal import Foundation
package import KeySharing

/// The JSON document of the provider's and the consumer's `import`.
package struct ImportDocument: Codable, Sendable {
    /// The possible results of importing one identity.
    package enum Status: String, Codable, Sendable {
        case imported
        case duplicate
        case failed
    }

    /// One imported identity, or one file or entry that failed.
    package typealias Row = WithOptionalIdentity<RowFields>

    /// The fields of a row, without those of the identity.
    package struct RowFields: Codable, Sendable {
        /// The item or file as named on the command line.
        package var item: String
        /// The entry of the zip; nil outside zips.
        package var entry: String?
        /// Whether the identity was imported, was already present, or could not be imported.
        package var status: Status
        /// The reason that the import failed; nil for an identity.
        package var error: FailureDocument.Body?
        /// A note about the entry, as a sentence; omitted if there is none.
        package var note: String?
    }

    /// An entry of a zip that was skipped.
    package struct Skipped: Codable, Sendable {
        /// The item or file as named on the command line.
        package let item: String
        /// The name of the skipped entry.
        package let entry: String
        /// The reason for skipping the entry, as a phrase.
        package let reason: String

        /// Creates a record of a skipped entry.
        package init(item: String, entry: String, reason: String) {
            self.item = item
            self.entry = entry
            self.reason = reason
        }
    }

    /// One row for each identity and each failure, in the order of the command line.
    package let results: [Row]
    /// The skipped entries of zips; omitted if there are none.
    package let skipped: [Skipped]?
    /// The types from `--require` that were not imported; omitted without `--require`.
    package let missing: [String]?

    /// Creates the document of an import.
    ///
    /// - Parameters:
    ///   - results: One row for each identity and each failure.
    ///   - missing: The required types that were not imported; nil if none was required.
    ///   - skipped: The entries of archives that were not read.
    package init(results: [Row], missing: [String]? = nil, skipped: [Skipped] = []) {
        self.results = results
        self.skipped = skipped.isEmpty ? nil : skipped
        self.missing = missing
    }
}

extension Console {
    /// Prints the results of an import. Standard error receives each cause of failure with its hint, then the skipped
    /// entries, and finally the number of imported identities.
    ///
    /// - Parameters:
    ///   - document: The results.
    ///   - failure: The failure of a row, or `missing`; it determines the exit code.
    ///   - missing: The failure that required types are missing, printed after the rows; nil if no type is missing.
    /// - Throws: `failure`; `CommandFailure` (74) if standard output cannot be written.
    package func present(
        _ document: ImportDocument, failure: CommandFailure?, missing: CommandFailure? = nil
    ) throws {
        reportCauses(of: document)
        var told: Set<String> = []
        for row in document.results {
            guard let note = row.note, told.insert("\(row.name): \(note)").inserted else { continue }
            Self.standardError("\(CommandMain.programName): \(row.name): \(note)")
        }
        for entry in document.skipped ?? [] {
            Self.standardError(
                "\(CommandMain.programName): \(entry.item) \(entry.entry): skipped: \(entry.reason)")
        }
        try present(document, failure: failure ?? missing, reporting: [missing].compactMap(\.self)) {
            // The causes were printed before, so a table of failures would add only empty columns.
            if document.results.contains(where: { $0.identity != nil }) { try table(document.table) }
            if let summary = document.summary { note(summary) }
        }
    }

    /// Prints each cause of failure once, with the name of the failed item or the number of failed items.
    private func reportCauses(of document: ImportDocument) {
        var causes: [(body: FailureDocument.Body, rows: [ImportDocument.Row])] = []
        for row in document.results {
            guard let error = row.error else { continue }
            if let place = causes.firstIndex(where: { $0.body == error }) {
                causes[place].rows.append(row)
            } else {
                causes.append((error, [row]))
            }
        }
        for (body, rows) in causes {
            let name = rows.count == 1 ? rows[0].name : counted(rows.count, "file", "files")
            Self.standardError("\(CommandMain.programName): \(name): \(body.message)")
            if let hint = body.hint { Self.standardError("hint: \(hint)") }
        }
    }
}

extension ImportDocument.Row {
    /// Creates the row of an identity that is now in the keychain.
    package init(item: String, entry: String?, status: ImportDocument.Status, identity: IdentitySummary) {
        self.init(identity, ImportDocument.RowFields(item: item, entry: entry, status: status))
    }

    /// Creates the row of a file or an entry that failed.
    package init(item: String, entry: String?, failure: CommandFailure) {
        self.init(
            nil,
            ImportDocument.RowFields(
                item: item, entry: entry, status: .failed, error: .init(failure.hinting(at: item))))
    }

    /// The file or item, followed by the entry if there is one.
    fileprivate var name: String { self.entry.map { "\(self.item) \($0)" } ?? self.item }
}

extension ImportDocument {
    /// One row for each identity and each failure. The columns for entries and causes are present only if a row has a
    /// value.
    fileprivate var table: Table {
        let hasEntries = results.contains { $0.entry != nil }
        let hasCauses = results.contains { $0.error != nil }
        var table = Table(
            [
                "RESULT", "TYPE", .init("PERSON", .wraps(16)), .init("EXPIRES", leaves: 2),
                .init("SERIAL", .uniqueStart(), leaves: 1), .init("LABEL", .uniqueStart()),
                .init("FROM", .wraps(14)),
            ]
                + (hasEntries ? [.init("ENTRY", .uniqueStart(atLeast: Console.startOfName), leaves: 3)] : [])
                + (hasCauses ? [.init("CAUSE", .wraps(14))] : []))
        for row in results {
            let identity = row.identity
            let isNamedByLabel = row.entry == nil && identity.map { row.item.hasSuffix($0.label) } == true
            table.append(
                [
                    row.status.rawValue, identity?.type ?? "", identity?.personText ?? "",
                    identity?.expiryText ?? "", identity?.serial ?? "", identity?.label ?? "",
                    isNamedByLabel ? "" : row.item,
                ] + (hasEntries ? [row.entry ?? ""] : []) + (hasCauses ? [row.error?.cause ?? ""] : []))
        }
        return table
    }

    /// The number of imported identities and the causes of failure, such as `3 of 4 imported, 1 failed: wrong
    /// password`; nil if the table has only one row.
    var summary: String? {
        guard results.count > 1 else { return nil }
        func number(_ status: Status) -> Int { results.count { $0.status == status } }
        var parts = ["\(number(.imported)) of \(results.count) imported"]
        if number(.duplicate) > 0 {
            parts.append(counted(number(.duplicate), "already existed", "already existed"))
        }
        var causes: [String] = []
        for case let error? in results.map(\.error) where !causes.contains(error.cause) {
            causes.append(error.cause)
        }
        if !causes.isEmpty { parts.append("\(number(.failed)) failed: " + causes.joined(separator: ", ")) }
        return parts.joined(separator: ", ")
    }
}

extension FailureDocument.Body {
    /// The stable name as words, for a table: `wrong password`.
    fileprivate var cause: String { code.replacingOccurrences(of: "-", with: " ") }
}
