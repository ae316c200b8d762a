internal import Foundation
package import KeyShareProvider
package import KeySharing
internal import OpenSSL
internal import TestCredentials
internal import TestVectors

/// The description of a provider's state: the holders of its credentials, the defects, and the behaviour of the
/// service.
package struct Scenario: Sendable {
    /// The name of a built-in scenario, or the name of its file without the extension.
    package let name: String
    /// One sentence that describes the keychain's contents and a correct consumer's behaviour.
    package let description: String
    /// The persons, in the order of the text.
    var persons: [Persons]
    /// The behaviour of the service. The options of `serve` take precedence.
    package let service: ServiceBehaviour
    /// The contents of each selection after provisioning into an empty keychain. Nil if the scenario does not define
    /// them.
    package let outcome: Outcome?

    /// One entry in the list of persons: one person, or several with the same description.
    struct Persons: Sendable {
        /// The known properties of each person. The other properties are drawn at random.
        let description: PersonDescription
        /// The number of persons in the entry.
        let count: Int
        /// The credentials of each person.
        let credentials: [CredentialSet]
        /// The test vectors that are generated for each person.
        let defects: [Defect]
    }

    /// A defective identity that a keychain can hold.
    struct Defect: Sendable {
        /// The test vector from which the identity is generated.
        let vector: TestVector
        /// The key algorithm of the identity.
        let algorithm: KeyAlgorithm
    }

    /// The number of identities of each type in each selection of each mechanism. A selection that is not named is
    /// empty.
    package struct Outcome: Sendable, Hashable {
        /// The numbers of identities. A missing number means zero.
        package var counts: [Mechanism: [IdentitySelector: [CredentialType: Int]]] = [:]
    }
}

extension Scenario.Outcome: Encodable {
    /// Encodes nested objects with the names that scenarios use.
    package func encode(to encoder: any Encoder) throws {
        func named<Key: RawRepresentable<String>, Value>(_ values: [Key: Value]) -> [String: Value] {
            Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
        }
        var container = encoder.singleValueContainer()
        try container.encode(named(counts.mapValues { named($0.mapValues(named)) }))
    }
}
