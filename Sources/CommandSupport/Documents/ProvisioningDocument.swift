package import Foundation
package import KeySharing

/// The JSON document of `provision`.
package struct ProvisioningDocument: Codable, Sendable {
    /// One identity that was made.
    package struct Identity: Codable, Sendable {
        /// The label of the identity.
        package let label: String
        /// The credential type under the rules of 2025.
        package let type: String
        /// The serial number in hexadecimal digits.
        package let serial: String
        /// When the certificate begins to be valid.
        package let notBefore: Date

        init(_ identity: IdentitySummary) {
            label = identity.label
            type = identity.type(.keySharing2025).rawValue
            serial = identity.serialNumber
            notBefore = identity.notBefore
        }
    }

    /// The fault that `--fault` asked for.
    package struct Fault: Codable, Sendable {
        /// The name of the fault.
        package let name: String
        /// The fault as a sentence.
        package let sentence: String
        /// What a correct consumer does about the fault.
        package let duty: String

        /// A fault by its parts.
        package init(name: String, sentence: String, duty: String) {
            self.name = name
            self.sentence = sentence
            self.duty = duty
        }
    }

    /// The identities that were made; of a long run the first thousand.
    package let identities: [Identity]
    /// How many identities were made.
    package let made: Int
    /// How many identities an earlier run had made.
    package let alreadyThere: Int
    /// The name of the scenario; left out without one.
    package let scenario: String?
    /// How the provider serves from now on; left out without a scenario.
    package let service: ServiceBehaviourDocument?
    /// The fault; left out without `--fault`.
    package let fault: Fault?

    /// Describes what a run made.
    package init(
        _ identities: [IdentitySummary], made: Int, alreadyThere: Int, scenario: String? = nil,
        service: ServiceBehaviourDocument? = nil, fault: Fault? = nil
    ) {
        self.identities = identities.map(Identity.init)
        self.made = made
        self.alreadyThere = alreadyThere
        self.scenario = scenario
        self.service = service
        self.fault = fault
    }
}
