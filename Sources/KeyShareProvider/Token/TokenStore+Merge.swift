internal import DeviceSimulation
internal import OpenSSL
internal import PersistentToken

extension TokenStore {
    /// The result of a merge of registrations.
    package struct Merged: Sendable, Equatable {
        /// The number of new registrations.
        package var registered = 0
        /// The number of new registrations whose identities key sharing does not publish.
        package var alone = 0
    }

    /// Checks that both devices' states permit reading registrations from `other` and creating them in this store, and
    /// that the labels, certificates and keys of these registrations match.
    ///
    /// - Parameter report: Called with each problem of the first defective registration.
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while either device is locked or has no passcode, `.decode`
    ///   if a key's record was altered; the errors of reading registrations; `CancellationError` if a registration is
    ///   defective, after `report` was called.
    package func requireMergeable(_ other: TokenStore, report: (IntegrityProblem) -> Void) throws {
        if let problem = try other.firstUnreadableCertificate() {
            try ProviderStore.requireNone(of: [problem], report: report)
        }
        let missing = try missing(of: other)
        guard !missing.isEmpty else { return }
        try other.requireOpen()
        try requireOpen()
        for registration in missing {
            try ProviderStore.requireNone(of: try other.problems(of: registration), report: report)
        }
    }

    /// Registers the tokens of another device's provider on this device, with the same rules and in the same order.
    /// Existing registrations are unchanged, unless they have lost their key. Registrations in `other` that have lost
    /// their key are not copied.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while either device is locked or has no passcode;
    ///   `CertificateError` and `OpenSSLError` if OpenSSL rejects an identity.
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
            // Each transaction has one rule, and the keys of only one transaction are in memory at a time.
            if registration.rule != rule || batch.count == Self.mostAtOnce { try register() }
            rule = registration.rule
            batch.append(
                try store.prepare(registration.certificate, try other.privateKey(registration.label)))
            if try !isPublished(registration.label) { merged.alone += 1 }
        }
        try register()
        return merged
    }

    /// Returns the registrations in `other` that have a key, unless this store also has the registration with its key.
    private func missing(of other: TokenStore) throws -> [TokenRegistration] {
        let there = try other.registrations().filter(\.hasKey)
        guard !there.isEmpty else { return [] }
        let here = Set(try registrations().filter(\.hasKey).map(\.label))
        return there.filter { !here.contains($0.label) }
    }

    /// The maximum number of registrations in one transaction.
    private static let mostAtOnce = 256
}
