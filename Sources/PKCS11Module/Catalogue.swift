internal import CPKCS11
internal import TokenClient

/// The objects of the token with their handles, as they were read last.
///
/// A handle belongs to the name of an object. It stays when the provider is started again, comes back when an object
/// does, and is never another's.
struct Catalogue: Sendable {
    /// The change count of the list; nil before it was read.
    private(set) var changeCount: UInt64?
    /// The handles, in the order of the list.
    private(set) var handles: [CK_OBJECT_HANDLE] = []
    private var objects: [CK_OBJECT_HANDLE: TokenObject] = [:]
    private var known: [String: CK_OBJECT_HANDLE] = [:]
    private var lastHandle: CK_OBJECT_HANDLE = 0
    /// Whose certificates the token has; empty where they are several persons'.
    private(set) var holder = ""

    /// The object of a handle; nil for none.
    subscript(handle: CK_OBJECT_HANDLE) -> TokenObject? { objects[handle] }

    /// Gives a handle that nothing had before.
    mutating func newHandle() -> CK_OBJECT_HANDLE {
        lastHandle += 1
        return lastHandle
    }

    /// Takes a list over.
    mutating func replace(_ list: TokenIdentityPage) {
        changeCount = list.changeCount
        holder = list.holder
        handles = []
        objects = [:]
        add(TokenObject(.profile, nil))
        for object in Self.objects(of: list.identities) { add(object) }
    }

    /// The objects of identities: a certificate of each, and one pair of keys for all certificates of a key.
    private static func objects(of identities: [TokenIdentity]) -> [TokenObject] {
        var newest: [[UInt8]: TokenIdentity] = [:]
        for identity in identities where !identity.isAuthority {
            guard let other = newest[identity.publicKeyInfo], !isBetter(identity, other) else {
                newest[identity.publicKeyInfo] = identity
                continue
            }
        }
        var objects: [TokenObject] = []
        for identity in identities {
            objects.append(TokenObject(.certificate, identity))
            guard newest[identity.publicKeyInfo]?.objectID == identity.objectID else { continue }
            objects.append(TokenObject(.publicKey, identity))
            if identity.hasKey { objects.append(TokenObject(.privateKey, identity)) }
        }
        return objects
    }

    /// Whether the keys of two certificates are rather named after the first.
    private static func isBetter(_ first: TokenIdentity, _ second: TokenIdentity) -> Bool {
        first.hasKey == second.hasKey ? first.notBefore > second.notBefore : first.hasKey
    }

    private mutating func add(_ object: TokenObject) {
        let handle = known[object.name] ?? newHandle()
        known[object.name] = handle
        guard objects[handle] == nil else { return }
        objects[handle] = object
        handles.append(handle)
    }
}
