import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import SecretMemory
import TestCredentials

/// The naming scheme for the files of a folder.
enum FileNaming: String, CaseIterable {
    /// By type and serial number, as the provider publishes them: `signature_048F.p12`.
    case serial
    /// By person, type and the first day of the validity period: `EXAMPLE.DANA.1234567890_signature_2026-01-01.p12`.
    case person

    /// Returns the name of an identity's file. It is not necessarily unique.
    func name(of identity: IdentitySummary, _ mechanism: Mechanism) -> String {
        switch self {
        case .serial: return identity.filename(mechanism)
        case .person:
            let person = Self.plain(identity.details?.commonName ?? String(identity.label.prefix(16)))
            let prefix = identity.type(mechanism).filenamePrefix
            return "\(person)_\(prefix)_\(identity.notBefore.dayText).p12"
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

/// A file to export and its contents.
struct ExportedFile: Sendable {
    /// The source of the bytes.
    enum Source: Sendable {
        case item(ItemIdentifier)
        case legacyFile(IdentitySummary)
        case legacyArchive([IdentitySummary])
    }

    /// The name of the file.
    let name: String
    /// The identifier of the file's item.
    let identifier: String
    /// The identity in the file; nil for an archive.
    let identity: IdentitySummary?
    let source: Source

    /// Returns the bytes of the file, protected by `password`.
    ///
    /// - Throws: the errors of `Exporter`.
    func bytes(
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
}

/// Chooses the files for `export`.
struct ExportChoice {
    /// The published items, limited to the requested persons.
    let snapshot: CatalogueSnapshot
    private let mechanism: Mechanism
    private let types: [String]
    private let now: Date
    private let names: FileNaming?
    private let published: CatalogueSnapshot
    private let isIncluded: (IdentitySummary) -> Bool

    init(
        _ published: CatalogueSnapshot, mechanism: Mechanism, types: [String], now: Date, names: FileNaming?,
        isIncluded: @escaping (IdentitySummary) -> Bool
    ) {
        self.published = published
        self.mechanism = mechanism
        self.types = types
        self.now = now
        self.names = names
        self.isIncluded = isIncluded
        snapshot = published.limited(to: isIncluded)
    }

    /// Returns the only file with this name.
    ///
    /// - Throws: `RequestError`.
    func file(_ name: String) async throws -> ExportedFile {
        guard mechanism == .legacy else { return try await item(name) }
        let files = try legacyFiles()
        guard let row = try ItemLookup.match(name, in: files.map(\.row)),
            let file = files.first(where: { $0.row.identifier == row.identifier })
        else { throw RequestError(.noSuchItem, name) }
        return file.file
    }

    /// Returns the files with these names, or every file if there are no names. File names in the result are unique.
    ///
    /// - Throws: `RequestError` for the first unknown name; `CommandFailure` (9) if nothing to export.
    func files(_ items: [String]) async throws -> [ExportedFile] {
        var files: [ExportedFile] = []
        if items.isEmpty {
            files =
                mechanism == .legacy
                ? try legacyFiles().map(\.file)
                : snapshot.identities.map { file(of: $0, .item(.identity(label: $0.label))) }
        } else {
            var failures: [CommandFailure] = []
            for item in items {
                do {
                    let file = try await file(item)
                    if !files.contains(where: { $0.identifier == file.identifier }) { files.append(file) }
                } catch {
                    failures.append(CommandFailure(error))
                }
            }
            if let first = failures.first {
                for failure in failures.dropFirst() { Console.failure(failure) }
                throw first
            }
        }
        guard !files.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "nothing to export",
                hint: "to create identities: keyshare-provider provision")
        }
        var unique = UniqueFilenames()
        return files.map { $0.named(unique.claim($0.name)) }
    }

    /// Returns the files that a sample app bundles.
    ///
    /// - Throws: `CommandFailure` (9) if no person has enough identities, or several persons have.
    func files(for app: SampleApp) throws(CommandFailure) -> [ExportedFile] {
        switch app.choose(from: snapshot.identities) {
        case .files(let files):
            return files.map {
                file(of: $0.identity, .item(.identity(label: $0.identity.label))).named($0.name)
            }
        case .notEnough(let needed):
            let words = needed.map { "\($0.count) of the type \($0.type.rawValue)" }.joined(separator: ", ")
            throw CommandFailure(
                .noSuchItem, "\(app.rawValue) bundles \(words), and no person here has that many",
                hint: "to create such a person: keyshare-provider provision --person \"Dana Example\"")
        case .severalPersons(let persons):
            throw CommandFailure(
                .noSuchItem, code: "ambiguous-name",
                "\(persons.count) persons have the identities that \(app.rawValue) bundles",
                hint: "choose one with --person: " + persons.prefix(3).joined(separator: ", "))
        }
    }

    private func item(_ name: String) async throws -> ExportedFile {
        let found = try await ItemListing(snapshot, now: now).find(name)
        try found.requireContent()
        guard let identifier = ItemIdentifier(found.identifier) else {
            throw CommandFailure(
                .unexpected, "the item \u{201C}\(found.identifier)\u{201D} has no identifier")
        }
        guard let label = found.label, let identity = snapshot.identity(label, in: nil) else {
            return ExportedFile(
                name: found.filename, identifier: found.identifier, identity: nil, source: .item(identifier))
        }
        return file(of: identity, .item(identifier), identifier: found.identifier)
    }

    /// Returns the files that a legacy provider would return, each with its row in the list.
    private func legacyFiles() throws -> [(row: Item, file: ExportedFile)] {
        // “Most recent” is determined across all persons, as in the provider.
        let listing = LegacyListing(
            published.identities, request: try TypeRequest(types, mechanism: .legacy), now: now)
        return listing.rows.compactMap { row in
            let identities = listing.identities(of: row.identifier).filter(isIncluded)
            guard let first = identities.first else { return nil }
            guard listing.request.shape == .archive else {
                let name = names == nil ? Self.legacyName : names?.name(of: first, .legacy)
                return (
                    row,
                    ExportedFile(
                        name: name ?? Self.legacyName, identifier: row.identifier, identity: first,
                        source: .legacyFile(first))
                )
            }
            return (
                row,
                ExportedFile(
                    name: LegacyRequest.archiveName, identifier: row.identifier, identity: nil,
                    source: .legacyArchive(identities))
            )
        }
    }

    private func file(
        of identity: IdentitySummary, _ source: ExportedFile.Source, identifier: String? = nil
    ) -> ExportedFile {
        ExportedFile(
            name: (names ?? .serial).name(of: identity, mechanism), identifier: identifier ?? identity.label,
            identity: identity, source: source)
    }

    /// The name of a file from a legacy provider (docs/rules.md R4.11).
    private static let legacyName = "tmp.p12"
}

extension ExportedFile {
    /// Returns the file with another name.
    func named(_ name: String) -> ExportedFile {
        ExportedFile(name: name, identifier: identifier, identity: identity, source: source)
    }
}
