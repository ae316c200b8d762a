public import CPKCS11
internal import TokenClient

// Sessions and logging in (PKCS #11 5.6).

/// `C_OpenSession` opens a session (PKCS #11 5.6).
@c @implementation public func C_OpenSession(
    _ slot: CK_SLOT_ID, _ flags: CK_FLAGS, _ application: CK_VOID_PTR?, _ notify: CK_NOTIFY?,
    _ session: UnsafeMutablePointer<CK_SESSION_HANDLE>?
) -> CK_RV {
    Library.call("C_OpenSession") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(session)
        guard flags & CKF_SERIAL_SESSION != 0 else { throw Refusal(CKR_SESSION_PARALLEL_NOT_SUPPORTED) }
        _ = try library.presentToken()
        unsafe place.pointee = try library.withState { state throws(Refusal) in
            try state.sessions.open(flags & (CKF_SERIAL_SESSION | CKF_RW_SESSION))
        }
    }
}

/// `C_CloseSession` closes a session (PKCS #11 5.6).
@c @implementation public func C_CloseSession(_ session: CK_SESSION_HANDLE) -> CK_RV {
    Library.call("C_CloseSession") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            try state.sessions.close(session)
            // The last session takes the login with it.
            if state.sessions.sessions.isEmpty { state.isLoggedIn = false }
        }
    }
}

/// `C_CloseAllSessions` closes all sessions (PKCS #11 5.6).
@c @implementation public func C_CloseAllSessions(_ slot: CK_SLOT_ID) -> CK_RV {
    Library.call("C_CloseAllSessions") { library throws(Refusal) in
        try library.requireSlot(slot)
        try library.withState { state throws(Refusal) in
            state.sessions.closeAll()
            state.isLoggedIn = false
        }
    }
}

/// `C_GetSessionInfo` describes a session (PKCS #11 5.6).
@c @implementation public func C_GetSessionInfo(
    _ session: CK_SESSION_HANDLE, _ info: UnsafeMutablePointer<CK_SESSION_INFO>?
) -> CK_RV {
    Library.call("C_GetSessionInfo") { library throws(Refusal) in
        let (flags, isLoggedIn) = try library.withState { state throws(Refusal) in
            (
                try state.sessions.with(session) { session throws(Refusal) in session.flags },
                state.isLoggedIn
            )
        }
        let place = unsafe try Caller.place(info)
        let isReadWrite = flags & CKF_RW_SESSION != 0
        let sessionState: CK_STATE =
            isLoggedIn
            ? (isReadWrite ? CKS_RW_USER_FUNCTIONS : CKS_RO_USER_FUNCTIONS)
            : (isReadWrite ? CKS_RW_PUBLIC_SESSION : CKS_RO_PUBLIC_SESSION)
        unsafe place.pointee = CK_SESSION_INFO(slotID: 0, state: sessionState, flags: flags, ulDeviceError: 0)
    }
}

extension Library {
    /// How long a PIN may be, in bytes.
    static let pinLengths: ClosedRange<CK_ULONG> = 4...64

    /// Notes a login. The token asks for none: the device asks for the user's presence when a key is used. A program that
    /// logs in all the same finds that it works, whatever the PIN is.
    fileprivate func logIn(_ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE) throws(Refusal) {
        try withState { state throws(Refusal) in
            let hasOperation = try state.sessions.with(session) { session throws(Refusal) in
                !session.operations.isEmpty
            }
            switch user {
            case CKU_USER:
                guard !state.isLoggedIn else { throw Refusal(CKR_USER_ALREADY_LOGGED_IN) }
                state.isLoggedIn = true
            case CKU_CONTEXT_SPECIFIC:
                guard hasOperation else { throw Refusal(CKR_OPERATION_NOT_INITIALIZED) }
            default: throw Refusal(CKR_USER_TYPE_INVALID, "the token has no security officer")
            }
        }
    }
}

/// `C_Login` logs the user in (PKCS #11 5.6).
@c @implementation public func C_Login(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: CK_UTF8CHAR_PTR?, _ pinLength: CK_ULONG
) -> CK_RV {
    Library.call("C_Login") { library throws(Refusal) in
        try library.logIn(session, user)
    }
}

/// `C_LoginUser` logs a user of a name in, which the token's user does not have (PKCS #11 3.0, 5.6).
@c @implementation public func C_LoginUser(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: CK_UTF8CHAR_PTR?, _ pinLength: CK_ULONG,
    _ name: CK_UTF8CHAR_PTR?, _ nameLength: CK_ULONG
) -> CK_RV {
    Library.call("C_LoginUser") { library throws(Refusal) in
        guard nameLength == 0 else { throw Refusal(CKR_ARGUMENTS_BAD, "the user has no name") }
        try library.logIn(session, user)
    }
}

/// `C_Logout` logs the user out (PKCS #11 5.6).
@c @implementation public func C_Logout(_ session: CK_SESSION_HANDLE) -> CK_RV {
    Library.call("C_Logout") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { _ throws(Refusal) in }
            guard state.isLoggedIn else { throw Refusal(CKR_USER_NOT_LOGGED_IN) }
            state.isLoggedIn = false
        }
    }
}

/// `C_SessionCancel` ends the operations that the flags name (PKCS #11 3.0, 5.6).
@c @implementation public func C_SessionCancel(_ session: CK_SESSION_HANDLE, _ flags: CK_FLAGS) -> CK_RV {
    Library.call("C_SessionCancel") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in
                if flags & CKF_SIGN != 0 { session.operations[.sign] = nil }
                if flags & CKF_DECRYPT != 0 { session.operations[.decrypt] = nil }
                // CKF_FIND_OBJECTS
                if flags & 0x40 != 0 { session.found = nil }
            }
        }
    }
}
