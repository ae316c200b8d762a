/// A choice of identities that a consumer can request by type (docs/rules.md R2.1).
///
/// A selector has a folder and a zip in the 2025 mechanism. In both mechanisms it has a type for files and a type for
/// an archive. This file and `Mechanism.swift` define every type identifier of both mechanisms (docs/rules.md R2.15).
/// The order of the cases is the order in which a 2025 provider lists its folders and zips (docs/rules.md R3.1).
///
/// ```swift
/// let selector = IdentitySelector.authentication
/// let types = [selector.selectType(under: .keySharing2025), selector.companionType]
/// let folder = selector.folderName  // "PIV"
/// let zip = IdentitySelector(zipName: "PIV.zip")  // .authentication
/// ```
public enum IdentitySelector: String, Sendable, Hashable, CaseIterable {
    /// All identities of the user: encryption, signature and authentication.
    case allUser = "all-user"
    /// All identities of the user and the device.
    case all
    /// Authentication identities, which Purebred also calls PIV.
    case authentication
    /// Signature identities.
    case signature
    /// Encryption identities.
    case encryption
    /// Device identities.
    case device
    /// In 2025, every identity of every type. In legacy, a modifier that selects every generation of the other
    /// requested types.
    case noFilter = "no-filter"

    /// The name of the selector's 2025 folder, which is also the folder's identifier (docs/rules.md R3.12).
    public var folderName: String {
        switch self {
        case .allUser: "All User"
        case .all: "All"
        case .authentication: "PIV"
        case .signature: "Signature"
        case .encryption: "Encryption"
        case .device: "Device"
        case .noFilter: "Unfiltered"
        }
    }

    /// The name of the selector's 2025 zip, which is also the zip's identifier (docs/rules.md R3.12).
    public var zipName: String { folderName + ".zip" }

    /// Returns the type of the 2025 folder, or the type with which a legacy consumer requests single files.
    public func selectType(under mechanism: Mechanism) -> String {
        "\(mechanism.typePrefix).select.\(rawValue)"
    }

    /// The type of the files in the 2025 folder. A consumer requests it together with the folder's type (docs/rules.md
    /// R2.9).
    public var companionType: String { selectType(under: .keySharing2025) + "-p12" }

    /// Returns the type of the 2025 zip, or the type with which a legacy consumer requests an archive (docs/rules.md
    /// R2.14).
    public func zipType(under mechanism: Mechanism) -> String { "\(mechanism.typePrefix).zip.\(rawValue)" }

    /// Creates the selector whose folder has exactly this name; nil if no folder has it.
    public init?(folderName: String) {
        guard let match = Self.allCases.first(where: { $0.folderName.hasSameBytes(as: folderName) }) else {
            return nil
        }
        self = match
    }

    /// Creates the selector whose zip has exactly this name; nil if no zip has it.
    public init?(zipName: String) {
        guard let match = Self.allCases.first(where: { $0.zipName.hasSameBytes(as: zipName) }) else {
            return nil
        }
        self = match
    }
}

// With Objective-C, the name would be ambiguous: Foundation exports the runtime's `Selector`.
#if !canImport(ObjectiveC)
    /// The former name of ``IdentitySelector``.
    @available(*, deprecated, renamed: "IdentitySelector")
    public typealias Selector = IdentitySelector
#endif
