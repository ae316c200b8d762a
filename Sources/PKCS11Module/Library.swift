internal import CPKCS11
internal import Glibc
internal import SecretMemory
internal import Synchronization
internal import TokenClient

/// The state of the module in one process. It is never shared over a fork.
final class Library: Sendable {
    /// The process whose state this is.
    let owner: pid_t
    let client = TokenClient(clientName: "libkeyshare-pkcs11")
    let log = CallLog()
    private let state = Mutex(State())

    private init(owner: pid_t) {
        self.owner = owner
    }

    /// What there is between `C_Initialize` and `C_Finalize`.
    struct State {
        fileprivate var isInitialized = false
        var sessions = SessionTable()
        var catalogue = Catalogue()
        var slots = SlotTable(isPerToken: false)
        /// The logins of slots; nothing for a slot to which nobody has logged in.
        var logins: [CK_SLOT_ID: Login] = [:]
    }

    /// What a login gave.
    struct Login {
        /// What uses of keys carry; empty where they need nothing.
        let ticket: [UInt8]
        /// How often the device had been locked or restarted. A login is over at the next time.
        let lockCount: UInt64
    }

    /// Runs `body` with the state, which no other thread sees meanwhile. `body` must not wait for the provider.
    ///
    /// - Throws: CKR_CRYPTOKI_NOT_INITIALIZED, and what `body` throws.
    func withState<Result>(
        _ body: (inout State) throws(Refusal) -> sending Result
    ) throws(Refusal) -> sending Result {
        try state.withLock { (state) throws(Refusal) in
            guard state.isInitialized else { throw Refusal(CKR_CRYPTOKI_NOT_INITIALIZED) }
            return try body(&state)
        }
    }

    /// Begins the module's work in this process.
    ///
    /// - Throws: CKR_CRYPTOKI_ALREADY_INITIALIZED.
    func initialize() throws(Refusal) {
        try state.withLock { (state) throws(Refusal) in
            guard !state.isInitialized else { throw Refusal(CKR_CRYPTOKI_ALREADY_INITIALIZED) }
            state = State()
            state.isInitialized = true
            state.slots = SlotTable(isPerToken: SlotTable.environmentIsPerToken)
        }
        log.configure()
        client.setPath(ProviderPlace.socketPath())
    }

    /// Ends the module's work in this process.
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
    /// A lock that a thread of the parent held when it forked is never released in the child, and neither is memory
    /// half written. So a child leaves the parent's state alone, and begins with one of its own.
    static var current: Library {
        let process = getpid()
        while true {
            let known = pointer.load(ordering: .acquiring)
            let inherited = unsafe UnsafeRawPointer(bitPattern: known).map {
                // A state is never released once it is in `pointer`.
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

    /// Runs the body of a function, and writes the call to the log.
    static func call(_ function: StaticString, _ body: (Library) throws(Refusal) -> Void) -> CK_RV {
        let library = current
        do {
            try body(library)
            library.log.note("\(function)", CKR_OK, "")
            return CKR_OK
        } catch {
            library.log.note("\(function)", error.code, error.reason)
            return error.code
        }
    }
}
