package import KeyShareProvider
internal import Foundation
package import KeySharing
internal import OpenSSL

/// A state of a provider by description: whose credentials there are, what is odd about them, and how the
/// provider serves them.
package struct Scenario: Sendable {
    /// The name of a built-in one, or what a file is called.
    package let name: String
    /// One sentence: what there is, and what a correct consumer makes of it.
    package let description: String
    var persons: [Persons]
    /// How the provider is to serve; explicit options come before it.
    package let service: ServiceBehaviour
    /// What each selection of an otherwise empty keychain then holds; nil where the scenario does not say.
    package let outcome: Outcome?

    /// One person, or several of whom the same is known.
    struct Persons: Sendable {
        /// What is known of them; the rest is drawn.
        let description: PersonDescription
        let count: Int
        let credentials: [Credentials]
        /// One specimen for each person and entry.
        let faults: [Fault]
    }

    /// Credentials of one kind.
    struct Credentials: Sendable {
        /// When they start.
        enum Starts: Sendable {
            /// The newest the day before, each older one an interval earlier.
            case generations(Int)
            case at([Moment])
        }

        var types: [CredentialType]?
        var starts = Starts.generations(1)
        var recovered = 0
        var interval = CalendarSpan.generation
        var profile = "dod"
        var algorithm: KeyAlgorithm?
        var policyArc = PolicyArc.test
    }

    /// An identity with a fault that a keychain can hold.
    struct Fault: Sendable {
        let specimen: Specimen
        let algorithm: KeyAlgorithm
    }

    /// A moment, fixed or counted from the time of provisioning.
    enum Moment: Sendable {
        case at(Date)
        case after(CalendarSpan)
    }

    /// How many identities of each type are in each selection of each mechanism; a selection that is not named
    /// holds none.
    package struct Outcome: Sendable, Hashable {
        package var counts: [Mechanism: [Selector: [CredentialType: Int]]] = [:]
    }
}

extension Scenario.Outcome: Encodable {
    /// As nested objects, by the names that scenarios use.
    package func encode(to encoder: any Encoder) throws {
        func named<Key: RawRepresentable<String>, Value>(_ values: [Key: Value]) -> [String: Value] {
            Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
        }
        var container = encoder.singleValueContainer()
        try container.encode(named(counts.mapValues { named($0.mapValues(named)) }))
    }
}
