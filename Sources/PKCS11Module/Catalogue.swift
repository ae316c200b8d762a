internal import CPKCS11
internal import TokenClient

/// The token's objects and their handles, as last read from the provider.
///
/// A handle belongs to an object name, so it remains valid when the provider restarts, and an object that is removed
/// and added again gets its old handle. A handle is never reused for another object.
struct Catalogue: Sendable {
    /// The provider's change count for the list; nil before the first read.
    private(set) var changeCount: UInt64?
    /// The provider's login mode when the list was read.
    private(set) var mode = LoginState.Mode.presence
    /// The number of the connection over which the list was read; see ``TokenClient/connectionCount``.
    private(set) var connection = 0
    /// The object identifiers of the registrations, in the order of the list.
    private(set) var registrations: [String] = []
    /// The handles, in the order of the list.
    private(set) var handles: [CK_OBJECT_HANDLE] = []
    private var objects: [CK_OBJECT_HANDLE: PKCS11Object] = [:]
    private var known: [String: CK_OBJECT_HANDLE] = [:]
    private var lastHandle: CK_OBJECT_HANDLE = 0
    /// The person that all certificates belong to; empty if they belong to several persons.
    private(set) var holder = ""
    /// The labels of the tokens, keyed by registration. Empty unless each registration has its own slot.
    private(set) var tokenLabels: [String: String] = [:]

    /// The types of certificates that `KEYSHARE_PKCS11_TYPES` selects, in lower case; nil for all types.
    static var environmentTypes: Set<String>? {
        guard let words = ProviderPlace.environment("KEYSHARE_PKCS11_TYPES") else { return nil }
        return Set(words.lowercased().split { $0 == "," || $0 == " " }.map(String.init))
    }

    /// The object with a handle; nil if there is none.
    subscript(handle: CK_OBJECT_HANDLE) -> PKCS11Object? { objects[handle] }

    /// The identity of a registration; nil if it is no longer registered.
    func identity(_ objectID: String) -> TokenCertificate? {
        known[objectID + "c"].flatMap { objects[$0]?.identity }
    }

    /// Returns a handle that was never used before.
    mutating func newHandle() -> CK_OBJECT_HANDLE {
        lastHandle += 1
        return lastHandle
    }

    /// Replaces all objects with those of a new list.
    ///
    /// - Parameters:
    ///   - list: The list.
    ///   - mode: The login mode.
    ///   - connection: The number of the connection.
    ///   - isPerToken: Whether each registration has its own slot, and therefore its own key pair.
    ///   - types: The types of the certificates to show; nil for all.
    mutating func replace(
        _ list: TokenIdentityPage, _ mode: LoginState.Mode, connection: Int, isPerToken: Bool,
        types: Set<String>?
    ) {
        let identities = list.identities.filter { types?.contains($0.type) ?? true }
        changeCount = list.changeCount
        self.mode = mode
        self.connection = connection
        holder = list.holder
        registrations = identities.map(\.objectID)
        tokenLabels = isPerToken ? Self.tokenLabels(identities) : [:]
        handles = []
        objects = [:]
        add(PKCS11Object(.profile, nil, isPrivate: false))
        // Keys that can sign come first. ssh offers keys in this order, and each key that cannot sign costs it a failed
        // login attempt.
        let ordered = identities.filter(\.canSign) + identities.filter { !$0.canSign }
        for object in Self.objects(of: ordered, mode, isPerToken: isPerToken) { add(object) }
    }

    /// Returns the identities' token labels, keyed by registration. Labels that are equal after truncation to 32 bytes
    /// are made unique.
    private static func tokenLabels(_ identities: [TokenCertificate]) -> [String: String] {
        var counts: [String: Int] = [:]
        for identity in identities { counts[Caller.shortened(identity.label, 32), default: 0] += 1 }
        var labels: [String: String] = [:]
        for identity in identities {
            let label = Caller.shortened(identity.label, 32)
            labels[identity.objectID] =
                counts[label] == 1
                ? label : Caller.shortened(identity.label + " " + identity.objectID.prefix(16), 32)
        }
        return labels
    }

    /// Returns the objects of the identities: a certificate for each identity, and a key pair for each distinct key or,
    /// if `isPerToken` is true, for each identity.
    private static func objects(
        of identities: [TokenCertificate], _ mode: LoginState.Mode, isPerToken: Bool
    ) -> [PKCS11Object] {
        var newest: [[UInt8]: TokenCertificate] = [:]
        // An authority's certificate determines a key pair only if its private key is registered with it.
        for identity in identities where identity.hasKey || !identity.isAuthority {
            guard let other = newest[identity.publicKeyInfo], !isBetter(identity, other) else {
                newest[identity.publicKeyInfo] = identity
                continue
            }
        }
        var objects: [PKCS11Object] = []
        for identity in identities {
            objects.append(PKCS11Object(.certificate, identity, isPrivate: false))
            guard isPerToken || newest[identity.publicKeyInfo]?.objectID == identity.objectID else {
                continue
            }
            objects.append(PKCS11Object(.publicKey, identity, isPrivate: false))
            guard identity.hasKey else { continue }
            objects.append(PKCS11Object(.privateKey, identity, isPrivate: mode != .presence))
        }
        return objects
    }

    /// Whether the first of two certificates with the same key is the one whose key pair is listed. A certificate with
    /// a private key takes precedence, then an end-entity certificate over an authority's, and then the newer
    /// certificate.
    private static func isBetter(_ first: TokenCertificate, _ second: TokenCertificate) -> Bool {
        if first.hasKey != second.hasKey { return first.hasKey }
        if first.isAuthority != second.isAuthority { return second.isAuthority }
        return first.notBefore > second.notBefore
    }

    /// Assigns new handles to the private objects for which `isMeant` returns true. Their old handles become invalid.
    mutating func forgetPrivateHandles(where isMeant: (PKCS11Object) -> Bool) {
        for place in handles.indices {
            guard let object = objects[handles[place]], object.isPrivate, isMeant(object) else { continue }
            objects[handles[place]] = nil
            handles[place] = newHandle()
            known[object.name] = handles[place]
            objects[handles[place]] = object
        }
    }

    private mutating func add(_ object: PKCS11Object) {
        let handle = known[object.name] ?? newHandle()
        known[object.name] = handle
        guard objects[handle] == nil else { return }
        objects[handle] = object
        handles.append(handle)
    }
}

extension TokenCertificate {
    /// The type of the certificate, the first word of its label.
    fileprivate var type: String { label.prefix { $0 != " " }.lowercased() }
}
