/// A common request of a consumer, with a stable name (docs/rules.md R1.8).
///
/// ```swift
/// let preset = RequestPreset.named("newest-signature-and-all-encryption")
/// let types = preset?.types(under: .keySharing2025)  // two folders and their files
/// ```
public struct RequestPreset: Sendable, Hashable {
    /// The stable name.
    public let name: String
    /// The requested identities, as a short title.
    public let title: String
    private let typesByMechanism: [Mechanism: [String]]

    /// The types of the request; nil if the mechanism has no such request.
    public func types(under mechanism: Mechanism) -> [String]? { typesByMechanism[mechanism] }

    /// All presets, in the order of lists. Every mechanism has at least one.
    public static let all = [
        RequestPreset("single-files", "Every key as a single file") { [$0.plainType] },
        RequestPreset(
            "newest-signature-and-all-encryption", "The most recent signature and all encryption keys"
        ) { files($0, .signature, .encryption) },
        RequestPreset("newest-authentication", "The most recent authentication key (PIV)") {
            files($0, .authentication)
        },
        RequestPreset("all-user-zip", "All keys of the user as a zip") {
            [IdentitySelector.allUser.zipType(under: $0)]
        },
        RequestPreset("every-signature", "Signature keys of every generation") {
            $0 == .legacy ? files($0, .signature, .noFilter) : nil
        },
        RequestPreset("everything", "Everything, of every generation") {
            $0 == .keySharing2025 ? files($0, .noFilter) : nil
        },
        RequestPreset("any-pkcs12", "Any PKCS #12 file, from any provider") {
            $0 == .keySharing2025 ? [SystemType.pkcs12] : nil
        },
    ]

    /// The preset with this name, in any letter case; nil if there is none.
    public static func named(_ name: String) -> RequestPreset? {
        all.first { $0.name == name.lowercased() }
    }

    private init(_ name: String, _ title: String, _ types: (Mechanism) -> [String]?) {
        self.name = name
        self.title = title
        typesByMechanism = Mechanism.allCases.reduce(into: [:]) { $0[$1] = types($1) }
    }

    /// The types of single files; in 2025, those of folders with their files (docs/rules.md R2.9).
    private static func files(_ mechanism: Mechanism, _ selectors: IdentitySelector...) -> [String] {
        selectors.flatMap { selector in
            [selector.selectType(under: mechanism)] + (mechanism == .legacy ? [] : [selector.companionType])
        }
    }
}
