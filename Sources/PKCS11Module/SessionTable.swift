internal import CPKCS11
internal import SecretMemory
internal import TokenClient

/// An operation with a key that a session has begun.
struct KeyOperation: Sendable {
    private(set) var use: KeyUse
    let mechanism: Mechanism
    let object: TokenObject
    /// How long the result may be, in bytes. A signature has exactly this length.
    let resultLimit: Int
    /// How long the data may be, in bytes; nil for a message of any length.
    let dataLimit: Int?
    /// How long the data must be, in bytes; nil where that is open.
    let dataLength: Int?
    /// What has been passed of a message and was not sent.
    var gathered: [UInt8] = []
    /// Whether a part was passed.
    var hasParts = false
    /// The message at the provider, once it is too long for one request.
    var message: TokenMessage?
    /// A plaintext that did not fit the caller's buffer, and the ciphertext that it came from.
    var result: (ciphertext: [UInt8], plaintext: SecretBytes)?
    /// Whether a login for this operation alone has to come first (`CKA_ALWAYS_AUTHENTICATE`).
    var needsLogin = false

    init(
        use: KeyUse, mechanism: Mechanism, object: TokenObject, resultLimit: Int, dataLimit: Int?,
        dataLength: Int?
    ) {
        self.use = use
        self.mechanism = mechanism
        self.object = object
        self.resultLimit = resultLimit
        self.dataLimit = dataLimit
        self.dataLength = dataLength
    }

    /// Has the operation carry what a login gave.
    mutating func logIn(_ ticket: [UInt8]) {
        needsLogin = false
        guard !ticket.isEmpty else { return }
        use.parameters.removeAll { $0.number == .ticket }
        use.parameters.append(KeyUse.Parameter(.ticket, ticket))
    }
}

/// A session of the program that has loaded the module.
struct Session: Sendable {
    let slot: CK_SLOT_ID
    let flags: CK_FLAGS
    /// What a search found and has not given yet; nil where there is no search.
    var found: ArraySlice<CK_OBJECT_HANDLE>?
    /// The operations that were begun.
    var operations: [KeyUse.Operation: KeyOperation] = [:]

    var isReadWrite: Bool { flags & CKF_RW_SESSION != 0 }
}

/// The sessions by their handles, of which none is used twice.
struct SessionTable: Sendable {
    /// The most sessions at one time.
    static let limit = 1_024

    private(set) var sessions: [CK_SESSION_HANDLE: Session] = [:]
    private var lastHandle: CK_SESSION_HANDLE = 0
    /// The secrets of all sessions.
    var secrets: [CK_OBJECT_HANDLE: SessionSecret] = [:]

    /// Opens a session.
    ///
    /// - Throws: CKR_SESSION_COUNT.
    mutating func open(_ slot: CK_SLOT_ID, _ flags: CK_FLAGS) throws(Refusal) -> CK_SESSION_HANDLE {
        guard sessions.count < Self.limit else { throw Refusal(CKR_SESSION_COUNT) }
        lastHandle += 1
        sessions[lastHandle] = Session(slot: slot, flags: flags)
        return lastHandle
    }

    /// Closes a session, and forgets its secrets.
    ///
    /// - Returns: its slot.
    /// - Throws: CKR_SESSION_HANDLE_INVALID.
    mutating func close(_ handle: CK_SESSION_HANDLE) throws(Refusal) -> CK_SLOT_ID {
        guard let session = sessions.removeValue(forKey: handle) else {
            throw Refusal(CKR_SESSION_HANDLE_INVALID)
        }
        if !secrets.isEmpty { secrets = secrets.filter { $0.value.session != handle } }
        return session.slot
    }

    /// Closes all sessions of a slot.
    mutating func closeAll(of slot: CK_SLOT_ID) {
        sessions = sessions.filter { $0.value.slot != slot }
        secrets = secrets.filter { sessions[$0.value.session] != nil }
    }

    /// Whether a slot has a session.
    func hasSession(_ slot: CK_SLOT_ID) -> Bool { sessions.values.contains { $0.slot == slot } }

    /// Ends what a login was for: operations with private keys, and private secrets.
    mutating func logOut(_ slot: CK_SLOT_ID) {
        for (handle, session) in sessions where session.slot == slot {
            sessions[handle]?.operations = session.operations.filter { !$0.value.object.isPrivate }
        }
        secrets = secrets.filter { !($0.value.isPrivate && sessions[$0.value.session]?.slot == slot) }
    }

    /// Gives `body` a session.
    ///
    /// - Throws: CKR_SESSION_HANDLE_INVALID, and what `body` throws.
    mutating func with<Result>(
        _ handle: CK_SESSION_HANDLE, _ body: (inout Session) throws(Refusal) -> Result
    ) throws(Refusal) -> Result {
        guard sessions[handle] != nil else { throw Refusal(CKR_SESSION_HANDLE_INVALID) }
        return try body(&sessions[handle, default: Session(slot: 0, flags: 0)])
    }
}
