internal import Scenarios
internal import TestVectors

/// The JSON document of `provision --list-scenarios`.
package struct ScenariosDocument: Codable, Sendable {
    /// A built-in scenario.
    package struct Entry: Codable, Sendable {
        /// The name of the scenario.
        package let name: String
        /// The contents of the scenario and the behaviour of a correct consumer.
        package let description: String
        /// The provider's behaviour.
        package let service: ServiceBehaviourDocument
        /// The expected number of identities, keyed by mechanism, selection and type, with the names that scenario
        /// files use; nil if the scenario does not define it.
        package let outcome: [String: [String: [String: Int]]]?

        /// Creates a scenario.
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

    /// Creates the document from its entries.
    package init(scenarios: [Entry]) {
        self.scenarios = scenarios
    }
}

extension ScenariosDocument {
    /// Creates the document for scenarios, in the given order.
    init(_ scenarios: [Scenario]) {
        self.init(scenarios: scenarios.map(Entry.init))
    }
}

extension ScenariosDocument.Entry {
    /// Creates the entry for one scenario.
    init(_ scenario: Scenario) {
        func named<Key: RawRepresentable<String>, Value>(_ values: [Key: Value]) -> [String: Value] {
            Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
        }
        self.init(
            name: scenario.name, description: scenario.description,
            service: ServiceBehaviourDocument(scenario.service),
            outcome: scenario.outcome.map { outcome in
                named(outcome.counts.mapValues { named($0.mapValues(named)) })
            })
    }
}
