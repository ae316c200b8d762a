internal import KeySharing

/// The types that a consumer can request, as the page offers them.
struct TypeChoices: Encodable {
    /// A type that the user can check or uncheck: a cell of the matrix of selectors and forms, or a general type.
    struct Choice: Encodable {
        /// The form of the items that a type requests.
        enum Form: String, Encodable { case folder, files, zip, system }

        let identifier: String
        let description: String
        /// The name of the selector; nil for a general type.
        let selector: String?
        /// The form in which the identities arrive; `system` for a general type that is not a PKCS #12 file.
        let form: Form
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
            let (selector, form) = Self.place(of: identifier, mechanism)
            return Choice(
                identifier: identifier, description: (try? registry.type(identifier))?.description ?? "",
                selector: selector?.folderName, form: form)
        }
        presets = RequestPreset.all.compactMap { preset in
            preset.types(under: mechanism).map { Preset(key: preset.name, name: preset.title, types: $0) }
        }
    }

    /// The selector and the form of a type. In legacy, a selector's type requests files.
    private static func place(of identifier: String, _ mechanism: Mechanism) -> (
        IdentitySelector?, Choice.Form
    ) {
        for selector in IdentitySelector.allCases {
            if selector.zipType(under: mechanism) == identifier { return (selector, .zip) }
            if selector.selectType(under: mechanism) == identifier {
                return (selector, mechanism == .legacy ? .files : .folder)
            }
            if mechanism == .keySharing2025, selector.companionType == identifier {
                return (selector, .files)
            }
        }
        return (nil, [mechanism.plainType, SystemType.pkcs12].contains(identifier) ? .files : .system)
    }
}
