package import KeySharing

/// The JSON document of `provision`.
package struct ProvisioningDocument: Codable, Sendable {
    /// The fault that `--fault` asked for.
    package struct Fault: Codable, Sendable {
        /// The name of the fault.
        package let name: String
        /// The fault as a sentence.
        package let description: String
        /// What a correct consumer does about the fault.
        package let duty: String

        /// A fault by its parts.
        package init(name: String, description: String, duty: String) {
            self.name = name
            self.description = description
            self.duty = duty
        }
    }

    /// A test PKI below which identities were made.
    package struct Authority: Codable, Sendable {
        /// The subject of the root.
        package let root: String
        /// The label of the root's certificate.
        package let label: String
        /// Whether the run made the PKI.
        package let isNew: Bool
        /// The subjects of the roots of other PKIs that the keychain held before this one was made, below which earlier
        /// identities hang.
        package let besides: [String]

        /// A PKI by its parts.
        package init(root: String, label: String, isNew: Bool, besides: [String]) {
            self.root = root
            self.label = label
            self.isNew = isNew
            self.besides = besides
        }
    }

    /// The identities that were made; of a long run the first thousand.
    package let identities: [IdentityDocument]
    /// How many identities were made.
    package let made: Int
    /// How many identities an earlier run had made.
    package let alreadyThere: Int
    /// The name of the scenario; left out without one.
    package let scenario: String?
    /// How the provider serves from now on; left out without a scenario.
    package let service: ServiceBehaviourDocument?
    /// The test PKIs below which the run's identities hang.
    package let authorities: [Authority]
    /// The fault; left out without `--fault`, and where there are several.
    package let fault: Fault?
    /// The faults in the order of the options; left out without `--fault`.
    package let faults: [Fault]?

    /// Describes what a run made.
    package init(
        _ identities: [IdentitySummary], made: Int, alreadyThere: Int, scenario: String? = nil,
        service: ServiceBehaviourDocument? = nil, authorities: [Authority], faults: [Fault] = []
    ) {
        self.identities = identities.map(IdentityDocument.init)
        self.made = made
        self.alreadyThere = alreadyThere
        self.scenario = scenario
        self.service = service
        self.authorities = authorities
        fault = faults.count == 1 ? faults.first : nil
        self.faults = faults.isEmpty ? nil : faults
    }
}
