internal import KeyShareProvider
internal import KeyShareWire
package import TestVectors

/// A test vector that consists of a running provider. The consumer must import one identity over the provider's socket.
package struct ServiceVector: Sendable {
    /// The deliberate error of the provider.
    enum Trouble: Sendable {
        /// The provider makes no error.
        case none
        /// The service has this fault.
        case fault(ServiceFault)
        /// The device is locked after the provider has returned the password.
        case locked
    }

    /// The entry in manifests and reports.
    package let entry: TestVectorSuite.Entry
    let trouble: Trouble
    /// Whether the consumer receives the identifier of the archive, and must import the archive instead of the file.
    let wantsArchive: Bool

    /// All test vectors of the service.
    package static let all: [ServiceVector] =
        [
            ServiceVector(
                "service-sound", "A provider without a fault.", "imports the identity",
                "Every other service vector differs from this one in one respect.", .none, .accept)
        ]
        + ServiceFault.allCases.map { fault in
            let expectation = fault.expectation
            return ServiceVector(
                "service-\(fault.name)", "A provider with a fault: \(fault.explanation).",
                expectation.behaviour, expectation.reason, .fault(fault),
                expectation.imports ? .accept : .refuse,
                mayBlamePassword: expectation.mayBlamePassword, wantsArchive: expectation.wantsArchive)
        }
        + [
            ServiceVector(
                "service-device-locked", "The device is locked between the password and the read.",
                "reports that it received no bytes, and imports nothing",
                "Users lock their phones at any moment, and locking ends every grant.", .locked,
                .refuse)
        ]

    private init(
        _ name: String, _ summary: String, _ behaviour: String, _ reason: String, _ trouble: Trouble,
        _ answer: TestVectorOutcome.Answer, mayBlamePassword: Bool = false, wantsArchive: Bool = false
    ) {
        let outcome =
            answer == .accept ? TestVectorOutcome(.accept, identities: 1) : TestVectorOutcome.refuse
        entry = TestVectorSuite.Entry(
            name: name, groups: [.service], file: nil, password: nil, summary: summary,
            expectedBehaviour: behaviour, reason: reason, expected: .init { _ in outcome },
            mayBlamePassword: mayBlamePassword)
        self.trouble = trouble
        self.wantsArchive = wantsArchive
    }
}
