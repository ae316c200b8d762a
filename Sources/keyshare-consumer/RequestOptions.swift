import ArgumentParser
import CommandSupport
import KeySharing
import UniformTypes

/// What a consumer asks for.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A uniform type to ask for; may be given several times (default: \(Mechanism.keySharing2025.plainType)).",
            valueName: "type"))
    var uti: [String] = []

    /// The request of the 2025 mechanism.
    ///
    /// - Throws: `TypeRequestError`.
    func request() throws -> TypeRequest {
        try TypeRequest(uti, mechanism: .keySharing2025)
    }

    /// The types that can be asked for, for `--help`.
    static let types = """
        TYPES:
        \(Mechanism.keySharing2025.requestableTypes.map { "  " + $0 }.joined(separator: "\n"))
          and the system's, to which these conform: com.rsa.pkcs-12, public.zip-archive,
          public.folder, public.data
        """
}
