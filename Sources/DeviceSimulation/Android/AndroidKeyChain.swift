package import Foundation
internal import KeySharing
package import SecretMemory
package import SimulatedKeychain

/// An entry of Android's KeyChain: an identity with an alias.
package struct KeyChainEntry: Sendable, Hashable {
    /// The name of the entry, 1 to 255 bytes of UTF-8. It is unique.
    package let alias: String
    /// The label of the identity.
    package let label: String
    /// The certificate in DER.
    package let certificate: [UInt8]

    /// Creates an entry.
    package init(alias: String, label: String, certificate: [UInt8]) {
        self.alias = alias
        self.label = label
        self.certificate = certificate
    }
}

/// Android's KeyChain: identities that the system holds for all apps. Apps use the keys with a grant, and never receive
/// them.
///
/// The entries are items of the keychain group `android.keychain`, which is in no app's entitlements: only the system
/// adds to it. A key is accessible after the first unlock, and does not leave the device.
package struct AndroidKeyChain: Sendable {
    /// The device states in which a key is accessible.
    package static let accessibility = Accessibility.afterFirstUnlockThisDeviceOnly

    /// The system's app that holds the entries.
    private static let system = App(
        bundleIdentifier: "com.android.keychain", teamIdentifier: "android",
        entitlements: Entitlements(keychainAccessGroups: [group]))
    private static let group = "android.keychain"

    private let keychain: Keychain
    private let device: Device
    private let now: @Sendable () -> Date

    /// Opens the KeyChain of a device, and creates it on first use.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - now: The clock for the times of broadcasts.
    /// - Throws: `KeychainError`.
    package init(_ device: Device, now: @escaping @Sendable () -> Date) throws(KeychainError) {
        keychain = try Keychain(device: device, app: Self.system)
        self.device = device
        self.now = now
    }

    /// Opens the KeyChain of a device without changing the device; nil if the device has no keychain.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - now: The clock for the times of broadcasts.
    /// - Throws: `KeychainError`.
    package init?(existingOn device: Device, now: @escaping @Sendable () -> Date) throws(KeychainError) {
        guard let keychain = try Keychain(existingOn: device, app: Self.system) else { return nil }
        self.keychain = keychain
        self.device = device
        self.now = now
    }

    /// Returns a number that grows whenever an entry is added, replaced, renamed or removed.
    ///
    /// - Throws: `KeychainError`.
    package func changeCount() throws(KeychainError) -> Int64 {
        try keychain.changeCount(accessGroup: Self.group)
    }

    /// Returns all entries, sorted by alias (bytewise). An entry whose key is gone is not an entry.
    ///
    /// - Throws: `KeychainError`.
    package func entries() throws(KeychainError) -> [KeyChainEntry] {
        let keys = Set(try items(KeychainQuery(.key, accessGroup: Self.group)).map(\.attributes.label))
        return try items(KeychainQuery(.certificate, accessGroup: Self.group)).map { item in
            KeyChainEntry(
                alias: item.attributes.label,
                label: String(decoding: item.attributes.applicationTag, as: UTF8.self),
                certificate: item.certificate)
        }.filter { keys.contains($0.alias) }
            .sorted { $0.alias.utf8.lexicographicallyPrecedes($1.alias.utf8) }
    }

    /// Returns the entry with an alias; nil if there is none.
    ///
    /// - Throws: `KeychainError`.
    package func entry(_ alias: String) throws(KeychainError) -> KeyChainEntry? {
        try entries().first { $0.alias.utf8.elementsEqual(alias.utf8) }
    }

    /// Opens the key of an entry.
    ///
    /// - Returns: The key as PKCS #8.
    /// - Throws: `KeychainError`: `.itemNotFound` if there is no such entry, `.interactionNotAllowed` before the first
    ///   unlock.
    package func privateKey(_ alias: String) throws(KeychainError) -> SecretBytes {
        let found = try keychain.copyMatching(
            KeychainQuery(.key, label: alias, accessGroup: Self.group), returnsData: true)
        return found.first?.data ?? SecretBytes([])
    }

    /// Adds entries in one transaction, and broadcasts the change. An entry with the same alias is replaced, and its key
    /// grants then apply to the new key (docs/rules.md R9.14).
    ///
    /// - Parameters:
    ///   - identities: The entries with their keys as PKCS #8.
    ///   - isAnnounced: Whether the change is broadcast; false only for a deliberate fault.
    /// - Throws: `DeviceError.Code.invalidValue` for an alias that is empty, longer than 255 bytes or contains NUL;
    ///   `KeychainError`: `.interactionNotAllowed` before the first unlock; `FileError` if the broadcast cannot be sent.
    package func install(
        _ identities: [(entry: KeyChainEntry, privateKey: SecretBytes)], isAnnounced: Bool = true
    ) throws {
        guard !identities.isEmpty else { return }
        for (entry, _) in identities { try Self.check(entry.alias) }
        try keychain.replace(
            identities.flatMap { entry, key in
                [
                    NewItem.key(key, label: entry.alias)
                        .with(accessibility: Self.accessibility, accessGroup: Self.group),
                    NewItem.certificate(
                        entry.certificate, label: entry.alias, applicationTag: Array(entry.label.utf8)
                    ).with(accessGroup: Self.group),
                ]
            })
        if isAnnounced { try announceChange() }
    }

    /// Removes the entries with these aliases and their key grants, and broadcasts the change.
    ///
    /// - Returns: The number of removed entries.
    /// - Throws: `KeychainError`; `FileError`.
    package func remove(_ aliases: [String]) throws -> Int {
        let counts = try keychain.delete(
            each: aliases.flatMap { alias in
                [ItemClass.certificate, .key].map {
                    KeychainQuery($0, label: alias, accessGroup: Self.group)
                }
            })
        let removed = stride(from: 0, to: counts.count, by: 2).count { counts[$0] > 0 }
        guard removed > 0 else { return 0 }
        let gone = Set(aliases)
        try AliasAccess(device).forgetGrants { gone.contains($0) }
        try announceChange()
        return removed
    }

    /// Renames an entry, and broadcasts the change. Its key grants end.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if there is no such entry, `.duplicateItem` if the new alias is in
    ///   use, `.interactionNotAllowed` before the first unlock; `DeviceError.Code.invalidValue` if it is invalid;
    ///   `FileError`.
    package func rename(_ alias: String, to newAlias: String) throws {
        try Self.check(newAlias)
        let change = KeychainChange(label: newAlias)
        try keychain.update(KeychainQuery(.certificate, label: alias, accessGroup: Self.group), change)
        try keychain.update(KeychainQuery(.key, label: alias, accessGroup: Self.group), change)
        try AliasAccess(device).forgetGrants { $0 == alias }
        try announceChange()
    }

    private static func check(_ alias: String) throws(DeviceError) {
        guard (1...AliasNaming.longestAlias).contains(alias.utf8.count), !alias.utf8.contains(0) else {
            throw DeviceError(
                .invalidValue, path: "",
                "an alias has 1 to \(AliasNaming.longestAlias) bytes and no NUL; this one has \(alias.utf8.count) bytes"
            )
        }
    }

    private func announceChange() throws { try Broadcasts(device).send(.keychainChanged, at: now()) }

    private func items(_ query: KeychainQuery) throws(KeychainError) -> [KeychainItem] {
        do throws(KeychainError) {
            return try keychain.copyMatching(query, limit: .max)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }
}
