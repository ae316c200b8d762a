internal import CertificateReading
package import KeyShareClient
internal import SecretMemory
internal import DeviceSimulation
package import KeySharing
internal import OpenSSL
package import ZipBundles

/// What became of one identity, or of a file or entry that gave none.
package struct ImportResult: Sendable {
    /// What happened.
    package enum Outcome: Sendable {
        case imported(IdentitySummary)
        /// It was there already, which is a success.
        case duplicate(IdentitySummary)
        case failed(any Error)
        /// It was not looked into; why.
        case skipped(ZipContents.Skipped.Reason)
    }

    /// The item's identifier, or the file's path.
    package let item: String
    /// The zip entry's name, where the item is a zip.
    package let entry: String?
    package let outcome: Outcome

    package init(item: String, entry: String?, outcome: Outcome) {
        self.item = item
        self.entry = entry
        self.outcome = outcome
    }

    /// The error of a failure.
    package var error: (any Error)? {
        if case .failed(let error) = outcome { error } else { nil }
    }

    /// The identity that is now in the keychain.
    package var identity: IdentitySummary? {
        switch outcome {
        case .imported(let identity), .duplicate(let identity): identity
        case .failed, .skipped: nil
        }
    }
}

/// Brings identities into the consumer's keychain.
package struct Importer: Sendable {
    private let store: ConsumerStore

    package init(_ store: ConsumerStore) {
        self.store = store
    }

    /// Imports a picked item: starts accessing it, picks its password service by name, fetches the password,
    /// reads the item, imports, and stops accessing on every path.
    ///
    /// - Parameter reader: how much is taken of what the provider hands over; its password does not matter.
    /// - Returns: a result for each identity and each failure; never empty.
    package func importItem(
        _ item: Item, from client: ProviderClient, with reader: FileReader = FileReader(password: nil)
    ) async -> [ImportResult] {
        let fetched: (bytes: [UInt8], password: SecretBytes)
        do {
            fetched = try await client.fetch(item)
        } catch {
            return [ImportResult(item: item.identifier, entry: nil, outcome: .failed(error))]
        }
        let results = await importFile(
            fetched.bytes, named: item.identifier, with: reader.with(fetched.password))
        return results.map { Self.blamingService($0, isEmpty: fetched.password.isEmpty) }
    }

    /// A wrong password is the service's here, and nothing the user can give. An empty answer is the password of
    /// a file that is under none, and otherwise no answer at all.
    private static func blamingService(_ result: ImportResult, isEmpty: Bool) -> ImportResult {
        guard let wrong = result.error as? PKCS12Error, wrong.code == .wrongPassword else { return result }
        let error =
            isEmpty
            ? ImportError(.emptyAnswer, "the password service gives neither a password nor an error")
            : ImportError(
                .servicePassword, "\(wrong.reason), and it is the password service's")
        return ImportResult(item: result.item, entry: result.entry, outcome: .failed(error))
    }

    /// Imports the bytes of a PKCS #12 file or a zip.
    ///
    /// - Parameter name: what the results say they are of.
    /// - Returns: a result for each identity and each failure, then for each entry that was skipped; never empty.
    package func importFile(
        _ bytes: [UInt8], named name: String, with reader: FileReader
    ) async -> [ImportResult] {
        do {
            let read = try await reader.contents(of: bytes)
            let skipped = read.skipped.map {
                ImportResult(item: name, entry: $0.name, outcome: .skipped($0.reason))
            }
            guard !read.files.isEmpty else {
                let words = skipped.isEmpty ? "is an empty archive" : "is an archive without a file"
                let error = ImportError(.nothingToImport, "\u{201C}\(name)\u{201D} \(words)")
                return [ImportResult(item: name, entry: nil, outcome: .failed(error))] + skipped
            }
            return try await store(read.files, of: name) + skipped
        } catch {
            return [ImportResult(item: name, entry: nil, outcome: .failed(error))]
        }
    }

    /// Stores everything that was read in one go, and puts the results back into the files' order.
    private func store(_ files: [FileContents], of name: String) async throws -> [ImportResult] {
        var results: [ImportResult] = []
        var identities: [PKCS12Identity] = []
        var places: [Int] = []
        for file in files {
            func add(_ outcome: ImportResult.Outcome) {
                results.append(ImportResult(item: name, entry: file.entry, outcome: outcome))
            }
            switch file.result {
            case .failure(let error): add(.failed(error))
            case .success(let contents):
                for identity in contents.identities {
                    places.append(results.count)
                    identities.append(identity)
                    add(.imported(IdentitySummary(identity.certificate)))
                }
                for error in contents.obstacles { add(.failed(error)) }
            }
        }
        for (place, stored) in zip(places, try await store.add(identities)) {
            let summary = results[place].identity
            let outcome: ImportResult.Outcome =
                switch (stored, summary) {
                case (.added, let summary?): .imported(summary)
                case (.duplicate, let summary?): .duplicate(summary)
                case (.failed(let error), _): .failed(error)
                case (.added, nil), (.duplicate, nil): results[place].outcome
                }
            results[place] = ImportResult(item: name, entry: results[place].entry, outcome: outcome)
        }
        return results
    }
}
