import ArgumentParser
import CommandSupport
import KeySharing

/// The types and the mechanism of a consumer's request.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A uniform type to request; may be repeated (default: the mechanism's PKCS #12 type).",
            valueName: "type"),
        completion: .uniformTypes)
    var uti: [String] = []

    @Option(
        help: ArgumentHelp(
            "Request the types of a common request, in addition to those of --uti.", valueName: "name"),
        completion: .requestPresets)
    var preset: String?

    @Flag(help: "List the presets with their types and exit.")
    var listPresets = false

    @Option(
        help: ArgumentHelp("The mechanism of key sharing: 2025 or legacy.", valueName: "mechanism"))
    var mechanism: Mechanism = .keySharing2025

    func validate() throws {
        guard let preset else { return }
        let names = RequestPreset.all.filter { $0.types(under: mechanism) != nil }.map(\.name)
        guard let known = RequestPreset.named(preset) else {
            throw ValidationError(
                "unknown preset \u{201C}\(preset)\u{201D}; the presets are \(names.joined(separator: ", "))")
        }
        guard known.types(under: mechanism) != nil else {
            let other = mechanism == .legacy ? "omit --mechanism legacy" : "add --mechanism legacy"
            throw ValidationError(
                "the preset \(known.name) does not exist for the mechanism \(mechanism): \(other)")
        }
    }

    /// The requested types: those of the preset, then those of `--uti`. Empty if neither is given.
    var types: [String] {
        (preset.flatMap(RequestPreset.named)?.types(under: mechanism) ?? []) + uti
    }

    /// The command-line options that reproduce this request, for a hint.
    var arguments: String {
        (preset.map { " --preset " + $0.quotedForShell } ?? "")
            + uti.map { " --uti " + $0.quotedForShell }.joined()
            + (mechanism == .legacy ? " --mechanism legacy" : "")
    }

    /// Lists the presets that the selected mechanism supports.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    func writePresets(_ console: Console) throws {
        let document = PresetsDocument(mechanism)
        try console.present(document) {
            var table = Table("PRESET", .init("REQUEST", .wraps(20)), .init("TYPES", .wraps(30)))
            for preset in document.presets {
                table.append(preset.name, preset.description, preset.types.joined(separator: " "))
            }
            try console.table(table)
        }
    }

    /// The types that can be requested, for `--help`.
    static let requestable = """
        TYPES of 2025:
        \(Mechanism.keySharing2025.requestableTypes.map { "  " + $0 }.joined(separator: "\n"))
          and the system types to which these conform:
          com.rsa.pkcs-12, public.zip-archive, public.folder, public.data

        TYPES of legacy:
        \(Mechanism.legacy.requestableTypes.map { "  " + $0 }.joined(separator: "\n"))
        """
}

extension CompletionKind {
    /// The names of the presets; if the line names a mechanism, only its presets.
    fileprivate static let requestPresets = CompletionKind.values { request in
        let mechanism = request.values(of: "--mechanism").compactMap(Mechanism.init(rawValue:)).last
        return request.matching(
            RequestPreset.all.filter { preset in
                mechanism.map { preset.types(under: $0) != nil } ?? true
            }.map(\.name))
    }
}
