import ArgumentParser
import CommandSupport
import KeySharing

/// The mechanism of key sharing and, for the legacy one, the types that a consumer requests.
struct MechanismOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The mechanism of key sharing: 2025 or legacy.", valueName: "mechanism"))
    var mechanism: Mechanism = .keySharing2025

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With legacy: a type that the consumer requests; may be repeated.", valueName: "type"),
        completion: .uniformTypes)
    var uti: [String] = []

    func validate() throws {
        if mechanism == .keySharing2025, !uti.isEmpty {
            throw ValidationError(
                "a 2025 provider lists everything and never receives types; --uti requires --mechanism legacy"
            )
        }
    }
}
