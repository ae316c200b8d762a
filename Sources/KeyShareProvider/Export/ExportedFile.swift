package import Foundation
package import KeySharing
package import SecretMemory

/// A file to export and its contents.
package struct ExportedFile: Sendable {
    /// The source of the bytes.
    package enum Source: Sendable {
        case item(ItemIdentifier)
        case legacyFile(IdentitySummary)
        case legacyArchive([IdentitySummary])
    }

    /// The name of the file.
    package let name: String
    /// The identifier of the file's item.
    package let identifier: String
    /// The identity in the file; nil for an archive.
    package let identity: IdentitySummary?
    /// The source of the file's bytes.
    package let source: Source

    /// Returns the bytes of the file, protected by `password`.
    ///
    /// - Throws: The errors of `Exporter`.
    package func bytes(
        _ exporter: Exporter, _ snapshot: CatalogueSnapshot, password: SecretBytes, now: Date
    ) async throws -> [UInt8] {
        switch source {
        case .item(let identifier):
            try await exporter.content(of: identifier, in: snapshot, password: password, now: now)
        case .legacyFile(let identity): try exporter.legacyFile(identity, password: password)
        case .legacyArchive(let identities):
            try await exporter.legacyArchive(identities, password: password, now: now)
        }
    }

    /// Returns the file with another name.
    package func named(_ name: String) -> ExportedFile {
        ExportedFile(name: name, identifier: identifier, identity: identity, source: source)
    }
}
