import ArgumentParser
import CommandSupport
import KeySharing

/// The types and the mechanism of a consumer's request.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A uniform type to request; may be given several times (default: the mechanism's PKCS #12 type).",
            valueName: "type"),
        completion: .uniformTypes)
    var uti: [String] = []

    @Option(
        help: ArgumentHelp("The mechanism of key sharing: 2025 or legacy.", valueName: "mechanism"))
    var mechanism: Mechanism = .keySharing2025

    /// The types that can be requested, for `--help`.
    static let types = """
        TYPES of 2025:
        \(Mechanism.keySharing2025.requestableTypes.map { "  " + $0 }.joined(separator: "\n"))
          and the system types to which these conform: com.rsa.pkcs-12, public.zip-archive,
          public.folder, public.data

        TYPES of legacy:
        \(Mechanism.legacy.requestableTypes.map { "  " + $0 }.joined(separator: "\n"))
        """
}
