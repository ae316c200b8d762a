/// The JSON document of `check`.
package struct IntegrityDocument: Codable, Sendable {
    /// One thing that is wrong.
    package struct Problem: Codable, Sendable {
        /// What the problem is about: the device, the keychain's tables, or a record.
        package let kind: String
        /// The label of the record; nil where the problem is not about one.
        package let label: String?
        /// The problem as a sentence.
        package let message: String

        /// Describes one problem by its parts.
        package init(kind: String, label: String?, message: String) {
            self.kind = kind
            self.label = label
            self.message = message
        }
    }

    /// How many identities the keychain holds.
    package let identities: Int
    /// The problems in the order in which they were found.
    package let problems: [Problem]

    /// Describes a check by its parts.
    package init(identities: Int, problems: [Problem]) {
        self.identities = identities
        self.problems = problems
    }
}
