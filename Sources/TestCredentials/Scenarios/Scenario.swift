internal import Foundation
package import KeyShareProvider
package import KeySharing
internal import OpenSSL

/// A state of a provider by description: whose credentials it holds, what is wrong with them, and how it serves them.
package struct Scenario: Sendable {
    /// The name of a built-in scenario, or the name of its file without the extension.
    package let name: String
    /// One sentence: what the keychain holds, and what a correct consumer makes of it.
    package let description: String
    /// The persons in the order of the text.
    var persons: [Persons]
    /// How the provider serves; options of the serving command come before it.
    package let service: ServiceBehaviour
    /// What each selection holds after provisioning into an empty keychain; nil where the scenario does not say.
    package let outcome: Outcome?

    /// One entry of the list of persons: one person, or several with the same description.
    struct Persons: Sendable {
        /// What is known of each person; the rest is drawn at random.
        let description: PersonDescription
        /// How many persons the entry stands for.
        let count: Int
        /// The credentials that each person gets.
        let credentials: [CredentialSet]
        /// The test vectors that are made for each person.
        let defects: [Defect]
    }

    /// A defective identity that a keychain can hold.
    struct Defect: Sendable {
        /// How the identity is made.
        let vector: TestVector
        /// The key of the identity.
        let algorithm: KeyAlgorithm
    }

    /// How many identities of each type each selection of each mechanism holds. A selection that is not named holds
    /// none.
    package struct Outcome: Sendable, Hashable {
        /// The numbers of identities; zeroes are left out.
        package var counts: [Mechanism: [Selector: [CredentialType: Int]]] = [:]
    }
}

extension Scenario.Outcome: Encodable {
    /// Writes nested objects, by the names that scenarios use.
    package func encode(to encoder: any Encoder) throws {
        func named<Key: RawRepresentable<String>, Value>(_ values: [Key: Value]) -> [String: Value] {
            Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
        }
        var container = encoder.singleValueContainer()
        try container.encode(named(counts.mapValues { named($0.mapValues(named)) }))
    }
}
