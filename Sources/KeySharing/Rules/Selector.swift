/// A choice of identities that a consumer can ask for by type (docs/rules.md R2.1).
///
/// A selector names a folder and a zip of the 2025 mechanism, and a type for files and one for an archive in
/// either mechanism. This file and `Mechanism.swift` spell every identifier of both (docs/rules.md R2.15).
/// The order of the cases is the order in which a 2025 provider lists its folders and zips (docs/rules.md
/// R3.1).
///
/// ```swift
/// let selector = Selector.authentication
/// let types = [selector.selectType(.keySharing2025), selector.companionType]
/// let folder = selector.folderName  // "PIV"
/// let zip = Selector(zipName: "PIV.zip")  // .authentication
/// ```
public enum Selector: String, Sendable, Hashable, CaseIterable {
    /// Everything of the user: encryption, signature and authentication identities.
    case allUser = "all-user"
    /// Everything of the user and the device.
    case all
    /// Authentication identities, which Purebred also calls PIV.
    case authentication
    /// Signature identities.
    case signature
    /// Encryption identities.
    case encryption
    /// Device identities.
    case device
    /// Every identity of every type in 2025; in legacy, what lifts "most recent" from other types.
    case noFilter = "no-filter"

    /// The name of the selector's 2025 folder, which is the folder's identifier too (docs/rules.md R3.12).
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

    /// The name of the selector's 2025 zip, which is the zip's identifier too (docs/rules.md R3.12).
    public var zipName: String { folderName + ".zip" }

    /// The type of the 2025 folder, or the type by which a legacy consumer asks for single files.
    public func selectType(_ mechanism: Mechanism) -> String { "\(mechanism.typePrefix).select.\(rawValue)" }

    /// The type of the files in the 2025 folder, which a consumer asks for beside the folder's type
    /// (docs/rules.md R2.9).
    public var companionType: String { selectType(.keySharing2025) + "-p12" }

    /// The type of the 2025 zip, or the type by which a legacy consumer asks for an archive (docs/rules.md
    /// R2.14).
    public func zipType(_ mechanism: Mechanism) -> String { "\(mechanism.typePrefix).zip.\(rawValue)" }

    /// The selector whose folder has the name given; nil where there is none.
    public init?(folderName: String) {
        guard let match = Self.allCases.first(where: { $0.folderName.hasSameBytes(as: folderName) }) else {
            return nil
        }
        self = match
    }

    /// The selector whose zip has the name given; nil where there is none.
    public init?(zipName: String) {
        guard let match = Self.allCases.first(where: { $0.zipName.hasSameBytes(as: zipName) }) else {
            return nil
        }
        self = match
    }
}
