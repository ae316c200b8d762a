public import CPKCS11
internal import KeyShareProtocol
internal import TokenClient

// Sessions (PKCS #11 5.6).

/// `C_OpenSession` opens a session (PKCS #11 5.6).
@c @implementation public func C_OpenSession(
    _ slot: CK_SLOT_ID, _ flags: CK_FLAGS, _ application: CK_VOID_PTR?, _ notify: CK_NOTIFY?,
    _ session: UnsafeMutablePointer<CK_SESSION_HANDLE>?
) -> CK_RV {
    Library.call("C_OpenSession") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(session)
        guard flags & CKF_SERIAL_SESSION != 0 else { throw Refusal(CKR_SESSION_PARALLEL_NOT_SUPPORTED) }
        try library.requireToken(slot)
        unsafe place.pointee = try library.withState { state throws(Refusal) in
            try state.sessions.open(slot, flags & (CKF_SERIAL_SESSION | CKF_RW_SESSION))
        }
    }
}

/// `C_CloseSession` closes a session (PKCS #11 5.6).
@c @implementation public func C_CloseSession(_ session: CK_SESSION_HANDLE) -> CK_RV {
    Library.call("C_CloseSession") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            let slot = try state.sessions.close(session)
            // Closing the last session ends the login.
            state.logOutIfClosed(slot)
        }
    }
}

/// `C_CloseAllSessions` closes all sessions (PKCS #11 5.6).
@c @implementation public func C_CloseAllSessions(_ slot: CK_SLOT_ID) -> CK_RV {
    Library.call("C_CloseAllSessions") { library throws(Refusal) in
        try library.requireSlot(slot)
        try library.withState { state throws(Refusal) in
            state.sessions.closeAll(of: slot)
            state.logOutIfClosed(slot)
        }
    }
}

/// `C_GetSessionInfo` describes a session (PKCS #11 5.6).
@c @implementation public func C_GetSessionInfo(
    _ session: CK_SESSION_HANDLE, _ info: UnsafeMutablePointer<CK_SESSION_INFO>?
) -> CK_RV {
    Library.call("C_GetSessionInfo") { library throws(Refusal) in
        try library.requireSession(session)
        if try library.withState({ state throws(Refusal) in !state.logins.isEmpty }) {
            library.endOldLogins()
        }
        let (slot, flags, isLoggedIn) = try library.withState { state throws(Refusal) in
            let (slot, flags) = try state.sessions.with(session) { session throws(Refusal) in
                (session.slot, session.flags)
            }
            return (slot, flags, state.logins[slot] != nil)
        }
        let place = unsafe try Caller.place(info)
        let isReadWrite = flags & CKF_RW_SESSION != 0
        let sessionState: CK_STATE =
            isLoggedIn
            ? (isReadWrite ? CKS_RW_USER_FUNCTIONS : CKS_RO_USER_FUNCTIONS)
            : (isReadWrite ? CKS_RW_PUBLIC_SESSION : CKS_RO_PUBLIC_SESSION)
        unsafe place.pointee = CK_SESSION_INFO(
            slotID: slot, state: sessionState, flags: flags, ulDeviceError: 0)
    }
}

/// `C_SessionCancel` cancels the operations selected by the flags (PKCS #11 3.0, 5.6).
@c @implementation public func C_SessionCancel(_ session: CK_SESSION_HANDLE, _ flags: CK_FLAGS) -> CK_RV {
    Library.call("C_SessionCancel") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in
                if flags & CKF_SIGN != 0 { session.operations[.sign] = nil }
                if flags & CKF_DECRYPT != 0 { session.operations[.decrypt] = nil }
                if flags & CKF_DIGEST != 0 { session.digest = nil }
                // CKF_FIND_OBJECTS
                if flags & 0x40 != 0 { session.found = nil }
            }
        }
    }
}
