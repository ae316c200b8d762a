package import KeyShareWire
package import SecretMemory
package import Foundation
package import KeySharing
package import OpenSSL
internal import ZipBundles

/// The maker of the files that a provider hands over: PKCS #12 files and zips of them.
package struct Exporter: Sendable {
    private let store: ProviderStore
    private let profile: PKCS12Profile
    private let cache: ExportCache
    private let random: RandomSource
    private let givenName: String?

    /// Makes files from the identities of `store`.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - profile: how files are encrypted (docs/rules.md R3.20).
    ///   - friendlyName: the name on every key and certificate; nil for the mechanism's own.
    ///   - cacheSize: how many bytes of exported files are kept in memory.
    ///   - random: where salts come from.
    package init(
        _ store: ProviderStore, profile: PKCS12Profile, friendlyName: String? = nil,
        cacheSize: Int = 64 << 20,
        random: RandomSource = .system
    ) {
        givenName = friendlyName
        self.random = random
        self.store = store
        self.profile = profile
        cache = ExportCache(capacity: cacheSize)
    }

    /// The size in bytes of an item that was exported before; nil where none was (docs/rules.md R3.22).
    ///
    /// - Parameters:
    ///   - identifier: the item.
    ///   - generation: the keychain's change count; the file of a zip is of one count.
    package func knownSize(_ identifier: ItemIdentifier, generation: Int64) -> Int? {
        cache.size(of: Self.name(identifier, generation))
    }

    /// Removes every exported file from memory.
    func forget() {
        cache.removeAll()
    }

    /// The bytes of a 2025 item that was made under `password` before and is still in memory; nil where there is none.
    ///
    /// - Throws: `ProviderFailure` `.notAvailable` where the item does not exist or is a folder (R2.10).
    package func madeContent(
        of identifier: ItemIdentifier, in snapshot: CatalogueSnapshot, password: SecretBytes
    ) throws(ProviderFailure) -> [UInt8]? {
        switch identifier {
        case .identity(let label):
            guard snapshot.identity(label, in: nil) != nil else { throw Self.missing(identifier) }
        case .member(let selector, let label):
            guard snapshot.identity(label, in: selector) != nil else { throw Self.missing(identifier) }
        case .folder: throw Self.folder(identifier)
        case .zip: break
        }
        return cache.file(Self.name(identifier, snapshot.generation), password: password)
    }

    /// The bytes of memory that making so many files is expected to take: each stands in memory by itself, in the
    /// archive that libzip writes, and in the result.
    package static func expectedBytes(files: Int) -> Int {
        3 * expectedFileBytes * max(files, 1)
    }

    /// The size of a PKCS #12 file with one identity of RSA 4096 and a chain of three certificates, rounded up.
    private static let expectedFileBytes = 8_192

    /// Makes the bytes of a 2025 item under `password`, or takes them from memory (docs/rules.md R3.19).
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` where the item does not exist or is a folder (R2.10), `.refused`
    ///   for a zip over the limits (R3.23) and while the keychain is closed, `.serviceFailed` where the file cannot
    ///   be made.
    package func content(
        of identifier: ItemIdentifier, in snapshot: CatalogueSnapshot, password: SecretBytes, now: Date
    ) async throws(ProviderFailure) -> [UInt8] {
        if let made = try madeContent(of: identifier, in: snapshot, password: password) { return made }
        let bytes: [UInt8]
        switch identifier {
        case .identity(let label), .member(_, let label):
            bytes = try file(label, friendlyName: Self.friendlyName, password: password)
        case .folder: throw Self.folder(identifier)
        case .zip(let selector):
            var names = UniqueFilenames()
            let entries = snapshot.members(of: selector).map {
                (names.claim($0.filename(.keySharing2025)), $0.label)
            }
            bytes = try await archive(
                entries, friendlyName: { _ in Self.friendlyName }, password: password, now: now)
        }
        cache.keep(bytes, as: Self.name(identifier, snapshot.generation), password: password)
        return bytes
    }

    /// Makes a PKCS #12 file for the legacy mechanism, with the certificate's subject as its friendly name
    /// (docs/rules.md R4.12).
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` where the identity has gone, `.refused` while the keychain is
    ///   closed, `.serviceFailed` where the file cannot be made.
    package func legacyFile(_ identity: IdentitySummary, password: SecretBytes) throws(ProviderFailure)
        -> [UInt8]
    {
        try file(identity.label, friendlyName: nil, password: password)
    }

    /// Makes an archive for the legacy mechanism, with the entries `0.p12`, `1.p12`, … (docs/rules.md R4.11).
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` where an identity has gone, `.refused` over the limits of an
    ///   archive and while the keychain is closed, `.serviceFailed` where the archive cannot be made.
    package func legacyArchive(
        _ identities: [IdentitySummary], password: SecretBytes, now: Date
    ) async throws(ProviderFailure) -> [UInt8] {
        let entries = identities.enumerated().map { ("\($0.offset).p12", $0.element.label) }
        return try await archive(entries, friendlyName: { _ in nil }, password: password, now: now)
    }

    /// The friendly name of every key and certificate of the 2025 mechanism, as in the sample app.
    private static let friendlyName = "SKP"

    /// The name under which the cache holds an item. An identity has one file for all containers that list it; a
    /// zip holds what was there at one change count.
    private static func name(_ identifier: ItemIdentifier, _ generation: Int64) -> String {
        switch identifier {
        case .identity(let label), .member(_, let label): label
        case .folder, .zip: "\(identifier)@\(generation)"
        }
    }

    private static func folder(_ identifier: ItemIdentifier) -> ProviderFailure {
        ProviderFailure(
            .notAvailable, "\u{201C}\(identifier)\u{201D} is a folder and has no bytes of its own")
    }

    private static func missing(_ identifier: ItemIdentifier) -> ProviderFailure {
        ProviderFailure(.notAvailable, "there is no item \u{201C}\(identifier)\u{201D}")
    }

    /// Makes the file of one identity.
    ///
    /// - Parameter friendlyName: the mechanism's own name; nil for the certificate's subject.
    private func file(
        _ label: String, friendlyName: String?, password: SecretBytes
    ) throws(ProviderFailure) -> [UInt8] {
        do {
            let identity = try store.identity(label)
            var salts = random.child("export \(label)").generator()
            return try PKCS12.create(
                privateKey: identity.privateKey, certificate: identity.certificate,
                chain: profile.includesChain ? try store.chain(of: identity.certificate) : [],
                friendlyName: givenName ?? friendlyName ?? identity.certificate.subject.description,
                password: password, profile: profile
            ) { salts.octets($0) }
        } catch {
            throw ProviderFailure(error, during: "the file cannot be made")
        }
    }

    private func archive(
        _ entries: [(name: String, label: String)], friendlyName: @escaping @Sendable (String) -> String?,
        password: SecretBytes, now: Date
    ) async throws(ProviderFailure) -> [UInt8] {
        let limits = ZipLimits.standard
        guard entries.count <= limits.entryCount else {
            throw ProviderFailure(
                .refused, "the archive would hold \(entries.count) files; the limit is \(limits.entryCount)")
        }
        do {
            let files = try await entries.concurrentMap(
                width: ProcessInfo.processInfo.activeProcessorCount
            ) { entry in
                (
                    name: entry.name,
                    bytes: try file(entry.label, friendlyName: friendlyName(entry.label), password: password)
                )
            }
            return try ZipBundle.create(files, modified: now)
        } catch let failure as ProviderFailure {
            throw failure
        } catch let error as ZipError {
            throw ProviderFailure(.refused, "the archive cannot be made: \(error.reason)")
        } catch {
            throw ProviderFailure(.serviceFailed, "the archive cannot be made: \(error)")
        }
    }
}

/// The file names of one archive or folder, each used once (docs/rules.md R3.14).
///
/// The first file of a name keeps it; later ones get `-2`, `-3`, … before the extension.
package struct UniqueFilenames {
    private var used: Set<String> = []

    /// No name is used yet.
    package init() {}

    /// Takes `name`, or the first variant of `name` that no file has yet.
    package mutating func claim(_ name: String) -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var candidate = name
        var number = 1
        while !used.insert(candidate).inserted {
            number += 1
            candidate = "\(name[..<dot])-\(number)\(name[dot...])"
        }
        return candidate
    }
}
