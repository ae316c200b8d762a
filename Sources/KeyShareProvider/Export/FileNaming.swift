internal import Foundation
package import KeySharing

/// The naming scheme for the files of a folder.
package enum FileNaming: String, CaseIterable, Sendable {
    /// By type and serial number, as the provider publishes them: `signature_048F.p12`.
    case serial
    /// By person, type and the first day of the validity period: `EXAMPLE.DANA.1234567890_signature_2026-01-01.p12`.
    case person

    /// Returns the name of an identity's file. It is not necessarily unique.
    package func name(of identity: IdentitySummary, _ mechanism: Mechanism) -> String {
        switch self {
        case .serial: return identity.filename(under: mechanism)
        case .person:
            let person = Self.plain(identity.details?.commonName ?? String(identity.label.prefix(16)))
            let prefix = identity.type(under: mechanism).filenamePrefix
            return "\(person)_\(prefix)_\(identity.notBefore.formatted(.iso8601.year().month().day())).p12"
        }
    }

    /// Returns a common name as part of a file name for any system. Path separators and invalid characters become
    /// underscores.
    private static func plain(_ name: String) -> String {
        var plain = ""
        for scalar in name.unicodeScalars {
            let isAllowed =
                scalar.value > 0x1F && scalar.value != 0x7F && !"/\\:*?\"<>|".unicodeScalars.contains(scalar)
            let next = isAllowed ? String(scalar) : "_"
            guard plain.utf8.count + next.utf8.count <= 120 else { break }
            plain += next
        }
        return plain.hasPrefix(".") || plain.isEmpty ? "_" + plain : plain
    }
}
