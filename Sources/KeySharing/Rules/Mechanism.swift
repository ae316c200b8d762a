/// One of the two mechanisms of key sharing. They differ in types, lists and passwords (docs/rules.md R1).
///
/// ```swift
/// let owner = Mechanism(owning: "purebred2025.zip.all")  // .keySharing2025
/// let shared = Mechanism(owning: SystemType.pkcs12)  // nil: a system type belongs to either
/// let types = Mechanism.legacy.requestableTypes  // 15 identifiers
/// ```
public enum Mechanism: String, Sendable, Hashable, CaseIterable {
    /// The mechanism of 2016: the provider filters by type, and the password travels on the pasteboard.
    case legacy
    /// The mechanism of 2025: the provider lists everything, the system disables items that were not requested, and a
    /// password service returns the password.
    case keySharing2025 = "2025"

    /// Creates the mechanism that owns a type, according to the type's prefix. Nil for a system type, which both
    /// mechanisms use (docs/rules.md R1.2).
    public init?(owning identifier: String) {
        guard let match = Self.allCases.first(where: { identifier.hasPrefix($0.typePrefix + ".") }) else {
            return nil
        }
        self = match
    }

    /// The type of a single PKCS #12 file, which is also the type of a request without types (docs/rules.md R1.4).
    public var plainType: String {
        switch self {
        case .legacy: SystemType.pkcs12
        case .keySharing2025: "\(typePrefix).rsa.pkcs-12"
        }
    }

    /// The types that a consumer can request: 15 in legacy, 22 in 2025 (docs/rules.md R2.2, R2.3).
    public var requestableTypes: [String] {
        let selecting = IdentitySelector.allCases.map { $0.selectType(under: self) }
        let companions = self == .keySharing2025 ? IdentitySelector.allCases.map(\.companionType) : []
        return [plainType] + selecting + companions
            + IdentitySelector.allCases.map { $0.zipType(under: self) }
    }

    /// The first component of the mechanism's own types.
    var typePrefix: String {
        switch self {
        case .legacy: "purebred"
        case .keySharing2025: "purebred2025"
        }
    }
}

extension Mechanism: CustomStringConvertible {
    /// `legacy` or `2025`, as in commands and JSON documents.
    public var description: String { rawValue }
}

/// The system types that key sharing uses in addition to the selectors' types.
///
/// ```swift
/// let request = try TypeRequest([SystemType.pkcs12], under: .keySharing2025)
/// ```
public enum SystemType {
    /// The type of any PKCS #12 file.
    public static let pkcs12 = "com.rsa.pkcs-12"
    /// The type of any zip file.
    public static let zipArchive = "public.zip-archive"
}
