internal import CPKCS11
internal import TokenClient

/// The objects of the token with their handles, as they were read last.
///
/// A handle belongs to the name of an object. It stays when the provider is started again, comes back when an object
/// does, and is never another's.
struct Catalogue: Sendable {
    /// The change count of the list; nil before it was read.
    private(set) var changeCount: UInt64?
    /// How programs log in, as the list was made for.
    private(set) var mode = LoginState.Mode.presence
    /// The registrations, in the order of the list.
    private(set) var registrations: [String] = []
    /// The handles, in the order of the list.
    private(set) var handles: [CK_OBJECT_HANDLE] = []
    private var objects: [CK_OBJECT_HANDLE: TokenObject] = [:]
    private var known: [String: CK_OBJECT_HANDLE] = [:]
    private var lastHandle: CK_OBJECT_HANDLE = 0
    /// Whose certificates the token has; empty where they are several persons'.
    private(set) var holder = ""

    /// The object of a handle; nil for none.
    subscript(handle: CK_OBJECT_HANDLE) -> TokenObject? { objects[handle] }

    /// The identity of a registration; nil where it is not registered any more.
    func identity(_ objectID: String) -> TokenIdentity? {
        known[objectID + "c"].flatMap { objects[$0]?.identity }
    }

    /// Gives a handle that nothing had before.
    mutating func newHandle() -> CK_OBJECT_HANDLE {
        lastHandle += 1
        return lastHandle
    }

    /// Takes a list over.
    ///
    /// - Parameters:
    ///   - list: the list.
    ///   - mode: how programs log in.
    ///   - isPerToken: whether each registration has a slot, and so a key pair, of its own.
    mutating func replace(_ list: TokenIdentityPage, _ mode: LoginState.Mode, isPerToken: Bool) {
        changeCount = list.changeCount
        self.mode = mode
        holder = list.holder
        registrations = list.identities.map(\.objectID)
        handles = []
        objects = [:]
        add(TokenObject(.profile, nil, isPrivate: false))
        for object in Self.objects(of: list.identities, mode, isPerToken: isPerToken) { add(object) }
    }

    /// The objects of identities: a certificate of each, and one pair of keys for all certificates of a key.
    private static func objects(
        of identities: [TokenIdentity], _ mode: LoginState.Mode, isPerToken: Bool
    ) -> [TokenObject] {
        var newest: [[UInt8]: TokenIdentity] = [:]
        for identity in identities where !identity.isAuthority {
            guard let other = newest[identity.publicKeyInfo], !isBetter(identity, other) else {
                newest[identity.publicKeyInfo] = identity
                continue
            }
        }
        var objects: [TokenObject] = []
        for identity in identities {
            objects.append(TokenObject(.certificate, identity, isPrivate: false))
            guard isPerToken || newest[identity.publicKeyInfo]?.objectID == identity.objectID else {
                continue
            }
            objects.append(TokenObject(.publicKey, identity, isPrivate: false))
            guard identity.hasKey else { continue }
            objects.append(TokenObject(.privateKey, identity, isPrivate: mode != .presence))
        }
        return objects
    }

    /// Whether the keys of two certificates are rather named after the first.
    private static func isBetter(_ first: TokenIdentity, _ second: TokenIdentity) -> Bool {
        first.hasKey == second.hasKey ? first.notBefore > second.notBefore : first.hasKey
    }

    /// Gives private objects new handles, so that the old ones are nobody's.
    mutating func forgetPrivateHandles(where isMeant: (TokenObject) -> Bool) {
        for place in handles.indices {
            guard let object = objects[handles[place]], object.isPrivate, isMeant(object) else { continue }
            objects[handles[place]] = nil
            handles[place] = newHandle()
            known[object.name] = handles[place]
            objects[handles[place]] = object
        }
    }

    private mutating func add(_ object: TokenObject) {
        let handle = known[object.name] ?? newHandle()
        known[object.name] = handle
        guard objects[handle] == nil else { return }
        objects[handle] = object
        handles.append(handle)
    }
}
