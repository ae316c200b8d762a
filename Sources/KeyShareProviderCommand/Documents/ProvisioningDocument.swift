package import CommandSupport
package import KeySharing
internal import OpenSSL
internal import TestCredentials

/// The JSON document of `provision`.
package struct ProvisioningDocument: Codable, Sendable {
    /// The fault from `--fault`.
    package struct Fault: Codable, Sendable {
        /// The name of the fault.
        package let name: String
        /// The fault as a sentence.
        package let description: String
        /// The behaviour of a correct consumer.
        package let duty: String

        /// Creates a fault.
        package init(name: String, description: String, duty: String) {
            self.name = name
            self.description = description
            self.duty = duty
        }
    }

    /// A test PKI that issued identities in this run.
    package struct Authority: Codable, Sendable {
        /// The subject of the root.
        package let root: String
        /// The label of the root's certificate.
        package let label: String
        /// Whether the run created the PKI.
        package let isNew: Bool
        /// The root subjects of the older PKIs that were in the keychain when this PKI was created. Earlier identities
        /// were issued by those PKIs.
        package let besides: [String]

        /// Creates the description of a PKI.
        package init(root: String, label: String, isNew: Bool, besides: [String]) {
            self.root = root
            self.label = label
            self.isNew = isNew
            self.besides = besides
        }
    }

    /// The created identities; of a long run only the first thousand.
    package let identities: [IdentityDocument]
    /// The number of created identities.
    package let made: Int
    /// The number of identities that an earlier run created.
    package let alreadyThere: Int
    /// The name of the scenario; omitted if there is none.
    package let scenario: String?
    /// The provider's behaviour from now on; omitted if there is no scenario.
    package let service: ServiceBehaviourDocument?
    /// The test PKIs that issued the run's identities.
    package let authorities: [Authority]
    /// The size of the pool from which the keys were drawn; omitted without `--key-pool`.
    package let keyPool: Int?
    /// The fault; omitted without `--fault`, and if there are several.
    package let fault: Fault?
    /// The faults in the order of the options; omitted without `--fault`.
    package let faults: [Fault]?

    /// Creates the document for the outcome of a run.
    package init(
        _ identities: [IdentitySummary], made: Int, alreadyThere: Int, scenario: String? = nil,
        service: ServiceBehaviourDocument? = nil, authorities: [Authority], faults: [Fault] = [],
        keyPool: Int? = nil
    ) {
        self.keyPool = keyPool
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

extension ProvisioningDocument.Authority {
    /// Creates the entry for a PKI that issued identities in the run.
    init(_ use: Provisioner.AuthorityUse) {
        self.init(
            root: "\(use.root.subject)", label: use.root.label, isNew: use.isNew,
            besides: use.others.map { "\($0.subject)" })
    }
}

extension Console {
    /// Prints a note for each PKI that the run created in addition to existing ones. Trust anchors that are already
    /// installed do not cover the new PKI.
    func note(_ authorities: [Provisioner.AuthorityUse]) {
        for use in authorities where use.isNew && !use.others.isEmpty {
            let others = use.others.map(Self.name).joined(separator: ", ")
            note(
                "created another test PKI, \(Self.name(use.root)), because no authority is valid on all dates of this "
                    + "run. It issued the new identities; the earlier ones were issued by \(others). Install the trust anchors again."
            )
        }
    }

    private static func name(_ root: Certificate) -> String {
        root.subject.commonName ?? "\(root.subject)"
    }
}
