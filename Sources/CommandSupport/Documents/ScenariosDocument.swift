internal import KeySharing
package import TestCredentials

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

        init(_ scenario: Scenario) {
            func named<Key: RawRepresentable<String>, Value>(_ values: [Key: Value]) -> [String: Value] {
                Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
            }
            name = scenario.name
            description = scenario.description
            service = ServiceBehaviourDocument(scenario.service)
            outcome = scenario.outcome.map { outcome in
                named(outcome.counts.mapValues { named($0.mapValues(named)) })
            }
        }
    }

    /// The scenarios in the order of the list.
    package let scenarios: [Entry]

    /// Describes scenarios.
    package init(_ scenarios: [Scenario]) {
        self.scenarios = scenarios.map(Entry.init)
    }
}
