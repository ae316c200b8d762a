extension TypeRequest {
    /// A reason why items of a valid request cannot be picked.
    public struct Obstacle: Sendable, Hashable {
        /// The reason, as a clause without a full stop.
        public let message: String
        /// The types to request, in addition or instead, so that items can be picked.
        public let missing: [String]
    }

    /// Whether files of the mechanism can have a requested type.
    public var permitsFiles: Bool {
        switch mechanism {
        case .legacy: LegacyRequest(types: identifiers).shape == .files
        case .keySharing2025: fileTypes.contains { permits($0) }
        }
    }

    /// Whether zips of the mechanism can have a requested type.
    public var permitsZips: Bool {
        switch mechanism {
        case .legacy: LegacyRequest(types: identifiers).shape == .archive
        case .keySharing2025:
            IdentitySelector.allCases.contains { permits($0.zipType(under: .keySharing2025)) }
        }
    }

    /// The obstacles of a valid request that do not depend on a provider's identities: requested folders whose files
    /// were not requested (docs/rules.md R2.9), and types that select nothing. Empty if everything that the request
    /// names can be picked.
    public var obstacles: [Obstacle] {
        guard mechanism == .keySharing2025 else {
            guard LegacyRequest(types: identifiers).selection.extents.isEmpty else { return [] }
            return [
                Obstacle(
                    message: "the requested types select no identity",
                    missing: [IdentitySelector.allUser.selectType(under: .legacy)])
            ]
        }
        let closed = IdentitySelector.allCases.filter {
            identifiers.contains($0.selectType(under: .keySharing2025)) && !permits($0.companionType)
        }
        let folders = closed.map { selector in
            Obstacle(
                message: "the folder \(selector.folderName) can be opened, but no file in it can be picked",
                missing: [selector.companionType])
        }
        if !folders.isEmpty || permitsFiles || permitsZips { return folders }
        return [Obstacle(message: "no file or zip has a requested type", missing: [mechanism.plainType])]
    }

    private var fileTypes: [String] { [mechanism.plainType] + IdentitySelector.allCases.map(\.companionType) }

    private func permits(_ type: String) -> Bool {
        identifiers.contains { UniformTypeRegistry.standard.conforms(type, to: $0) }
    }
}
