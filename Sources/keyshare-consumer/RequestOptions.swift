import ArgumentParser
import CommandSupport
import KeySharing
import UniformTypes

/// What a consumer asks for.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A uniform type to ask for; may be given several times (default: purebred2025.rsa.pkcs-12).",
            valueName: "type"))
    var uti: [String] = []

    /// The request of the 2025 mechanism.
    ///
    /// - Throws: `TypeRequestError`.
    func request() throws -> TypeRequest {
        try TypeRequest(uti, mechanism: .keySharing2025)
    }
}
