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
        // Both are read in one transaction: an entry that is installed in the meantime would otherwise seem to have no
        // key, and its grants would be forgotten.
        let found = try keychain.copyMatching(
            each: [ItemClass.key, .certificate].map { KeychainQuery($0, accessGroup: Self.group) })
        let keys = Set(found[0].map { ExactText($0.attributes.label) })
        return found[1].map { item in
            KeyChainEntry(
                alias: item.attributes.label,
                label: String(decoding: item.attributes.applicationTag, as: UTF8.self),
                certificate: item.certificate)
        }.filter { keys.contains(ExactText($0.alias)) }
            .sorted { $0.alias.utf8.lexicographicallyPrecedes($1.alias.utf8) }
    }

    /// Returns the entry with an alias; nil if there is none.
    ///
    /// - Throws: `KeychainError`.
    package func entry(_ alias: String) throws(KeychainError) -> KeyChainEntry? {
        try entries().first { $0.alias.hasSameBytes(as: alias) }
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
    /// grants then apply to the new key (docs/rules.md R9.14). A new entry has no grants, even if an earlier entry with
    /// its alias was lost without its grants.
    ///
    /// - Parameters:
    ///   - identities: The entries with their keys as PKCS #8.
    ///   - isAnnounced: Whether the change is broadcast; false only for a deliberate fault.
    /// - Throws: `DeviceError.Code.invalidValue` for an alias that is empty, longer than 255 bytes or contains NUL;
    ///   `KeychainError`: `.interactionNotAllowed` before the first unlock; `FileError` if the grants cannot be written or the
    ///   broadcast cannot be sent.
    package func install(
        _ identities: [(entry: KeyChainEntry, privateKey: SecretBytes)], isAnnounced: Bool = true
    ) throws {
        guard !identities.isEmpty else { return }
        for (entry, _) in identities { try Self.check(entry.alias) }
        let installed = Set(identities.map { ExactText($0.entry.alias) })
        try forgetGrantsWithoutEntry { installed.contains(ExactText($0)) }
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
    /// - Throws: `FileError` if the grants cannot be written, in which case nothing is removed, or if the broadcast cannot
    ///   be sent; `KeychainError`.
    package func remove(_ aliases: [String]) throws -> Int {
        // Grants end first. If a grant outlived its key, it would apply to a later key with the same alias.
        let gone = Set(aliases.map { ExactText($0) })
        try AliasAccess(existingOn: device)?.forgetGrants { gone.contains(ExactText($0)) }
        let counts = try keychain.delete(
            each: aliases.flatMap { alias in
                [ItemClass.certificate, .key].map {
                    KeychainQuery($0, label: alias, accessGroup: Self.group)
                }
            })
        let removed = stride(from: 0, to: counts.count, by: 2).count { counts[$0] > 0 }
        guard removed > 0 else { return 0 }
        try announceChange()
        return removed
    }

    /// Renames an entry, and broadcasts the change. Its key grants end. The entry is renamed as a whole or not at all.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if there is no such entry, `.duplicateItem` if the new alias is in
    ///   use, `.interactionNotAllowed` before the first unlock, `.io` if the grants cannot be written;
    ///   `DeviceError.Code.invalidValue` if the new alias is invalid; `FileError` if the broadcast cannot be sent.
    package func rename(_ alias: String, to newAlias: String) throws {
        try Self.check(newAlias)
        try keychain.update(
            each: [ItemClass.certificate, .key].map { itemClass in
                (
                    query: KeychainQuery(itemClass, label: alias, accessGroup: Self.group),
                    change: KeychainChange(label: newAlias)
                )
            }
        ) {
            // Grants end before the commit, so that no grant outlives the entry, and only if the entry can be renamed.
            try AliasAccess(existingOn: device)?.forgetGrants {
                $0.hasSameBytes(as: alias) || $0.hasSameBytes(as: newAlias)
            }
        }
        try announceChange()
    }

    /// Ends the grants for aliases that have no entry, for example because the keychain was damaged.
    ///
    /// - Parameter isMeant: Selects the aliases; by default, all.
    /// - Throws: `KeychainError`; `FileError`.
    package func forgetGrantsWithoutEntry(where isMeant: (String) -> Bool = { _ in true }) throws {
        guard let access = try AliasAccess(existingOn: device) else { return }
        let known = Set(try entries().map { ExactText($0.alias) })
        try access.forgetGrants { isMeant($0) && !known.contains(ExactText($0)) }
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
}
