/// The JSON document of `provision --list-scenarios`.
package struct ScenariosDocument: Codable, Sendable {
    /// One scenario.
    package struct Entry: Codable, Sendable {
        /// The name of the scenario.
        package let name: String
        /// What there is, and what a correct consumer makes of it.
        package let description: String
        /// How the provider is to serve.
        package let service: ServiceBehaviourDocument
        /// How many identities of each type are in each selection of each mechanism, by the names that scenarios
        /// use; nil where the scenario does not say.
        package let outcome: [String: [String: [String: Int]]]?

        /// Describes one scenario by its parts.
        package init(
            name: String, description: String, service: ServiceBehaviourDocument,
            outcome: [String: [String: [String: Int]]]?
        ) {
            self.name = name
            self.description = description
            self.service = service
            self.outcome = outcome
        }
    }

    /// The scenarios in the order of the list.
    package let scenarios: [Entry]

    /// Describes scenarios.
    package init(scenarios: [Entry]) {
        self.scenarios = scenarios
    }
}
