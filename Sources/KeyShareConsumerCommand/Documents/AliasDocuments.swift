package import CommandSupport
internal import Foundation

/// The JSON document of `alias query`.
package struct AliasTableDocument: Encodable, Sendable {
    /// The columns, in the provider's order.
    package let columns: [String]
    /// The rows, each an object with a string for each column.
    package let rows: [[String: String]]

    /// Creates the document from columns and rows.
    package init(columns: [String], rows: [[String]]) {
        self.columns = columns
        self.rows = rows.map { Dictionary(zip(columns, $0), uniquingKeysWith: { first, _ in first }) }
    }
}

/// The JSON document of `alias choose`.
package struct AliasChoiceDocument: Encodable, Sendable {
    /// The chosen alias, or null.
    @Nullable package var alias: String?
    /// Whether an alias was chosen, so that the app has a key grant.
    package let chosen: Bool
    /// Whether the chosen alias is the requested one, which the dialog preselected; null if the app requested none.
    @Nullable package var preselected: Bool?
    /// Why no alias was chosen: `user-denied`, `user-canceled`, `no-match` or `not-selectable`; null if one was.
    @Nullable package var reason: String?

    /// Creates the document for the result of a dialog.
    package init(alias: String?, preselected: Bool?, reason: String?) {
        chosen = alias != nil
        self.preselected = preselected
        self.alias = alias
        self.reason = reason
    }
}

/// The JSON document of `alias choose --for decryption`, which asks for several keys.
package struct AliasChoicesDocument: Encodable, Sendable {
    /// The result of each dialog.
    package let choices: [AliasChoiceDocument]

    /// Creates the document for the results of dialogs.
    package init(choices: [AliasChoiceDocument]) {
        self.choices = choices
    }
}

/// The JSON document of `alias sign` and `alias decrypt`.
package struct AliasUseDocument: Encodable, Sendable {
    /// The alias whose key was used.
    package let alias: String
    /// The operation: `sign` or `decrypt`.
    package let operation: String
    /// The name of the algorithm's constant in the Security framework, without `kSecKeyAlgorithm`.
    package let algorithm: String
    /// The signature in base64; null after a decryption, whose result is only written to the file.
    @Nullable package var signature: String?

    /// Creates the document for a key use.
    package init(alias: String, operation: String, algorithm: String, signature: [UInt8]?) {
        self.alias = alias
        self.operation = operation
        self.algorithm = algorithm
        self.signature = signature.map { Data($0).base64EncodedString() }
    }
}
