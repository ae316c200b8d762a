public import CPKCS11
internal import TokenClient

// The one slot, its token and the token's mechanisms (PKCS #11 5.5).

/// The slot of the provider.
private let theSlot: CK_SLOT_ID = 0

extension Library {
    /// Refuses a slot that there is not.
    ///
    /// - Throws: CKR_CRYPTOKI_NOT_INITIALIZED, CKR_SLOT_ID_INVALID.
    func requireSlot(_ slot: CK_SLOT_ID) throws(Refusal) {
        try withState { _ throws(Refusal) in }
        guard slot == theSlot else { throw Refusal(CKR_SLOT_ID_INVALID) }
    }

    /// The state of the token.
    ///
    /// - Throws: CKR_TOKEN_NOT_PRESENT where no provider answers or none has a token.
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

    fileprivate var hasToken: Bool { (try? presentToken()) != nil }
}

/// `C_GetSlotList` lists the one slot (PKCS #11 5.5).
@c @implementation public func C_GetSlotList(
    _ tokenPresent: CK_BBOOL, _ slots: UnsafeMutablePointer<CK_SLOT_ID>?, _ count: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_GetSlotList") { library throws(Refusal) in
        try library.withState { _ throws(Refusal) in }
        let count = unsafe try Caller.place(count)
        let found: CK_ULONG = tokenPresent == CK_BBOOL(CK_FALSE) || library.hasToken ? 1 : 0
        let capacity = unsafe count.pointee
        unsafe count.pointee = found
        guard let slots = unsafe slots, found > 0 else { return }
        guard capacity >= found else { throw Refusal(CKR_BUFFER_TOO_SMALL) }
        unsafe slots.pointee = theSlot
    }
}

/// `C_GetSlotInfo` describes the slot (PKCS #11 5.5).
@c @implementation public func C_GetSlotInfo(
    _ slot: CK_SLOT_ID, _ info: UnsafeMutablePointer<CK_SLOT_INFO>?
) -> CK_RV {
    Library.call("C_GetSlotInfo") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(info)
        var info = CK_SLOT_INFO()
        Caller.pad("KeySharing provider", into: &info.slotDescription)
        Caller.pad("KeySharing", into: &info.manufacturerID)
        info.flags = CKF_REMOVABLE_DEVICE | CKF_HW_SLOT | (library.hasToken ? CKF_TOKEN_PRESENT : 0)
        info.hardwareVersion = CK_VERSION(major: 1, minor: 0)
        info.firmwareVersion = CK_VERSION(major: 1, minor: 0)
        unsafe place.pointee = info
    }
}

/// `C_GetTokenInfo` describes the token (PKCS #11 5.5).
@c @implementation public func C_GetTokenInfo(
    _ slot: CK_SLOT_ID, _ info: UnsafeMutablePointer<CK_TOKEN_INFO>?
) -> CK_RV {
    Library.call("C_GetTokenInfo") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(info)
        let token = try library.presentToken()
        try? library.refresh(token)
        let known = try library.withState { state throws(Refusal) in
            (
                all: CK_ULONG(state.sessions.sessions.count),
                readWrite: CK_ULONG(state.sessions.sessions.values.count { $0.isReadWrite }),
                holder: state.catalogue.holder
            )
        }
        var info = CK_TOKEN_INFO()
        Caller.pad(known.holder.isEmpty ? "KeyShare" : "KeyShare " + known.holder, into: &info.label)
        Caller.pad("KeySharing", into: &info.manufacturerID)
        Caller.pad("persistent token", into: &info.model)
        Caller.pad(token.deviceSerial, into: &info.serialNumber)
        // The token is not said to be write-protected: no session could be opened for writing then, and some programs
        // open one though they only read.
        info.flags = CKF_TOKEN_INITIALIZED | CKF_USER_PIN_INITIALIZED
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
        let found = CK_ULONG(Mechanism.all.count)
        let capacity = unsafe count.pointee
        unsafe count.pointee = found
        guard let mechanisms = unsafe mechanisms else { return }
        guard capacity >= found else { throw Refusal(CKR_BUFFER_TOO_SMALL) }
        for (place, mechanism) in Mechanism.all.enumerated() { unsafe mechanisms[place] = mechanism.type }
    }
}

/// `C_GetMechanismInfo` describes a mechanism (PKCS #11 5.5).
@c @implementation public func C_GetMechanismInfo(
    _ slot: CK_SLOT_ID, _ mechanism: CK_MECHANISM_TYPE, _ info: UnsafeMutablePointer<CK_MECHANISM_INFO>?
) -> CK_RV {
    Library.call("C_GetMechanismInfo") { library throws(Refusal) in
        try library.requireSlot(slot)
        let place = unsafe try Caller.place(info)
        guard let known = Mechanism.named(mechanism) else { throw Refusal(CKR_MECHANISM_INVALID) }
        unsafe place.pointee = CK_MECHANISM_INFO(
            ulMinKeySize: known.keySizes.lowerBound, ulMaxKeySize: known.keySizes.upperBound,
            flags: known.flags)
    }
}

/// `C_WaitForSlotEvent` has no events to wait for (PKCS #11 5.5).
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
