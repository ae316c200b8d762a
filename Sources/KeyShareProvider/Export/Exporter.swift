internal import KeyShareProtocol
package import KeyShareWire
package import SecretMemory
package import Foundation
package import KeySharing
package import OpenSSL
internal import StandardExtensions
internal import ZipBundles

/// Exports PKCS #12 files and zips of them.
package struct Exporter: Sendable {
    private let store: ProviderStore
    private let profile: PKCS12Profile
    private let cache: ExportCache
    private let random: RandomSource
    private let givenName: String?

    /// Creates an exporter for the identities of `store`.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - profile: The encryption of the files (docs/rules.md R3.20).
    ///   - friendlyName: The friendly name of all keys and certificates; nil for the default of the mechanism.
    ///   - cacheSize: The maximum total size of the cached files, in bytes.
    ///   - random: The source of salts.
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

    /// Returns the size in bytes of an item whose exported file is cached; otherwise nil (docs/rules.md R3.22).
    ///
    /// - Parameters:
    ///   - identifier: The item.
    ///   - generation: The keychain's current change count. A cached zip is valid for only one change count.
    package func knownSize(_ identifier: ItemIdentifier, generation: Int64) -> Int? {
        cache.size(of: Self.name(identifier, generation))
    }

    /// Removes all exported files from memory.
    func forget() {
        cache.removeAll()
    }

    /// Returns the cached bytes of a 2025 item that was exported under `password`; nil if they are not cached.
    ///
    /// - Throws: `ProviderFailure` `.notAvailable` if the item does not exist or is a folder (R2.10).
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

    /// Returns the estimated memory use of an export, in bytes. Each file is in memory three times: on its own, in the
    /// archive that libzip writes, and in the result.
    package static func expectedBytes(files: Int) -> Int {
        3 * expectedFileBytes * max(files, 1)
    }

    /// The size of a PKCS #12 file with one identity of RSA 4096 and a chain of three certificates, rounded up.
    private static let expectedFileBytes = 8_192

    /// Exports a 2025 item under `password`, or returns its cached bytes (docs/rules.md R3.19).
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` if the item does not exist or is a folder (R2.10), `.refused` if a
    ///   zip exceeds the limits (R3.23) or the keychain is inaccessible, `.serviceFailed` if the file cannot be
    ///   created.
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
                (names.claim($0.filename(under: .keySharing2025)), $0.label)
            }
            bytes = try await archive(
                entries, friendlyName: { _ in Self.friendlyName }, password: password, now: now)
        }
        cache.keep(bytes, as: Self.name(identifier, snapshot.generation), password: password)
        return bytes
    }

    /// Exports a PKCS #12 file for the legacy mechanism. By default, the friendly name in the file is the certificate's
    /// subject in OpenSSL's one-line form (docs/rules.md R4.12).
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` if the identity no longer exists, `.refused` if the keychain is
    ///   inaccessible, `.serviceFailed` if the file cannot be created.
    package func legacyFile(_ identity: IdentitySummary, password: SecretBytes) throws(ProviderFailure)
        -> [UInt8]
    {
        try file(identity.label, friendlyName: nil, password: password)
    }

    /// Exports an archive for the legacy mechanism, with the entries `0.p12`, `1.p12`, … (docs/rules.md R4.11).
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` if an identity no longer exists, `.refused` if the archive exceeds
    ///   the limits or the keychain is inaccessible, `.serviceFailed` if the archive cannot be created.
    package func legacyArchive(
        _ identities: [IdentitySummary], password: SecretBytes, now: Date
    ) async throws(ProviderFailure) -> [UInt8] {
        let entries = identities.enumerated().map { ("\($0.offset).p12", $0.element.label) }
        return try await archive(entries, friendlyName: { _ in nil }, password: password, now: now)
    }

    /// The default friendly name of all keys and certificates of the 2025 mechanism, as in the sample app.
    private static let friendlyName = "SKP"

    /// The name under which an item is cached. All containers that list an identity share its file. A zip is valid for
    /// only one change count.
    private static func name(_ identifier: ItemIdentifier, _ generation: Int64) -> String {
        switch identifier {
        case .identity(let label), .member(_, let label): label
        case .folder, .zip: "\(identifier)@\(generation)"
        }
    }

    private static func folder(_ identifier: ItemIdentifier) -> ProviderFailure {
        ProviderFailure(
            .notAvailable, "\u{201C}\(identifier)\u{201D} is a folder, which has no content of its own")
    }

    private static func missing(_ identifier: ItemIdentifier) -> ProviderFailure {
        ProviderFailure(.notAvailable, "there is no item \u{201C}\(identifier)\u{201D}")
    }

    /// Exports the file of one identity.
    ///
    /// - Parameter friendlyName: The mechanism's default friendly name; nil for the certificate's subject.
    private func file(
        _ label: String, friendlyName: String?, password: SecretBytes
    ) throws(ProviderFailure) -> [UInt8] {
        do {
            let identity = try store.identity(label)
            var salts = random.child("export \(label)").generator()
            return try PKCS12.create(
                privateKey: identity.privateKey, certificate: identity.certificate,
                chain: profile.includesChain ? try store.chain(of: identity.certificate) : [],
                friendlyName: givenName ?? friendlyName ?? identity.certificate.subject.oneLine,
                password: password, profile: profile
            ) { salts.octets($0) }
        } catch {
            throw ProviderFailure(error, during: "the file cannot be created")
        }
    }

    private func archive(
        _ entries: [(name: String, label: String)], friendlyName: @escaping @Sendable (String) -> String?,
        password: SecretBytes, now: Date
    ) async throws(ProviderFailure) -> [UInt8] {
        let limits = ZipLimits.standard
        guard entries.count <= limits.entryCount else {
            throw ProviderFailure(
                .refused,
                "the archive would contain \(entries.count) files; the limit is \(limits.entryCount)")
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
            throw ProviderFailure(.refused, "the archive cannot be created: \(error.reason)")
        } catch {
            throw ProviderFailure(.serviceFailed, "the archive cannot be created: \(error)")
        }
    }
}
