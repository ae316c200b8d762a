internal import KeyShareProvider
internal import KeyShareWire
package import TestCredentials

/// A provider on a socket that a consumer is to import one identity from, and what is wrong with it.
package struct ServiceVector: Sendable {
    /// What is wrong with the provider.
    enum Trouble: Sendable {
        /// Nothing.
        case none
        /// It does one thing wrong.
        case fault(ServiceFault)
        /// Its device is locked once it has answered with the password.
        case locked
    }

    /// What stands in manifests and reports.
    package let entry: TestVectorSuite.Entry
    let trouble: Trouble
    /// Whether the consumer is to take the archive, whose identifier it knows, rather than the file.
    let wantsArchive: Bool

    /// Every such test vector.
    package static let all: [ServiceVector] =
        [
            ServiceVector(
                "service-sound", "A provider as it should be.", "imports the identity",
                "Everything that follows differs from this in one thing.", .none, .accept)
        ]
        + ServiceFault.allCases.map { fault in
            let duty = duty(fault)
            return ServiceVector(
                "service-\(fault.name)", "A provider at fault: \(fault.explanation).", duty.behaviour,
                duty.reason,
                .fault(fault), duty.answer,
                mayBlamePassword: ["wrong-password", "password-rotated"].contains(fault.name),
                wantsArchive: fault.name == "cut-item")
        }
        + [
            ServiceVector(
                "service-device-locked", "The device is locked between the password and the read.",
                "says that it gets no bytes, and imports nothing",
                "Users lock their phones at any moment; what was granted before ends with it.", .locked,
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

    /// What a correct consumer does about a fault, and why.
    private static func duty(
        _ fault: ServiceFault
    ) -> (answer: TestVectorOutcome.Answer, behaviour: String, reason: String) {
        switch fault.name {
        case "other-services-first":
            (
                .accept, "takes the service by its name",
                "The services are a dictionary without an order; the sample app takes the first."
            )
        case "slow": (.accept, "waits", "A provider that is woken up first takes seconds.")
        case "quote-password", "non-ascii-password":
            (
                .accept, "takes the password byte for byte",
                "A password that passes through a shell, a log or a wrong encoding opens nothing."
            )
        case "cut-stop":
            (
                .accept, "imports what has arrived",
                "Everything has arrived by then; only the end of access is not confirmed."
            )
        case "wrong-password", "password-rotated":
            (
                .refuse, "says that the password does not open the item, and imports nothing",
                "The password is replaced in the settings at any moment; asking once more mends it."
            )
        case "neither":
            (
                .refuse, "does not take no answer for a password",
                "The reply handler has a password and an error, and both may be nil."
            )
        case "truncated-item":
            (
                .refuse, "says that the file is broken, and does not blame the password",
                "A file that was cut on its way is not mended by another password."
            )
        default:
            (
                .refuse, "says that the provider fails, and imports nothing",
                "Extensions are killed at any moment; a consumer that waits for ever hangs with them."
            )
        }
    }
}
