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
                    name: $0.name, sentence: $0.summary, duty: $0.expectedBehaviour,
                    expectation: $0.expectation)
            })
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
