import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider
import KeySharing
import OpenSSL
import TestCredentials

extension ScenariosDocument {
    /// Describes scenarios.
    init(_ scenarios: [Scenario]) {
        self.init(scenarios: scenarios.map(Entry.init))
    }
}

extension ScenariosDocument.Entry {
    /// Describes one scenario.
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

extension ServiceBehaviourDocument {
    /// Describes a behaviour of the service.
    init(_ behaviour: ServiceBehaviour) {
        self.init(
            scenario: behaviour.scenario, root: behaviour.root?.rawValue, fault: behaviour.fault?.rawValue,
            pasteboardExpiry: behaviour.pasteboardExpiry, profile: behaviour.profile?.rawValue,
            iterations: behaviour.iterations, chain: behaviour.chain, friendlyName: behaviour.friendlyName)
    }
}

extension FaultsDocument<TestVector.Expectation> {
    /// Describes defective test vectors.
    init(_ vectors: [TestVector]) {
        self.init(
            faults: vectors.map {
                Fault(
                    name: $0.name, description: $0.summary, duty: $0.expectedBehaviour,
                    expectation: $0.expectation)
            })
    }
}

extension ProvisioningDocument.Authority {
    /// Describes the PKI that a run used.
    init(_ use: Provisioner.AuthorityUse) {
        self.init(
            root: "\(use.root.subject)", label: use.root.label, isNew: use.isNew,
            besides: use.others.map { "\($0.subject)" })
    }
}

extension Console {
    /// Tells of each PKI that a run had to make beside others, which an anchor that was installed before does not cover.
    func note(_ authorities: [Provisioner.AuthorityUse]) {
        for use in authorities where use.isNew && !use.others.isEmpty {
            let others = use.others.map(Self.name).joined(separator: ", ")
            note(
                "made another test PKI, \(Self.name(use.root)), because no authority is valid over all dates of this "
                    + "run: what was made now hangs below it, what was there before below \(others). Install trust anew."
            )
        }
    }

    private static func name(_ root: Certificate) -> String {
        root.subject.commonName ?? "\(root.subject)"
    }
}

extension IntegrityDocument {
    /// Describes a check of the provider's keychain.
    init(_ report: IntegrityReport) {
        self.init(
            identities: report.identities,
            problems: report.problems.map {
                Problem(kind: $0.kind.rawValue, label: $0.label, message: $0.reason)
            })
    }
}

extension Console {
    /// Writes problems to standard error, a line for each.
    static func problems(_ problems: [IntegrityProblem]) {
        for problem in problems {
            standardError(problem.label.map { "\($0): \(problem.reason)" } ?? problem.reason)
        }
    }
}

extension CommandFailure {
    /// The failure of a command that must not go on with a keychain or a device that has these problems.
    init(damage problems: [IntegrityProblem]) {
        let place: DamagedPlace =
            if problems.contains(where: { $0.kind == .structure }) {
                .keychainFile
            } else {
                problems.contains { $0.kind != .device } ? .keychainRecords : .device
            }
        self.init(problems: problems.count, in: place)
    }
}
