public import CPKCS11
internal import TokenClient

// The slots, their tokens and the tokens' mechanisms (PKCS #11 5.5).

extension Library {
    /// Checks that a slot exists.
    ///
    /// - Throws: CKR_CRYPTOKI_NOT_INITIALIZED, CKR_SLOT_ID_INVALID.
    func requireSlot(_ slot: CK_SLOT_ID) throws(Refusal) {
        let isKnown = try withState { state throws(Refusal) in state.slots.all.contains(slot) }
        guard isKnown else { throw Refusal(CKR_SLOT_ID_INVALID) }
    }

    /// Returns the state of the token.
    ///
    /// - Throws: CKR_TOKEN_NOT_PRESENT if no provider answers or the provider has no token.
    func presentToken() throws(Refusal) -> TokenState {
        let state: TokenState
        do throws(TokenClientError) {
            state = try client.state()
        } catch {
            throw Refusal(CKR_TOKEN_NOT_PRESENT, Refusal(error).reason)
        }
        guard state.tokenCount > 0 else { throw Refusal(CKR_TOKEN_NOT_PRESENT, "no token is registered") }
        return state
    }

    /// Checks that a slot has a token.
    ///
    /// - Returns: The state of the token.
    /// - Throws: CKR_TOKEN_NOT_PRESENT.
    @discardableResult
    func requireToken(_ slot: CK_SLOT_ID) throws(Refusal) -> TokenState {
        let token = try refreshedToken()
        let isThere = try withState { state throws(Refusal) in
            state.slots.registered(in: state.catalogue).contains(slot)
        }
        guard isThere else { throw Self.unregistered }
        return token
    }

    private static let unregistered = Refusal(
        CKR_TOKEN_NOT_PRESENT, "the slot's token is not registered")

    /// Returns the state of the token. If each registration has its own slot, also reads the registrations again if
    /// they have changed.
    ///
    /// - Throws: CKR_TOKEN_NOT_PRESENT.
    @discardableResult
    private func refreshedToken() throws(Refusal) -> TokenState {
        let token = try presentToken()
        guard try withState({ state throws(Refusal) in state.slots.isPerToken }) else { return token }
        do throws(TokenClientError) {
            try refresh(token)
        } catch {
            throw Refusal(CKR_TOKEN_NOT_PRESENT, Refusal(error).reason)
        }
        return token
    }

    /// Returns all slots, or only those with a token.
    fileprivate func slots(withToken: Bool) throws(Refusal) -> [CK_SLOT_ID] {
        let isPerToken = try withState { state throws(Refusal) in state.slots.isPerToken }
        var absence: Refusal?
        if isPerToken || withToken {
            // The provider is asked only once, because each of its replies may take until the time limit.
            do throws(Refusal) {
                try refreshedToken()
            } catch {
                absence = error
            }
        }
        // A new registration adds a slot, so the slots are listed after the registrations were read.
        let (all, registered) = try withState { state throws(Refusal) in
            (state.slots.all, state.slots.registered(in: state.catalogue))
        }
        guard withToken else { return all }
        for slot in all where absence != nil || !registered.contains(slot) {
            remark(slot, hasNoToken: absence ?? Self.unregistered)
        }
        return absence == nil ? all.filter(registered.contains) : []
    }

    /// Returns whether a slot has a token.
    fileprivate func hasToken(_ slot: CK_SLOT_ID) -> Bool {
        do throws(Refusal) {
            try requireToken(slot)
            return true
        } catch {
            remark(slot, hasNoToken: error)
            return false
        }
    }

    /// Logs the reason why a slot has no token, because no return code shows it.
    private func remark(_ slot: CK_SLOT_ID, hasNoToken error: Refusal) {
        log.remark("slot \(slot) has no token: \(error.reason); socket: \(client.socketPath ?? "none")")
    }
}

extension Library {
    /// Returns the login mode and the number of remaining attempts.
    fileprivate func loginState() throws(Refusal) -> LoginState {
        do throws(TokenClientError) {
            return try client.loginState()
        } catch {
            throw Refusal(CKR_TOKEN_NOT_PRESENT, Refusal(error).reason)
        }
    }
}

extension LoginState {
    /// The login flags of `CK_TOKEN_INFO`.
    fileprivate var tokenFlags: CK_FLAGS {
        var flags = hasPasscode ? CKF_USER_PIN_INITIALIZED : 0
        switch mode {
        case .presence: break
        case .path: flags |= CKF_LOGIN_REQUIRED | CKF_PROTECTED_AUTHENTICATION_PATH
        case .pin:
            flags |= CKF_LOGIN_REQUIRED
            switch triesLeft {
            case 0: flags |= CKF_USER_PIN_LOCKED
            case 1: flags |= CKF_USER_PIN_COUNT_LOW | CKF_USER_PIN_FINAL_TRY
            case 2: flags |= CKF_USER_PIN_COUNT_LOW
            default: break
            }
        }
        return flags
    }
}

/// `C_GetSlotList` lists the slots (PKCS #11 5.5).
@c @implementation public func C_GetSlotList(
    _ tokenPresent: CK_BBOOL, _ slots: UnsafeMutablePointer<CK_SLOT_ID>?, _ count: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_GetSlotList") { library throws(Refusal) in
        try library.withState { _ throws(Refusal) in }
        let count = unsafe try Caller.place(count)
        let found = try library.slots(withToken: tokenPresent != CK_BBOOL(CK_FALSE))
        let capacity = unsafe count.pointee
        unsafe count.pointee = CK_ULONG(found.count)
        guard let slots = unsafe slots else { return }
        guard capacity >= CK_ULONG(found.count) else { throw Refusal(CKR_BUFFER_TOO_SMALL) }
        for (place, slot) in found.enumerated() { unsafe slots[place] = slot }
    }
}

/// `C_GetSlotInfo` describes a slot (PKCS #11 5.5).
@c @implementation public func C_GetSlotInfo(
    _ slot: CK_SLOT_ID, _ info: UnsafeMutablePointer<CK_SLOT_INFO>?
) -> CK_RV {
    Library.call("C_GetSlotInfo") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(info)
        var info = CK_SLOT_INFO()
        Caller.pad("KeySharing provider", into: &info.slotDescription)
        Caller.pad("KeySharing", into: &info.manufacturerID)
        info.flags = CKF_REMOVABLE_DEVICE | CKF_HW_SLOT | (library.hasToken(slot) ? CKF_TOKEN_PRESENT : 0)
        info.hardwareVersion = CK_VERSION(major: 1, minor: 0)
        info.firmwareVersion = CK_VERSION(major: 1, minor: 0)
        unsafe place.pointee = info
    }
}

/// `C_GetTokenInfo` describes the token in a slot (PKCS #11 5.5).
@c @implementation public func C_GetTokenInfo(
    _ slot: CK_SLOT_ID, _ info: UnsafeMutablePointer<CK_TOKEN_INFO>?
) -> CK_RV {
    Library.call("C_GetTokenInfo") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(info)
        let token = try library.requireToken(slot)
        try? library.refresh(token)
        let login = try library.loginState()
        let known = try library.withState { state throws(Refusal) in
            let sessions = state.sessions.sessions.values.filter { $0.slot == slot }
            return (
                all: CK_ULONG(sessions.count), readWrite: CK_ULONG(sessions.count { $0.isReadWrite }),
                holder: state.catalogue.holder,
                identity: state.slots.objectID(of: slot).flatMap(state.catalogue.identity),
                labels: state.catalogue.tokenLabels
            )
        }
        var info = CK_TOKEN_INFO()
        let name = known.holder.isEmpty ? "KeyShare" : "KeyShare " + known.holder
        Caller.pad(known.identity.flatMap { known.labels[$0.objectID] } ?? name, into: &info.label)
        Caller.pad("KeySharing", into: &info.manufacturerID)
        Caller.pad("persistent token", into: &info.model)
        let serial = known.identity.map { String($0.objectID.prefix(16)) } ?? token.deviceSerial
        Caller.pad(serial, into: &info.serialNumber)
        // The token does not have CKF_WRITE_PROTECTED, because that would prevent read-write sessions, which some
        // programs open although they only read.
        info.flags = CKF_RNG | CKF_TOKEN_INITIALIZED | login.tokenFlags
        info.ulMaxSessionCount = CK_ULONG(SessionTable.limit)
        info.ulMaxRwSessionCount = CK_ULONG(SessionTable.limit)
        info.ulSessionCount = known.all
        info.ulRwSessionCount = known.readWrite
        info.ulMinPinLen = Library.pinLengths.lowerBound
        info.ulMaxPinLen = Library.pinLengths.upperBound
        info.ulTotalPublicMemory = CK_UNAVAILABLE_INFORMATION
        info.ulFreePublicMemory = CK_UNAVAILABLE_INFORMATION
        info.ulTotalPrivateMemory = CK_UNAVAILABLE_INFORMATION
        info.ulFreePrivateMemory = CK_UNAVAILABLE_INFORMATION
        info.hardwareVersion = CK_VERSION(major: 1, minor: 0)
        info.firmwareVersion = CK_VERSION(major: 1, minor: 0)
        Caller.pad("", into: &info.utcTime)
        unsafe place.pointee = info
    }
}

/// `C_GetMechanismList` lists the mechanisms (PKCS #11 5.5).
@c @implementation public func C_GetMechanismList(
    _ slot: CK_SLOT_ID, _ mechanisms: UnsafeMutablePointer<CK_MECHANISM_TYPE>?, _ count: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_GetMechanismList") { library throws(Refusal) in
        try library.requireSlot(slot)
        let count = unsafe try Caller.place(count)
        try library.requireToken(slot)
        let found = CK_ULONG(PKCS11Mechanism.all.count)
        let capacity = unsafe count.pointee
        unsafe count.pointee = found
        guard let mechanisms = unsafe mechanisms else { return }
        guard capacity >= found else { throw Refusal(CKR_BUFFER_TOO_SMALL) }
        for (place, mechanism) in PKCS11Mechanism.all.enumerated() {
            unsafe mechanisms[place] = mechanism.type
        }
    }
}

/// `C_GetMechanismInfo` describes a mechanism (PKCS #11 5.5).
@c @implementation public func C_GetMechanismInfo(
    _ slot: CK_SLOT_ID, _ mechanism: CK_MECHANISM_TYPE, _ info: UnsafeMutablePointer<CK_MECHANISM_INFO>?
) -> CK_RV {
    Library.call("C_GetMechanismInfo") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(info)
        try library.requireToken(slot)
        guard let known = PKCS11Mechanism.named(mechanism) else { throw Refusal(CKR_MECHANISM_INVALID) }
        unsafe place.pointee = CK_MECHANISM_INFO(
            ulMinKeySize: known.keySizes.lowerBound, ulMaxKeySize: known.keySizes.upperBound,
            flags: known.flags)
    }
}

/// `C_WaitForSlotEvent` always fails, because the module has no events (PKCS #11 5.5).
@c @implementation public func C_WaitForSlotEvent(
    _ flags: CK_FLAGS, _ slot: UnsafeMutablePointer<CK_SLOT_ID>?, _ reserved: CK_VOID_PTR?
) -> CK_RV {
    Library.call("C_WaitForSlotEvent") { library throws(Refusal) in
        try library.withState { _ throws(Refusal) in }
        guard unsafe slot != nil, unsafe reserved == nil else { throw Refusal(CKR_ARGUMENTS_BAD) }
        guard flags & CKF_DONT_BLOCK != 0 else { throw Refusal(CKR_FUNCTION_NOT_SUPPORTED, "waiting") }
        throw Refusal(CKR_NO_EVENT)
    }
}
