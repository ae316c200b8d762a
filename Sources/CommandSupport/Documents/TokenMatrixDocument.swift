package import PersistentToken

/// The JSON document of `token matrix`: every operation that was tried, with how it was to end and how it ended.
package struct TokenMatrixDocument: Encodable, Sendable {
    /// How an operation ended, or was to end.
    package struct Outcome: Encodable, Sendable, Equatable {
        /// `ok`, `refused`, or `wrong-result` for a result that is not what it should be.
        package let result: String
        /// The number of the token's code; null where it did not refuse.
        package let tkError: Int?
        /// The status that an app gets from the Security framework; null for a wrong result.
        package let osStatus: Int32?

        /// The operation gave what it should.
        package static let success = Outcome(result: "ok", tkError: nil, osStatus: 0)
        /// The operation gave something else.
        package static let wrongResult = Outcome(result: "wrong-result", tkError: nil, osStatus: nil)

        /// The token refused with `code`.
        package static func refused(_ code: TokenError.Code) -> Outcome {
            Outcome(
                result: "refused", tkError: code.rawValue, osStatus: TokenError(code, "").status.rawValue)
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(result, forKey: .result)
            try container.encode(tkError, forKey: .tkError)
            try container.encode(osStatus, forKey: .osStatus)
        }

        private enum CodingKeys: CodingKey { case result, tkError, osStatus }

        /// The outcome in one cell of a table.
        package var text: String {
            guard let tkError, let osStatus else { return result }
            return "TKError \(tkError), \(osStatus)"
        }
    }

    /// One operation.
    package struct Row: Encodable, Sendable {
        /// The object whose key was used: the label of the identity.
        package let objectID: String
        /// The part of the matrix.
        package let group: String
        /// The name of the constant in the Security framework.
        package let name: String
        /// How the operation was to end.
        package let expected: Outcome
        /// How it ended.
        package let actual: Outcome
        /// Whether both are equal.
        package let asExpected: Bool
        /// What the token said, where it refused; null elsewhere.
        package let message: String?

        /// Describes an operation.
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

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(objectID, forKey: .objectID)
            try container.encode(group, forKey: .group)
            try container.encode(name, forKey: .name)
            try container.encode(expected, forKey: .expected)
            try container.encode(actual, forKey: .actual)
            try container.encode(asExpected, forKey: .asExpected)
            try container.encode(message, forKey: .message)
        }

        private enum CodingKeys: CodingKey {
            case objectID, group, name, expected, actual, asExpected, message
        }
    }

    /// The operations, in the order in which they were tried.
    package let rows: [Row]
    /// How many did not end as they were to.
    package let surprises: Int

    /// Describes operations.
    package init(rows: [Row]) {
        self.rows = rows
        surprises = rows.count { !$0.asExpected }
    }
}
