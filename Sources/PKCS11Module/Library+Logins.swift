public import CPKCS11
internal import KeyShareProtocol
internal import SecretMemory
internal import TokenClient

// Logging in and out (PKCS #11 5.6).

extension Library {
    /// The permitted length of a PIN, in bytes.
    static let pinLengths: ClosedRange<CK_ULONG> = 4...CK_ULONG(Wire.longestPasscode)

    /// Logs the user in, using the provider's login mode.
    ///
    /// A login succeeds even if the login mode requires none; only a wrong PIN is rejected, and a login whose session was
    /// closed while it waited for the user.
    fileprivate func logIn(
        _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: CK_UTF8CHAR_PTR?, _ pinLength: CK_ULONG
    ) throws(Refusal) {
        try requireSession(session)
        let lockCount = endOldLogins() ?? 0
        let slot = try withState { state throws(Refusal) in
            let (slot, isAsked) = try state.sessions.with(session) { session throws(Refusal) in
                (session.slot, session.operations.values.contains { $0.object.asksAlways })
            }
            switch user {
            case CKU_USER:
                guard state.logins[slot] == nil else { throw Refusal(CKR_USER_ALREADY_LOGGED_IN) }
            case CKU_CONTEXT_SPECIFIC:
                guard isAsked else {
                    throw Refusal(CKR_OPERATION_NOT_INITIALIZED, "no active operation requires a login")
                }
            case CKU_SO:
                guard !state.sessions.hasReadOnlySession(slot) else {
                    throw Refusal(CKR_SESSION_READ_ONLY_EXISTS)
                }
                guard state.logins[slot] == nil else { throw Refusal(CKR_USER_ANOTHER_ALREADY_LOGGED_IN) }
                throw Refusal(CKR_PIN_INCORRECT, "the token has no security officer")
            default: throw Refusal(CKR_USER_TYPE_INVALID)
            }
            return slot
        }
        let ticket = unsafe try ticket(pin, pinLength)
        try withState { state throws(Refusal) in
            // Another thread may have closed the session, and with it the login, while this one waited.
            try state.sessions.with(session) { session throws(Refusal) in
                guard user != CKU_USER else { return }
                for place in session.operations.keys { session.operations[place]?.logIn(ticket) }
            }
            guard user == CKU_USER else { return }
            // Another thread may have logged in while this one waited for the provider.
            guard state.logins[slot] == nil else { throw Refusal(CKR_USER_ALREADY_LOGGED_IN) }
            state.lastLogin += 1
            state.logins[slot] = Login(number: state.lastLogin, ticket: ticket, lockCount: lockCount)
        }
    }

    /// Removes logins that ended when the device was locked or restarted, so that programs see the logout and log in
    /// again.
    ///
    /// - Returns: The device's lock count, which increases at each lock or restart; nil if no provider answers.
    @discardableResult
    func endOldLogins() -> UInt64? {
        guard let lockCount = try? client.state().lockCount else { return nil }
        try? withState { state throws(Refusal) in state.endLogins(unless: lockCount) }
        return lockCount
    }

    /// Requests a login from the provider.
    ///
    /// - Returns: The ticket for later key uses; empty if they need none.
    private func ticket(_ pin: CK_UTF8CHAR_PTR?, _ length: CK_ULONG) throws(Refusal) -> [UInt8] {
        do throws(TokenClientError) {
            let mode = try client.loginMode()
            let login: LoginRequest
            // A PIN of no bytes is no PIN, and must not use up an attempt.
            if let pin = unsafe pin, length > 0 {
                guard length <= Self.pinLengths.upperBound else { throw Self.tooLong }
                let bytes = unsafe UnsafeBufferPointer(start: pin, count: Int(length))
                login = .passcode(unsafe SecretBytes(bytes))
            } else {
                guard length == 0, mode != .pin else { throw Self.noPIN }
                guard mode == .path else { return [] }
                login = .presence
            }
            let ticket = try client.logIn(login).ticket
            return mode == .presence ? [] : ticket
        } catch {
            if error == Self.noPIN { throw Refusal(CKR_ARGUMENTS_BAD, "the PIN is missing") }
            throw Refusal(ofLogin: error)
        }
    }

    private static let noPIN = TokenClientError.absent("the PIN is missing")
    private static let tooLong = TokenClientError.token(
        code: TokenErrorCode.authenticationFailed.rawValue,
        obstacle: TokenRefusalReason.wrongPasscode.rawValue, reason: "the PIN is too long")
}

extension Library.State {
    /// Checks that the login that an operation requires has not ended. Another thread may have ended it while the
    /// operation waited for the provider and was not in its session.
    ///
    /// - Throws: CKR_USER_NOT_LOGGED_IN, or CKR_SESSION_HANDLE_INVALID.
    mutating func requireLogin(
        of operation: ActiveKeyOperation, _ session: CK_SESSION_HANDLE
    ) throws(Refusal) {
        let slot = try sessions.with(session) { session throws(Refusal) in session.slot }
        guard operation.login == nil || operation.login == logins[slot]?.number else {
            throw Refusal(CKR_USER_NOT_LOGGED_IN, "the login ended during the operation")
        }
    }

    /// Ends the login of a slot. The handles of private objects become invalid, even after the next login.
    mutating func logOut(_ slot: CK_SLOT_ID) {
        logins[slot] = nil
        catalogue.forgetPrivateHandles { [slots] in slots.shows($0, in: slot) }
        sessions.logOut(slot)
    }

    /// Removes logins whose lock count differs from `lockCount`: the device was locked or restarted after the login.
    /// Private secrets are deleted. Handles of the token's objects remain valid, as they do when the provider restarts.
    mutating func endLogins(unless lockCount: UInt64) {
        endLogins { $0.lockCount != lockCount }
    }

    /// Removes logins that the provider no longer accepts, like ``endLogins(unless:)``.
    mutating func endLogins(where isOver: (Library.Login) -> Bool) {
        for (slot, login) in logins where isOver(login) {
            logins[slot] = nil
            sessions.deletePrivateSecrets(of: slot)
        }
    }

    /// Ends the login of a slot if its last session was closed (PKCS #11 5.6, `C_CloseSession`).
    mutating func logOutIfClosed(_ slot: CK_SLOT_ID) {
        if logins[slot] != nil, !sessions.hasSession(slot) { logOut(slot) }
    }
}

/// `C_Login` logs the user in (PKCS #11 5.6).
@c @implementation public func C_Login(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: CK_UTF8CHAR_PTR?, _ pinLength: CK_ULONG
) -> CK_RV {
    Library.call("C_Login") { library throws(Refusal) in
        unsafe try library.logIn(session, user, pin, pinLength)
    }
}

/// `C_LoginUser` logs in a named user. It rejects every name, because the token's user has no name (PKCS #11 3.0, 5.6).
@c @implementation public func C_LoginUser(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: CK_UTF8CHAR_PTR?, _ pinLength: CK_ULONG,
    _ name: CK_UTF8CHAR_PTR?, _ nameLength: CK_ULONG
) -> CK_RV {
    Library.call("C_LoginUser") { library throws(Refusal) in
        try library.requireSession(session)
        guard nameLength == 0 else { throw Refusal(CKR_ARGUMENTS_BAD, "the token's user has no name") }
        unsafe try library.logIn(session, user, pin, pinLength)
    }
}

/// `C_Logout` logs the user out (PKCS #11 5.6).
@c @implementation public func C_Logout(_ session: CK_SESSION_HANDLE) -> CK_RV {
    Library.call("C_Logout") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            let slot = try state.sessions.with(session) { session throws(Refusal) in session.slot }
            guard state.logins[slot] != nil else { throw Refusal(CKR_USER_NOT_LOGGED_IN) }
            state.logOut(slot)
        }
    }
}
