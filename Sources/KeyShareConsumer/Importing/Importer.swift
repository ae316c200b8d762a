internal import Diagnostics
package import KeyShareClient
internal import KeyShareProtocol
internal import KeyShareWire
package import KeySharing
internal import LocalSockets
internal import OpenSSL
package import SecretMemory

/// Imports identities into the consumer's keychain.
///
/// An import is one pass: the reader returns the entries of a file, the store adds all of their identities in one
/// transaction, and the outcomes are assigned to the entries.
package struct Importer: Sendable {
    private let store: ConsumerStore
    private let reader: FileReader

    /// Creates an importer into `store`. The limits of `reader` apply.
    package init(_ store: ConsumerStore, reader: FileReader = FileReader()) {
        self.store = store
        self.reader = reader
    }

    /// Imports a picked item: fetches its bytes and its password, and opens the bytes with the password (docs/rules.md
    /// R6.2, R6.12).
    ///
    /// - Returns: A result for each identity and each failure; never empty.
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
    ///   - bytes: The contents of the file.
    ///   - name: The item or path that the results name.
    ///   - password: The password of the file and of every entry. Nil tries the absent password and the empty one.
    ///   - origin: The source of the password, for the error about a wrong password.
    /// - Returns: A result for each identity and each failure in file order, then one for each skipped entry; never
    ///   empty.
    package func importFile(
        _ bytes: [UInt8], named name: String, password: SecretBytes?, from origin: PasswordOrigin = .user
    ) async -> [ImportResult] {
        do {
            let entries = try await reader.entries(of: bytes, password: password)
            var added = try await store.add(entries.flatMap(\.identities))[...]
            var results: [ImportResult] = []
            for (position, entry) in entries.enumerated() {
                let outcomes: [ImportResult.Outcome]
                switch entry.contents {
                case .read(let contents):
                    // The store returned the outcomes of all identities, in the order of the entries.
                    let own = added.prefix(contents.identities.count)
                    added = added.dropFirst(own.count)
                    outcomes = own + contents.obstacles.map { .failed(origin.blamed(for: $0)) }
                case .unreadable(let error): outcomes = [.failed(origin.blamed(for: error))]
                case .skipped(let reason): outcomes = [.skipped(reason)]
                }
                results += outcomes.map { outcome in
                    ImportResult(
                        item: name, entry: entry.name, position: position, repeatsName: entry.repeatsName,
                        outcome: outcome)
                }
            }
            guard entries.allSatisfy(\.isSkipped) else { return results }
            let words = entries.isEmpty ? "is an empty archive" : "is an archive without files"
            let error = ImportError(.nothingToImport, "\u{201C}\(name)\u{201D} \(words)")
            return [ImportResult(item: name, outcome: .failed(error))] + results
        } catch {
            return [ImportResult(item: name, outcome: .failed(error))]
        }
    }

    /// Imports the bytes of a file with several passwords, until no entry needs another one. Identities that an
    /// earlier password opened remain imported.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - name: The item or path that the results name.
    ///   - passwords: The passwords to try, at least one. Each is requested only when it is needed.
    /// - Returns: A result for each identity and each failure, the last password that opened something, and the last
    ///   one that was tried.
    package func importFile(
        _ bytes: [UInt8], named name: String, trying passwords: some Sequence<SecretBytes?>
    ) async -> (results: [ImportResult], opened: SecretBytes?, tried: SecretBytes?) {
        var results: [ImportResult]?
        let (opened, tried) = await passwords.tryEach { password in
            let latest = await importFile(bytes, named: name, password: password)
            results =
                results?.flatMap { result in
                    result.isUnderAnotherPassword
                        ? latest.filter { $0.position == result.position } : [result]
                } ?? latest
            return PasswordTrial(
                opensSomething: latest.contains { $0.identity != nil },
                needsAnother: results?.contains(where: \.isUnderAnotherPassword) != false)
        }
        return (results ?? [], opened, tried)
    }
}

extension ProviderClient {
    /// Fetches the bytes and the password of an item (docs/rules.md R6.2). Starts accessing the item, selects the
    /// password service by name (R6.3), fetches the password, reads the bytes, and always stops accessing the item.
    ///
    /// If the grant ends in the meantime, for example because the password was replaced, all steps are repeated once
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
                // After a timeout, another request would only delay the user further. The grant ends with the
                // connection.
                if (error as? SocketError)?.code != .timedOut { try? await stopAccessing(item.identifier) }
                // Either the item no longer exists or the grant has ended; the next attempt shows which.
                guard isFirst, (error as? ProviderFailure)?.code == .notAvailable else { throw error }
                isFirst = false
            }
        }
    }
}
