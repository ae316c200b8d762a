internal import Diagnostics
package import KeyShareClient
package import KeySharing
internal import OpenSSL
package import SecretMemory

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
    ///   - name: the item or path that the results name.
    ///   - password: the password of the file and of every entry alike; nil tries the absent password and the
    ///     empty one.
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
    /// - Parameter passwords: the passwords to try, at least one; each is asked for only when it is needed.
    /// - Returns: a result for each identity and each failure, and the last password that opened something.
    package func importFile(
        _ bytes: [UInt8], named name: String, trying passwords: some Sequence<SecretBytes?>
    ) async -> (results: [ImportResult], opened: SecretBytes?) {
        func isWrong(_ result: ImportResult) -> Bool {
            (result.error as? PKCS12Error)?.code == .wrongPassword
        }
        var results: [ImportResult]?
        var opened: SecretBytes?
        for password in passwords {
            let latest = await importFile(bytes, named: name, password: password)
            if latest.contains(where: { $0.identity != nil }) { opened = password }
            results =
                results?.flatMap { result in
                    isWrong(result) ? latest.filter { $0.entry == result.entry } : [result]
                } ?? latest
            if results?.contains(where: isWrong) == false { break }
        }
        return (results ?? [], opened)
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
