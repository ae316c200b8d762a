package import CommandSupport
internal import KeyShareProtocol
package import PersistentToken

/// The JSON document of `token matrix`: the expected and the actual outcome of every operation.
package struct TokenMatrixDocument: Encodable, Sendable {
    /// The actual or expected outcome of an operation.
    package struct Outcome: Encodable, Sendable, Equatable {
        /// `ok`, `refused`, or `wrong-result` if the result is not correct.
        package let result: String
        /// The token's error code as a number; null if the token did not reject the operation.
        @Nullable package private(set) var tkError: Int?
        /// The status that the Security framework returns to an app; null for a wrong result.
        @Nullable package private(set) var osStatus: Int32?

        /// The operation returned the correct result.
        package static let success = Outcome(result: "ok", tkError: nil, osStatus: 0)
        /// The operation returned a wrong result.
        package static let wrongResult = Outcome(result: "wrong-result", tkError: nil, osStatus: nil)

        /// The token rejected the operation with `code`.
        package static func refused(_ code: TokenError.Code) -> Outcome {
            Outcome(
                result: "refused", tkError: code.rawValue, osStatus: TokenError(code, "").status.rawValue)
        }

        /// The outcome, formatted for a table cell.
        package var text: String {
            guard let tkError, let osStatus else { return result }
            return "TKError \(tkError), \(osStatus)"
        }
    }

    /// One operation with one key.
    package struct Row: Encodable, Sendable {
        /// The object identifier of the key, which is the label of the identity.
        package let objectID: String
        /// The group of the matrix that contains the operation.
        package let group: String
        /// The name of the constant in the Security framework.
        package let name: String
        /// The outcome that the rules of the token require.
        package let expected: Outcome
        /// The outcome of this run.
        package let actual: Outcome
        /// Whether the actual outcome is the expected one.
        package let asExpected: Bool
        /// The token's error message; null if the token did not reject the operation.
        @Nullable package private(set) var message: String?

        /// Creates the row for an operation, and compares the actual with the expected outcome.
        package init(
            objectID: String, group: String, name: String, expected: Outcome, actual: Outcome,
            message: String?
        ) {
            self.objectID = objectID
            self.group = group
            self.name = name
            self.expected = expected
            self.actual = actual
            self.message = message
            asExpected = expected == actual
        }
    }

    /// The operations, in the order in which they were tried.
    package let rows: [Row]
    /// The number of operations with an unexpected outcome.
    package let surprises: Int

    /// Creates the document, and counts the operations with an unexpected outcome.
    package init(rows: [Row]) {
        self.rows = rows
        surprises = rows.count { !$0.asExpected }
    }
}
