/// What a consumer can ask for: the last component of a selecting type, and the folder and zip that hold it.
///
/// This file is the one place that spells the identifiers of either mechanism. The order of the cases is the
/// order in which the 2025 provider lists its folders and its zips.
public enum Selector: String, Sendable, Hashable, CaseIterable {
    case allUser = "all-user"
    case all
    case authentication
    case signature
    case encryption
    case device
    case noFilter = "no-filter"

    /// The 2025 folder's name, which is also its identifier.
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

    /// The 2025 zip's name, which is also its identifier.
    public var zipName: String { folderName + ".zip" }

    /// The type of the 2025 folder, or the one by which a legacy consumer asks for single files.
    public func selectType(_ mechanism: Mechanism) -> String { "\(mechanism.typePrefix).select.\(rawValue)" }

    /// The 2025 type of the files inside the folder.
    public var companionType: String { selectType(.keySharing2025) + Self.companionSuffix }

    /// The type of the 2025 zip, or the one by which a legacy consumer asks for an archive.
    public func zipType(_ mechanism: Mechanism) -> String { "\(mechanism.typePrefix).zip.\(rawValue)" }

    /// The selector whose folder has this name.
    public init?(folderName: String) {
        guard let match = Self.allCases.first(where: { $0.folderName == folderName }) else { return nil }
        self = match
    }

    /// The selector whose zip has this name.
    public init?(zipName: String) {
        guard let match = Self.allCases.first(where: { $0.zipName == zipName }) else { return nil }
        self = match
    }

    private static let companionSuffix = "-p12"
}

/// The system types that key sharing names outside the selectors.
public enum SystemType {
    /// A PKCS #12 file of whatever origin.
    public static let pkcs12 = "com.rsa.pkcs-12"
    /// A zip file of whatever origin.
    public static let zipArchive = "public.zip-archive"
}

extension Mechanism {
    /// The type of a single PKCS #12 file, and what asking for nothing means.
    public var plainType: String {
        switch self {
        case .legacy: SystemType.pkcs12
        case .keySharing2025: "\(typePrefix).rsa.pkcs-12"
        }
    }

    /// What a type identifier says about which mechanism it belongs to; nil for the system's, which belong
    /// to either.
    public init?(owning identifier: String) {
        guard let match = Self.allCases.first(where: { identifier.hasPrefix($0.typePrefix + ".") }) else {
            return nil
        }
        self = match
    }

    /// Every type a consumer of this mechanism can ask for: fifteen legacy ones, twenty-two of 2025.
    public var requestableTypes: [String] {
        switch self {
        case .legacy:
            [plainType] + Selector.allCases.map { $0.selectType(self) }
                + Selector.allCases.map { $0.zipType(self) }
        case .keySharing2025:
            [plainType] + Selector.allCases.map { $0.selectType(self) }
                + Selector.allCases.map(\.companionType) + Selector.allCases.map { $0.zipType(self) }
        }
    }

    fileprivate var typePrefix: String {
        switch self {
        case .legacy: "purebred"
        case .keySharing2025: "purebred2025"
        }
    }
}
