package import KeySharing

/// The JSON document of `--list-presets`.
package struct PresetsDocument: Codable, Sendable {
    /// One common request.
    package struct Entry: Codable, Sendable {
        /// The name that `--preset` accepts.
        package let name: String
        /// A description of the identities that the preset requests.
        package let description: String
        /// The types of the request.
        package let types: [String]
    }

    /// The mechanism: `2025` or `legacy`.
    package let mechanism: String
    /// The common requests of the mechanism.
    package let presets: [Entry]

    /// Creates the document with all presets of `mechanism`.
    package init(_ mechanism: Mechanism) {
        self.mechanism = mechanism.rawValue
        presets = RequestPreset.all.compactMap { preset in
            preset.types(under: mechanism).map {
                Entry(name: preset.name, description: preset.title, types: $0)
            }
        }
    }
}
