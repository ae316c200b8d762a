/// A query of the content provider: the columns that it returns, and its rows (docs/rules.md R9.1 to R9.3, R9.11).
///
/// ```swift
/// let query = try AliasQuery(columns: ["type", "alias"])
/// let columns = query.columns.map(\.rawValue)  // ["alias", "type"]
/// let rows = query.rows(entries)
/// ```
public struct AliasQuery: Sendable, Hashable {
    /// The columns, in the order of every row.
    public enum Column: String, Sendable, Hashable, CaseIterable {
        /// The name of the entry.
        case alias
        /// The certificate in Base64.
        case certificate
        /// The raw value of the ``AliasType``.
        case type
    }

    /// The errors of a query.
    public enum Failure: Error, Hashable, Sendable {
        /// The provider has no column of this name.
        case unknownColumn(String)
        /// The sample provider throws an exception if the projection is null.
        case nullProjection
        /// The app does not have the permission READ_ALIAS.
        case permissionDenied
    }

    /// The arguments of a query that have no effect. The raw values are their names in Android's `ContentResolver`.
    public enum IgnoredArgument: String, Sendable, Hashable, CaseIterable {
        /// A condition on rows.
        case selection
        /// The order of rows.
        case sortOrder
    }

    /// The columns of the answer, in the order of the cases of `Column`.
    public let columns: [Column]
    /// The arguments that were given and have no effect; a command warns about them.
    public let ignoredArguments: [IgnoredArgument]
    private let returnsRows: Bool
    private let isLikeTheSample: Bool

    /// Creates a query.
    ///
    /// - Parameters:
    ///   - projection: The names of the requested columns, in any order; nil or empty for all columns.
    ///   - selection: Ignored, as by the sample provider.
    ///   - sortOrder: Ignored, as by the sample provider.
    ///   - isLikeTheSample: Whether the query reproduces the sample provider's defects. An empty projection, or one of
    ///     unknown names only, then returns the column `type` without rows, other unknown names are ignored, and
    ///     entries after one without certificate are missing.
    /// - Throws: `unknownColumn`; or `nullProjection`, like the sample.
    public init(
        columns projection: [String]?, selection: String? = nil, sortOrder: String? = nil,
        isLikeTheSample: Bool = false
    ) throws(Failure) {
        ignoredArguments =
            (selection == nil ? [] : [.selection]) + (sortOrder == nil ? [] : [.sortOrder])
        self.isLikeTheSample = isLikeTheSample
        let known = Column.allCases.filter { projection?.contains($0.rawValue) == true }
        if isLikeTheSample {
            guard projection != nil else { throw .nullProjection }
            columns = known.isEmpty ? [.type] : known
            returnsRows = !known.isEmpty
            return
        }
        if let unknown = projection?.first(where: { Column(rawValue: $0) == nil }) {
            throw .unknownColumn(unknown)
        }
        columns = known.isEmpty ? Column.allCases : known
        returnsRows = true
    }

    /// Returns a row for each entry that has a certificate, sorted by alias (docs/rules.md R9.3).
    ///
    /// - Parameters:
    ///   - entries: The entries of the store, in any order.
    ///   - isReadAliasGranted: Whether the app has the permission READ_ALIAS.
    /// - Throws: `permissionDenied`.
    public func rows(_ entries: [AliasEntry], isReadAliasGranted: Bool) throws(Failure) -> [[String]] {
        guard isReadAliasGranted else { throw .permissionDenied }
        return rows(entries)
    }

    /// Returns a row for each entry that has a certificate, sorted by alias, for an app with the permission READ_ALIAS.
    public func rows(_ entries: [AliasEntry]) -> [[String]] {
        guard returnsRows else { return [] }
        var sorted = entries.sorted(by: AliasEntry.precedes)[...]
        if isLikeTheSample { sorted = sorted.prefix { $0.certificate != nil } }
        return sorted.compactMap { entry in
            guard let certificate = entry.certificate else { return nil }
            return columns.map { column in
                switch column {
                case .alias: entry.alias
                case .certificate: certificate.base64
                case .type: certificate.type.rawValue
                }
            }
        }
    }
}

extension AliasQuery.Failure {
    /// The stable name of the error, for scripts: `unknown-column`.
    public var name: String {
        switch self {
        case .unknownColumn: "unknown-column"
        case .nullProjection: "null-projection"
        case .permissionDenied: "permission-denied"
        }
    }

    /// The cause of the error, as a phrase without a full stop.
    public var reason: String {
        switch self {
        case .unknownColumn(let name):
            "the provider has no column \u{201C}\(name)\u{201D}; its columns are \(Self.columns)"
        case .nullProjection: "the sample provider fails if a query does not name its columns"
        case .permissionDenied: "the app does not have the permission READ_ALIAS"
        }
    }

    private static var columns: String {
        AliasQuery.Column.allCases.map(\.rawValue).joined(separator: ", ")
    }
}
