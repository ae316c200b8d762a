internal import KeyShareProtocol

/// A consumer's query for the aliases that a provider shares (feature `aliases`).
package struct AliasQueryRequest: Sendable, Hashable {
    /// The name of the querying app. It is not authenticated.
    package var app: String
    /// The names of the requested columns; empty if the query names none.
    package var columns: [String]
    /// The cursor for the next page; nil for the first page.
    package var cursor: String?

    /// Creates a query, by default for the first page.
    package init(app: String, columns: [String], cursor: String? = nil) {
        self.app = app
        self.columns = columns
        self.cursor = cursor
    }
}

/// A page of the rows that a query returns.
package struct AliasPage: Sendable, Hashable {
    /// A number that grows whenever KeyChain's entries change. Pages with different numbers do not belong to the same
    /// list.
    package var changeCount: UInt64
    /// The names of the columns, in the provider's order.
    package var columns: [String]
    /// The rows. Each has a value for each column.
    package var rows: [[String]]
    /// The cursor for the next page; nil on the last page.
    package var nextCursor: String?

    /// Creates a page.
    package init(changeCount: UInt64, columns: [String], rows: [[String]], nextCursor: String?) {
        self.changeCount = changeCount
        self.columns = columns
        self.rows = rows
        self.nextCursor = nextCursor
    }
}

/// A consumer's request to let the user choose a KeyChain entry (`KeyChain.choosePrivateKeyAlias`).
package struct AliasChoiceRequest: Sendable, Hashable {
    /// The name of the requesting app. It is not authenticated.
    package var app: String
    /// The alias that the dialog preselects; nil for none.
    package var alias: String?
    /// The acceptable key types, such as `RSA`; empty for all.
    package var keyTypes: [String]
    /// The acceptable issuers, as names in DER; empty for all.
    package var issuers: [[UInt8]]
    /// The host that requests the certificate, which the dialog shows; nil for none.
    package var host: String?
    /// The port of the host; nil for none.
    package var port: UInt16?

    /// Creates a request, by default without restrictions.
    package init(
        app: String, alias: String? = nil, keyTypes: [String] = [], issuers: [[UInt8]] = [],
        host: String? = nil, port: UInt16? = nil
    ) {
        self.app = app
        self.alias = alias
        self.keyTypes = keyTypes
        self.issuers = issuers
        self.host = host
        self.port = port
    }
}

/// The result of the dialog.
package struct AliasChoice: Sendable, Hashable {
    /// The chosen alias, for which the app now has a key grant; nil if none was chosen.
    package var alias: String?
    /// The reason why no alias was chosen: `user-denied`, `user-canceled`, `no-match` or `not-selectable`. Android does
    /// not report it.
    package var reason: String?

    /// Creates a result.
    package init(alias: String?, reason: String?) {
        self.alias = alias
        self.reason = reason
    }
}

extension AliasQueryRequest {
    /// The limit that an argument exceeds, as a sentence; nil if the query is within all limits.
    package var exceededLimit: String? {
        Wire.exceededLimit(texts: [app, cursor ?? ""] + columns, lists: [columns.count])
    }
}

extension AliasChoiceRequest {
    /// The limit that an argument exceeds, as a sentence; nil if the request is within all limits.
    package var exceededLimit: String? {
        if issuers.contains(where: { $0.count > Wire.issuerLimit }) {
            return "an issuer has at most \(Wire.issuerLimit) bytes"
        }
        return Wire.exceededLimit(
            texts: [app, alias ?? "", host ?? ""] + keyTypes, lists: [keyTypes.count, issuers.count])
    }
}

extension Wire {
    fileprivate static func exceededLimit(texts: [String], lists: [Int]) -> String? {
        if lists.contains(where: { $0 > aliasListLimit }) {
            return "a request about aliases has at most \(aliasListLimit) columns, key types or issuers"
        }
        if texts.contains(where: { $0.utf8.count > aliasTextLimit }) {
            return "a string in a request about aliases has at most \(aliasTextLimit) bytes"
        }
        return texts.contains { $0.utf8.contains(0) }
            ? "a string in a request about aliases contains NUL" : nil
    }
}
