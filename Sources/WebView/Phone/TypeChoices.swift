internal import KeySharing

/// The types that a consumer can request, as the page offers them.
struct TypeChoices: Encodable {
    /// A type that the user can check or uncheck.
    struct Choice: Encodable {
        let identifier: String
        let description: String
        let group: String
    }

    /// A common request: a name and its types.
    struct Preset: Encodable {
        /// The stable name, which `--preset` accepts.
        let key: String
        /// The title.
        let name: String
        let types: [String]
    }

    /// The types that can be requested.
    let types: [Choice]
    /// The common requests, in the order of the page.
    let presets: [Preset]

    /// The choices of both mechanisms, keyed by the mechanism's name.
    static let all = Dictionary(
        uniqueKeysWithValues: Mechanism.allCases.map { ($0.rawValue, TypeChoices($0)) })

    private init(_ mechanism: Mechanism) {
        let registry = UniformTypeRegistry.standard
        let system =
            mechanism == .legacy
            ? [] : [SystemType.pkcs12, SystemType.zipArchive, "public.folder", "public.data"]
        types = (mechanism.requestableTypes + system).map { identifier in
            Choice(
                identifier: identifier, description: (try? registry.type(identifier))?.description ?? "",
                group: Self.group(identifier, mechanism))
        }
        presets = RequestPreset.all.compactMap { preset in
            preset.types(under: mechanism).map { Preset(key: preset.name, name: preset.title, types: $0) }
        }
    }

    private static func group(_ identifier: String, _ mechanism: Mechanism) -> String {
        if identifier == mechanism.plainType { return "Single files" }
        if IdentitySelector.allCases.contains(where: { $0.zipType(under: mechanism) == identifier }) {
            return "Zip archives"
        }
        if mechanism == .keySharing2025,
            IdentitySelector.allCases.contains(where: { $0.companionType == identifier })
        {
            return "Files in folders"
        }
        if IdentitySelector.allCases.contains(where: { $0.selectType(under: mechanism) == identifier }) {
            return mechanism == .legacy ? "Single files" : "Folders"
        }
        return "Types of the system"
    }
}
