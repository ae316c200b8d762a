internal import CPKCS11
internal import KeyShareProtocol
internal import SecretMemory
internal import TokenClient

/// An active key operation of a session.
struct ActiveKeyOperation: Sendable {
    private(set) var use: KeyUse
    let mechanism: PKCS11Mechanism
    let object: PKCS11Object
    /// The maximum length of the result, in bytes; for signatures, the exact length.
    let resultLimit: Int
    /// The maximum length of the input data, in bytes; nil for messages, which may have any length.
    let dataLimit: Int?
    /// The required length of the input data, in bytes; nil for any length.
    let dataLength: Int?
    /// Data that the caller has passed but that was not yet sent to the provider.
    var gathered: [UInt8] = []
    /// Whether the caller has passed a part. A single-part operation is then no longer possible.
    var hasParts = false
    /// The provider's multipart message, if the data was too long for one request.
    var message: TokenMessage?
    /// The last decrypted ciphertext and its plaintext, if the plaintext did not fit in the caller's buffer.
    var result: (ciphertext: [UInt8], plaintext: SecretBytes)?
    /// Whether this operation requires its own login first (`CKA_ALWAYS_AUTHENTICATE`).
    var needsLogin = false
    /// The number of the login that the operation requires; nil if its key is not private.
    var login: UInt64?

    init(
        use: KeyUse, mechanism: PKCS11Mechanism, object: PKCS11Object, resultLimit: Int, dataLimit: Int?,
        dataLength: Int?
    ) {
        self.use = use
        self.mechanism = mechanism
        self.object = object
        self.resultLimit = resultLimit
        self.dataLimit = dataLimit
        self.dataLength = dataLength
    }

    /// Adds a login's ticket to the key use.
    mutating func logIn(_ ticket: [UInt8]) {
        needsLogin = false
        guard !ticket.isEmpty else { return }
        use.parameters.removeAll { $0.number == .ticket }
        use.parameters.append(KeyUse.Parameter(.ticket, ticket))
    }
}

/// A PKCS #11 session of the program that has loaded the module.
struct PKCS11Session: Sendable {
    let slot: CK_SLOT_ID
    let flags: CK_FLAGS
    /// The search results that were not yet returned; nil if no search is active.
    var found: ArraySlice<CK_OBJECT_HANDLE>?
    /// The active key operations, at most one of each kind.
    var operations: [TokenOperation: ActiveKeyOperation] = [:]
    /// The active digest; nil if there is none.
    var digest: DigestOperation?

    var isReadWrite: Bool { flags & CKF_RW_SESSION != 0 }
}

/// Open sessions, keyed by handle. Handles are never reused.
struct SessionTable: Sendable {
    /// The maximum number of open sessions.
    static let limit = 1_024

    private(set) var sessions: [CK_SESSION_HANDLE: PKCS11Session] = [:]
    private var lastHandle: CK_SESSION_HANDLE = 0
    /// The derived secrets of all sessions, keyed by handle.
    var secrets: [CK_OBJECT_HANDLE: SessionSecret] = [:]

    /// Opens a session.
    ///
    /// - Throws: CKR_SESSION_COUNT.
    mutating func open(_ slot: CK_SLOT_ID, _ flags: CK_FLAGS) throws(Refusal) -> CK_SESSION_HANDLE {
        guard sessions.count < Self.limit else { throw Refusal(CKR_SESSION_COUNT) }
        lastHandle += 1
        sessions[lastHandle] = PKCS11Session(slot: slot, flags: flags)
        return lastHandle
    }

    /// Closes a session, and deletes its secrets.
    ///
    /// - Returns: The session's slot.
    /// - Throws: CKR_SESSION_HANDLE_INVALID.
    mutating func close(_ handle: CK_SESSION_HANDLE) throws(Refusal) -> CK_SLOT_ID {
        guard let session = sessions.removeValue(forKey: handle) else {
            throw Refusal(CKR_SESSION_HANDLE_INVALID)
        }
        if !secrets.isEmpty { secrets = secrets.filter { $0.value.session != handle } }
        return session.slot
    }

    /// Closes all sessions of a slot, and deletes their secrets.
    mutating func closeAll(of slot: CK_SLOT_ID) {
        sessions = sessions.filter { $0.value.slot != slot }
        secrets = secrets.filter { sessions[$0.value.session] != nil }
    }

    /// Whether a slot has a session.
    func hasSession(_ slot: CK_SLOT_ID) -> Bool { sessions.values.contains { $0.slot == slot } }

    /// Whether a slot has a read-only session.
    func hasReadOnlySession(_ slot: CK_SLOT_ID) -> Bool {
        sessions.values.contains { $0.slot == slot && !$0.isReadWrite }
    }

    /// Ends operations with private keys and deletes private secrets, because they depend on the login.
    mutating func logOut(_ slot: CK_SLOT_ID) {
        for (handle, session) in sessions where session.slot == slot {
            sessions[handle]?.operations = session.operations.filter { !$0.value.object.isPrivate }
        }
        deletePrivateSecrets(of: slot)
    }

    /// Deletes the private secrets of a slot's sessions.
    mutating func deletePrivateSecrets(of slot: CK_SLOT_ID) {
        secrets = secrets.filter { !($0.value.isPrivate && sessions[$0.value.session]?.slot == slot) }
    }

    /// Runs `body` with a session.
    ///
    /// - Throws: CKR_SESSION_HANDLE_INVALID, and the errors of `body`.
    mutating func with<Result>(
        _ handle: CK_SESSION_HANDLE, _ body: (inout PKCS11Session) throws(Refusal) -> Result
    ) throws(Refusal) -> Result {
        guard sessions[handle] != nil else { throw Refusal(CKR_SESSION_HANDLE_INVALID) }
        return try body(&sessions[handle, default: PKCS11Session(slot: 0, flags: 0)])
    }
}
