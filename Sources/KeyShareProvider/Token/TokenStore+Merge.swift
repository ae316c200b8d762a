internal import DeviceSimulation
internal import OpenSSL
internal import PersistentToken

extension TokenStore {
    /// What a merge of registrations has added.
    package struct Merged: Sendable, Equatable {
        /// How many registrations were made.
        package var registered = 0
        /// How many of these are of identities that key sharing publishes nowhere, so that they were new with their
        /// registrations.
        package var alone = 0
    }

    /// Refuses where the states of the devices do not let registrations be read from `other` and made here. Where there
    /// are none to merge, nothing is refused.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while either device is locked or has no passcode; the errors of
    ///   reading registrations.
    package func requireMergeable(_ other: TokenStore) throws {
        guard try !missing(of: other).isEmpty else { return }
        try other.requireOpen()
        try requireOpen()
    }

    /// Registers here what the provider of another device has registered, by the same rules and in the same order. What
    /// is registered here stays as it is, and so does what has lost its key there.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while either device is locked or has no passcode;
    ///   `CertificateError` and `OpenSSLError` where OpenSSL refuses an identity.
    package func merge(_ other: TokenStore) throws -> Merged {
        var merged = Merged()
        var batch: [ProviderStore.PreparedIdentity] = []
        var rule = TokenKeyProperties.Rule.cryptoTokenKit
        func register() throws {
            try add(batch, rule: rule)
            merged.registered += batch.count
            batch = []
        }
        for registration in try missing(of: other) {
            // One transaction has one rule, and keys of no more than one at a time are in memory.
            if registration.rule != rule || batch.count == Self.mostAtOnce { try register() }
            rule = registration.rule
            batch.append(
                try store.prepare(registration.certificate, try other.privateKey(registration.label)))
            if try !isPublished(registration.label) { merged.alone += 1 }
        }
        try register()
        return merged
    }

    /// The registrations with a key that `other` has and this one has not.
    private func missing(of other: TokenStore) throws -> [TokenRegistration] {
        let there = try other.registrations().filter(\.hasKey)
        guard !there.isEmpty else { return [] }
        let here = Set(try registrations().map(\.label))
        return there.filter { !here.contains($0.label) }
    }

    /// How many registrations are made in one transaction.
    private static let mostAtOnce = 256
}
