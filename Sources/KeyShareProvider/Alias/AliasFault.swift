package import DeviceSimulation
internal import SimulatedKeychain

/// An error or unusual behaviour that alias sharing shows deliberately, so that consumers can be tested.
///
/// To add a fault, add a line to `allCases` with its name, its explanation, and its differences from correct alias
/// sharing. `serve --alias-fault` and its help use this list.
package struct AliasFault: Sendable {
    /// The name of the fault on the command line.
    package let name: String
    /// The fault's behaviour, as a clause without a full stop.
    package let explanation: String
    /// The differences from correct alias sharing.
    let changes: Changes

    /// The differences from correct alias sharing. ``FaultyAliases`` applies those of queries and key uses, and
    /// ``AliasStore`` those of renewals and resets.
    struct Changes: Sendable {
        /// Whether every query fails as if the app did not have READ_ALIAS.
        var deniesPermission = false
        /// Whether queries also list an alias that KeyChain does not have.
        var listsGoneAlias = false
        /// Whether queries list only a random number of the first entries.
        var truncatesLists = false
        /// Whether the key grant ends after the first use of the key.
        var revokesGrant = false
        /// Whether KeyChain returns no key.
        var hasNoKeys = false
        /// Returns the alias of a renewed identity from that of its predecessor; nil to keep it.
        var renewedAlias: (@Sendable (String) -> String)?
        /// Whether renewals send no broadcasts.
        var renewsSilently = false
        /// The time between the announcement of a reset and the removal of the keys; nil for none.
        var removalDelay: Duration?
    }
}

extension AliasFault: CaseIterable {
    /// All faults, in the order in which the help text lists them.
    package static let allCases: [AliasFault] = [
        AliasFault(
            name: "permission-denied", explanation: "every query fails as if the app did not have READ_ALIAS",
            changes: Changes(deniesPermission: true)),
        AliasFault(
            name: "alias-renamed",
            explanation: "a renewal gives the key another alias and removes the old one",
            changes: Changes(renewedAlias: { "\($0.prefix(200)) (renewed)" })),
        AliasFault(
            name: "stale-alias", explanation: "queries list an alias that KeyChain does not have",
            changes: Changes(listsGoneAlias: true)),
        AliasFault(
            name: "grant-revoked", explanation: "the key grant ends after each use",
            changes: Changes(revokesGrant: true)),
        AliasFault(
            name: "removed-after-broadcast",
            explanation: "a reset removes the keys a second after its broadcast",
            changes: Changes(removalDelay: .seconds(1))),
        AliasFault(
            name: "null-key", explanation: "KeyChain returns no key although a grant exists",
            changes: Changes(hasNoKeys: true)),
        AliasFault(
            name: "truncated-list", explanation: "lists stop at a random entry",
            changes: Changes(truncatesLists: true)),
        AliasFault(
            name: "same-alias-new-key", explanation: "a renewal replaces keys without a broadcast",
            changes: Changes(renewsSilently: true)),
    ]
}

extension AliasFault: RawRepresentable, Hashable, Codable {
    /// Creates the fault with a name; nil if no fault has this name.
    package init?(rawValue: String) {
        guard let fault = Self.allCases.first(where: { $0.name == rawValue }) else { return nil }
        self = fault
    }

    /// The fault's name.
    package var rawValue: String { name }

    /// Compares names, which are unique.
    package static func == (left: AliasFault, right: AliasFault) -> Bool { left.name == right.name }

    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension AliasFault {
    /// Reads the fault with which a provider last began to serve. Renewals and resets apply it, because they run in
    /// other processes. Nil for none.
    ///
    /// - Throws: `FileError` if the provider's settings cannot be read.
    package static func stored(on device: Device) throws -> AliasFault? {
        let (name, source) = try settings(of: device).look(up: key)
        return source == .stored ? AliasFault(rawValue: name) : nil
    }

    /// Writes the fault to the provider's settings, for ``stored(on:)``. Nil removes it.
    ///
    /// - Throws: `FileError` if the settings cannot be written.
    package static func store(_ fault: AliasFault?, on device: Device) throws {
        guard try stored(on: device) != fault else { return }
        try settings(of: device).set(key, to: fault?.name)
    }

    private static let key = DefaultsKey("KeyShareAliasFault", fallback: "")

    private static func settings(of device: Device) throws -> GroupDefaults {
        GroupDefaults(try AppGroup(App.providerGroup, app: .provider, device: device))
    }
}
