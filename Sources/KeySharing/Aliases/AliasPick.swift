public import Foundation

/// The aliases that a consumer should use for a purpose. This choice is the consumer's: the provider selects nothing.
///
/// ```swift
/// let pick = AliasPick(.decryption, from: entries, at: Date(timeIntervalSince1970: 1_795_305_600))
/// let aliases = pick.aliases  // every alias of the type Encryption
/// ```
public struct AliasPick: Sendable, Hashable {
    /// The purposes that a consumer picks a key for.
    public enum Purpose: String, Sendable, Hashable, CaseIterable {
        /// Logging in to a website.
        case authentication
        /// Signing messages.
        case signing
        /// Reading encrypted messages.
        case decryption
        /// Authenticating the device.
        case device
    }

    /// The reasons why a pick is empty.
    public enum Obstacle: Sendable, Hashable {
        /// No certificate has a type of the purpose.
        case noCertificateOfType
        /// Certificates of the purpose's types exist, but each has expired or is not yet valid.
        case noneValid(expired: Int, notYetValid: Int)
    }

    /// The purpose of the key.
    public let purpose: Purpose
    /// The picked aliases: for decryption every alias of the type in bytewise order, otherwise at most one.
    public let aliases: [String]
    /// Why no alias was picked; nil if one was.
    public let obstacle: Obstacle?
    /// The aliases of other types whose type is a known pitfall, with the pitfalls. One of them may be the alias that
    /// the user means.
    public let suspects: [String: [AliasClassification.Warning]]

    /// Picks aliases: the newest valid certificate of the purpose's first type that has one. On equal dates, the
    /// smallest alias wins (bytewise).
    ///
    /// Validity and age do not matter for decryption, because older messages must stay readable.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the key.
    ///   - entries: The entries of the store, in any order.
    ///   - date: The time at which the certificate must be valid.
    public init(_ purpose: Purpose, from entries: [AliasEntry], at date: Date) {
        self.purpose = purpose
        let certificates = entries.sorted(by: AliasEntry.precedes).compactMap { entry in
            entry.certificate.map { (alias: entry.alias, certificate: $0) }
        }
        let others = certificates.filter { !purpose.types.contains($0.certificate.type) }
        suspects = Dictionary(
            others.filter { !$0.certificate.warnings.isEmpty }.map { ($0.alias, $0.certificate.warnings) }
        ) { first, _ in first }
        let suitable = certificates.filter { purpose.types.contains($0.certificate.type) }
        guard purpose != .decryption else {
            aliases = suitable.map(\.alias)
            obstacle = suitable.isEmpty ? .noCertificateOfType : nil
            return
        }
        let valid = suitable.filter { $0.certificate.notBefore <= date && date <= $0.certificate.notAfter }
        let type = purpose.types.first { type in valid.contains { $0.certificate.type == type } }
        let candidates = valid.filter { $0.certificate.type == type }
        let newest = candidates.map(\.certificate.notBefore).max()
        aliases = candidates.first { $0.certificate.notBefore == newest }.map { [$0.alias] } ?? []
        if !aliases.isEmpty {
            obstacle = nil
        } else if suitable.isEmpty {
            obstacle = .noCertificateOfType
        } else {
            let expired = suitable.count { $0.certificate.notAfter < date }
            obstacle = .noneValid(expired: expired, notYetValid: suitable.count - expired)
        }
    }

    /// Why no alias was picked, as a sentence without a full stop; nil if one was.
    public var reason: String? {
        let types = purpose.types.map(\.rawValue).joined(separator: " or ")
        switch obstacle {
        case nil: return nil
        case .noCertificateOfType: return "no certificate has the type \(types)"
        case .noneValid(let expired, let notYetValid):
            let count = expired + notYetValid
            if count == 1 {
                return "the only certificate of the type \(types) "
                    + (expired == 1 ? "has expired" : "is not yet valid")
            }
            if notYetValid == 0 { return "all \(count) certificates of the type \(types) have expired" }
            return "none of the \(count) certificates of the type \(types) is valid: "
                + "\(expired) expired, \(notYetValid) not yet valid"
        }
    }
}

extension AliasPick.Purpose {
    /// The types that serve the purpose, the preferred one first.
    public var types: [AliasType] {
        switch self {
        case .authentication: [.pivAuthentication, .identity]
        case .signing: [.digitalSignature]
        case .decryption: [.encryption]
        case .device: [.device]
        }
    }
}
