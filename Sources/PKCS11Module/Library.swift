internal import CPKCS11
internal import Glibc
internal import SecretMemory
internal import Synchronization
internal import TokenClient

/// The state of the module in one process. A forked child creates its own.
final class Library: Sendable {
    /// The process that owns this state.
    let owner: pid_t
    let client = TokenClient(clientName: "libkeyshare-pkcs11")
    let log = CallLog()
    private let state = Mutex(State())

    private init(owner: pid_t) {
        self.owner = owner
    }

    /// The state between `C_Initialize` and `C_Finalize`.
    struct State {
        fileprivate var isInitialized = false
        var sessions = SessionTable()
        var catalogue = Catalogue()
        var slots = SlotTable(isPerToken: false)
        /// The types of certificates that are visible to the program; nil for all types.
        var types: Set<String>?
        /// The current logins, keyed by slot.
        var logins: [CK_SLOT_ID: Login] = [:]
        /// The number of the latest login. Numbers are never reused.
        var lastLogin: UInt64 = 0
    }

    /// A login of the program to the token in one slot.
    struct Login {
        /// Distinguishes this login from earlier and later ones.
        let number: UInt64
        /// The ticket that key uses contain; empty if they need none.
        let ticket: [UInt8]
        /// The lock count of the device at the login. The login ends when this count changes.
        let lockCount: UInt64
    }

    /// Runs `body` with exclusive access to the state. `body` must not wait for the provider.
    ///
    /// - Throws: CKR_CRYPTOKI_NOT_INITIALIZED, and the errors of `body`.
    func withState<Result>(
        _ body: (inout State) throws(Refusal) -> sending Result
    ) throws(Refusal) -> sending Result {
        try state.withLock { (state) throws(Refusal) in
            guard state.isInitialized else { throw Refusal(CKR_CRYPTOKI_NOT_INITIALIZED) }
            return try body(&state)
        }
    }

    /// Initializes the module in this process.
    ///
    /// - Throws: CKR_CRYPTOKI_ALREADY_INITIALIZED.
    func initialize() throws(Refusal) {
        try state.withLock { (state) throws(Refusal) in
            guard !state.isInitialized else { throw Refusal(CKR_CRYPTOKI_ALREADY_INITIALIZED) }
            state = State()
            state.isInitialized = true
            state.slots = SlotTable(isPerToken: SlotTable.environmentIsPerToken)
            state.types = Catalogue.environmentTypes
        }
        log.configure()
        let invalid = ProviderPlace.invalidVariable
        if let invalid { log.remark("the environment variable \(invalid) is not UTF-8") }
        client.setPath(invalid == nil ? ProviderPlace.socketPath() : nil)
    }

    /// Finalizes the module in this process.
    ///
    /// - Throws: CKR_CRYPTOKI_NOT_INITIALIZED.
    func finalize() throws(Refusal) {
        try state.withLock { (state) throws(Refusal) in
            guard state.isInitialized else { throw Refusal(CKR_CRYPTOKI_NOT_INITIALIZED) }
            state = State()
        }
        client.close()
    }
}

extension Library {
    /// The state of this process.
    ///
    /// If another thread of the parent held a lock at the fork, the child never sees it released, and the locked memory
    /// may be inconsistent. A child therefore does not touch the parent's state, and creates its own.
    static var current: Library {
        let process = getpid()
        while true {
            let known = pointer.load(ordering: .acquiring)
            let inherited = unsafe UnsafeRawPointer(bitPattern: known).map {
                // The reference is valid, because a state that was stored in `pointer` is never released.
                unsafe Unmanaged<Library>.fromOpaque($0).takeUnretainedValue()
            }
            if let inherited, inherited.owner == process { return inherited }
            let fresh = unsafe Unmanaged.passRetained(Library(owner: process))
            let place = unsafe UInt(bitPattern: fresh.toOpaque())
            if pointer.compareExchange(expected: known, desired: place, ordering: .acquiringAndReleasing)
                .exchanged
            {
                inherited?.client.closeInherited()
                return unsafe fresh.takeUnretainedValue()
            }
            unsafe fresh.release()
        }
    }

    private static let pointer = Atomic<UInt>(0)

    /// Runs the body of a PKCS #11 function, and logs the call.
    static func call(_ function: @autoclosure () -> String, _ body: (Library) throws(Refusal) -> Void)
        -> CK_RV
    {
        let library = current
        do {
            try body(library)
            library.log.note(function(), CKR_OK, "")
            return CKR_OK
        } catch {
            library.log.note(function(), error.code, error.reason)
            return error.code
        }
    }
}
