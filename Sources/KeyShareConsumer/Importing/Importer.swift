internal import Diagnostics
internal import Foundation
package import KeyShareClient
internal import KeyShareWire
package import KeySharing
internal import LocalSockets
package import OpenSSL
package import SecretMemory
package import ZipBundles

/// Brings identities into the consumer's keychain.
///
/// An import is one pass: the reader gives the entries of a file, the store adds all of their identities in
/// one transaction, and each entry takes its outcomes.
package struct Importer: Sendable {
    private let store: ConsumerStore
    private let reader: FileReader

    /// Makes an importer into `store`, which takes as much of a file as `reader` does.
    package init(_ store: ConsumerStore, reader: FileReader = FileReader()) {
        self.store = store
        self.reader = reader
    }

    /// Imports a picked item: fetches the bytes and the password of the item and reads the one under the
    /// other (docs/rules.md R6.2, R6.12).
    ///
    /// - Returns: a result for each identity and each failure; never empty.
    package func importItem(_ item: Item, from client: ProviderClient) async -> [ImportResult] {
        do {
            let (bytes, password) = try await client.fetch(item)
            return await importFile(
                bytes, named: item.identifier, password: password,
                from: password.isEmpty ? .silentService : .service)
        } catch {
            return [ImportResult(item: item.identifier, outcome: .failed(error))]
        }
    }

    /// Imports the bytes of a PKCS #12 file or a zip (docs/rules.md R7.1 to R7.5).
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - name: the item or path that the results name.
    ///   - password: the password of the file and of every entry alike; nil tries the absent password and
    ///     the empty one.
    ///   - origin: the party that a wrong password is blamed on.
    /// - Returns: a result for each identity and each failure, in the order of the file, then one for each
    ///   entry that was skipped; never empty.
    package func importFile(
        _ bytes: [UInt8], named name: String, password: SecretBytes?, from origin: PasswordOrigin = .user
    ) async -> [ImportResult] {
        do {
            let entries = try await reader.entries(of: bytes, password: password)
            var added = try await store.add(entries.flatMap(\.identities))[...]
            var results: [ImportResult] = []
            for entry in entries {
                results += entry.outcomes(taking: &added, origin).map { outcome in
                    ImportResult(item: name, entry: entry.name, outcome: outcome)
                }
            }
            guard entries.allSatisfy(\.isSkipped) else { return results }
            let words = entries.isEmpty ? "is an empty archive" : "is an archive without a file"
            let error = ImportError(.nothingToImport, "\u{201C}\(name)\u{201D} \(words)")
            return [ImportResult(item: name, outcome: .failed(error))] + results
        } catch {
            return [ImportResult(item: name, outcome: .failed(error))]
        }
    }

    /// Imports the bytes of a file under one password after another, until no entry is under a wrong one or
    /// there is no other password. What an earlier password opened stays imported.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - name: the item or path that the results name.
    ///   - passwords: the passwords to try, at least one; each is asked for only when it is needed.
    /// - Returns: a result for each identity and each failure, the last password that opened something, and the last
    ///   one that was tried.
    package func importFile(
        _ bytes: [UInt8], named name: String, trying passwords: some Sequence<SecretBytes?>
    ) async -> (results: [ImportResult], opened: SecretBytes?, tried: SecretBytes?) {
        func isWrong(_ result: ImportResult) -> Bool {
            (result.error as? PKCS12Error)?.code == .wrongPassword
        }
        var results: [ImportResult]?
        var opened: SecretBytes?
        var tried: SecretBytes?
        for password in passwords {
            tried = password
            let latest = await importFile(bytes, named: name, password: password)
            if latest.contains(where: { $0.identity != nil }) { opened = password }
            results =
                results?.flatMap { result in
                    isWrong(result) ? latest.filter { $0.entry == result.entry } : [result]
                } ?? latest
            if results?.contains(where: isWrong) == false { break }
        }
        return (results ?? [], opened, tried)
    }
}

extension ProviderClient {
    /// Fetches the bytes and the password of an item (docs/rules.md R6.2): starts accessing the item, picks
    /// the password service by name (R6.3), fetches the password, reads, and stops accessing on every path.
    ///
    /// Where the grant ends on the way, as when the password is replaced, all steps are done once more
    /// (R6.10).
    ///
    /// - Throws: `ImportError` `.noPasswordService`; `ProviderFailure`, `SocketError`.
    package func fetch(_ item: Item) async throws -> (bytes: [UInt8], password: SecretBytes) {
        var isFirst = true
        while true {
            _ = try await startAccessing(item.identifier)
            do {
                guard try await services(for: item.identifier).contains(PasswordService.name) else {
                    throw ImportError(
                        .noPasswordService,
                        "the provider offers no password service for \u{201C}\(item.filename)\u{201D}")
                }
                let password = try await fetchPassword(for: item.identifier)
                let bytes = try await readAll(item.identifier)
                try? await stopAccessing(item.identifier)
                return (bytes, password)
            } catch {
                // A provider that did not answer in time would keep the user waiting for one more answer. The
                // grant ends with the connection.
                if (error as? SocketError)?.code != .timedOut { try? await stopAccessing(item.identifier) }
                // The item is gone or the grant has ended; the next answer tells which.
                guard isFirst, (error as? ProviderFailure)?.code == .notAvailable else { throw error }
                isFirst = false
            }
        }
    }
}

/// A part of a file that a provider hands over: a PKCS #12 file as a whole, or an entry of a zip.
package struct FileEntry: Sendable {
    /// What reading an entry can give.
    package enum Contents: Sendable {
        /// A PKCS #12 file that opened.
        case read(PKCS12Contents)
        /// The error of a file that did not open, or of a zip entry that was refused.
        case unreadable(any Error)
        /// A zip entry that is no PKCS #12 file by its name.
        case skipped(ZipContents.Skipped.Reason)
    }

    /// The name of the zip entry; nil for a file that is no zip.
    package let name: String?
    /// What reading the entry gave.
    package let contents: Contents

    /// Whether the entry was not looked into.
    package var isSkipped: Bool {
        if case .skipped = contents { true } else { false }
    }
}

/// Reads what a provider hands over or what lies on disk: a PKCS #12 file, or a zip of them.
package struct FileReader: Sendable {
    private let limits: PKCS12Limits
    private let allowsMissingMAC: Bool

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - limits: the most that a PKCS #12 file may hold.
    ///   - allowsMissingMAC: whether files without a MAC are taken (docs/rules.md R7.9).
    package init(limits: PKCS12Limits = .standard, allowsMissingMAC: Bool = false) {
        self.limits = limits
        self.allowsMissingMAC = allowsMissingMAC
    }

    /// The most bytes worth reading from disk: the size of an archive. A PKCS #12 file may have less.
    package static let largestFile = ZipLimits.standard.archiveSize

    /// Reads a file (docs/rules.md R7.3, R7.4): one bad entry of a zip does not lose the others.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - password: the password of the file and of every entry alike; nil tries the absent password and
    ///     the empty one (R7.11).
    /// - Returns: one entry for a PKCS #12 file; for a zip an entry for each in the archive's order, then
    ///   those that were skipped.
    /// - Throws: `ZipError` where the archive as a whole is refused; `CancellationError`.
    package func entries(of bytes: [UInt8], password: SecretBytes?) async throws -> [FileEntry] {
        let archive = ZipBundle.isArchive(bytes) ? try ZipBundle.read(bytes) : nil
        let budget = ArchiveBudget(patience: limits.archivePatience)
        // The shares are taken in the archive's order before any file is opened.
        let files: [(name: String?, contents: Result<([UInt8], ArchiveShare?), any Error>)] =
            archive?.entries.map { entry in
                let contents = Result<([UInt8], ArchiveShare?), any Error> {
                    let bytes = try entry.result.get()
                    return (bytes, try budget.share(for: bytes, limits: limits))
                }
                return (entry.name, contents)
            } ?? [(nil, .success((bytes, nil)))]
        let entries = try await files.concurrentMap(
            width: ProcessInfo.processInfo.activeProcessorCount
        ) { name, contents in
            do {
                let (bytes, share) = try contents.get()
                let contents = try PKCS12.read(
                    bytes, password: password.map { .text($0) }, limits: limits,
                    allowNoMAC: allowsMissingMAC, share: share)
                return FileEntry(name: name, contents: .read(contents))
            } catch {
                return FileEntry(name: name, contents: .unreadable(error))
            }
        }
        let skipped = archive?.skipped ?? []
        return entries + skipped.map { FileEntry(name: $0.name, contents: .skipped($0.reason)) }
    }
}

extension FileEntry {
    /// The identities of the entry, in the order of the file.
    fileprivate var identities: [PKCS12Identity] {
        if case .read(let contents) = contents { contents.identities } else { [] }
    }

    /// The outcomes of the entry: the outcomes of its identities, which are taken off the front of `added`,
    /// then its failures.
    fileprivate func outcomes(
        taking added: inout ArraySlice<ImportResult.Outcome>, _ origin: PasswordOrigin
    ) -> [ImportResult.Outcome] {
        switch contents {
        case .skipped(let reason): return [.skipped(reason)]
        case .unreadable(let error): return [.failed(origin.blamed(for: error))]
        case .read(let contents):
            let own = added.prefix(contents.identities.count)
            added = added.dropFirst(own.count)
            return own + contents.obstacles.map { .failed(origin.blamed(for: $0)) }
        }
    }
}
