public import CPKCS11
internal import TokenClient

// General-purpose functions of the library, and the return values of unsupported functions.

/// `C_Initialize` initializes the module in this process (PKCS #11 5.4).
@c @implementation public func C_Initialize(_ arguments: CK_VOID_PTR?) -> CK_RV {
    Library.call("C_Initialize") { library throws(Refusal) in
        if let arguments = unsafe arguments {
            let passed = unsafe arguments.assumingMemoryBound(to: CK_C_INITIALIZE_ARGS.self).pointee
            guard unsafe passed.pReserved == nil else {
                throw Refusal(CKR_ARGUMENTS_BAD, "pReserved is not NULL")
            }
            let given = unsafe [
                passed.CreateMutex != nil, passed.DestroyMutex != nil, passed.LockMutex != nil,
                passed.UnlockMutex != nil,
            ]
            guard given.allSatisfy({ $0 }) || !given.contains(true) else {
                throw Refusal(CKR_ARGUMENTS_BAD, "only some of the mutex functions are set")
            }
            // The module uses the operating system's locks. A caller that does not permit them cannot use the module.
            guard unsafe !given.contains(true) || passed.flags & CKF_OS_LOCKING_OK != 0 else {
                throw Refusal(CKR_CANT_LOCK, "the caller's mutexes cannot be used")
            }
        }
        try library.initialize()
    }
}

/// `C_Finalize` finalizes the module in this process (PKCS #11 5.4).
@c @implementation public func C_Finalize(_ reserved: CK_VOID_PTR?) -> CK_RV {
    Library.call("C_Finalize") { library throws(Refusal) in
        guard unsafe reserved == nil else { throw Refusal(CKR_ARGUMENTS_BAD, "pReserved is not NULL") }
        try library.finalize()
    }
}

/// `C_GetInfo` describes the module (PKCS #11 5.4).
@c @implementation public func C_GetInfo(_ info: UnsafeMutablePointer<CK_INFO>?) -> CK_RV {
    Library.call("C_GetInfo") { library throws(Refusal) in
        try library.withState { _ throws(Refusal) in }
        let place = unsafe try Caller.place(info)
        var info = CK_INFO()
        info.cryptokiVersion = CK_VERSION(major: 3, minor: 0)
        Caller.pad("KeySharing", into: &info.manufacturerID)
        Caller.pad("KeySharing persistent token", into: &info.libraryDescription)
        info.libraryVersion = CK_VERSION(major: 1, minor: 0)
        unsafe place.pointee = info
    }
}

/// `C_GetFunctionList` returns the functions of version 2.40 (PKCS #11 5.4). It may be called before `C_Initialize`.
@c @implementation public func C_GetFunctionList(
    _ list: UnsafeMutablePointer<UnsafeMutablePointer<CK_FUNCTION_LIST>?>?
) -> CK_RV {
    guard let list = unsafe list else { return CKR_ARGUMENTS_BAD }
    unsafe list.pointee = cpkcs11_functions()
    return CKR_OK
}

/// `C_GetInterfaceList` returns the interfaces (PKCS #11 3.0, 5.4). It may be called before `C_Initialize`.
@c @implementation public func C_GetInterfaceList(
    _ interfaces: UnsafeMutablePointer<CK_INTERFACE>?, _ count: CK_ULONG_PTR?
) -> CK_RV {
    guard let count = unsafe count else { return CKR_ARGUMENTS_BAD }
    let capacity = unsafe count.pointee
    unsafe count.pointee = CPKCS11_INTERFACE_COUNT
    guard let interfaces = unsafe interfaces else { return CKR_OK }
    guard capacity >= CPKCS11_INTERFACE_COUNT else { return CKR_BUFFER_TOO_SMALL }
    guard let known = unsafe cpkcs11_interfaces() else { return CKR_GENERAL_ERROR }
    unsafe interfaces.update(from: known, count: Int(CPKCS11_INTERFACE_COUNT))
    return CKR_OK
}

/// `C_GetInterface` returns the interface with a name and a version (PKCS #11 3.0, 5.4). It may be called before
/// `C_Initialize`.
@c @implementation public func C_GetInterface(
    _ name: CK_UTF8CHAR_PTR?, _ version: UnsafeMutablePointer<CK_VERSION>?,
    _ interface: UnsafeMutablePointer<UnsafeMutablePointer<CK_INTERFACE>?>?, _ flags: CK_FLAGS
) -> CK_RV {
    guard let interface = unsafe interface, let known = unsafe cpkcs11_interfaces() else {
        return CKR_ARGUMENTS_BAD
    }
    if let name = unsafe name {
        let wanted = unsafe String(cString: name)
        guard wanted == "PKCS 11" else { return CKR_ARGUMENTS_BAD }
    }
    // The interfaces support no flags, not even `CKF_INTERFACE_FORK_SAFE`, which permits use by a child after fork(2).
    guard flags == 0 else { return CKR_ARGUMENTS_BAD }
    let wanted = unsafe version?.pointee
    for place in 0..<Int(CPKCS11_INTERFACE_COUNT) {
        let candidate = unsafe known + place
        // Every function list begins with its version.
        guard let list = unsafe candidate.pointee.pFunctionList else { continue }
        let its = unsafe list.load(as: CK_VERSION.self)
        if let wanted, wanted.major != its.major || wanted.minor != its.minor { continue }
        unsafe interface.pointee = candidate
        return CKR_OK
    }
    return CKR_ARGUMENTS_BAD
}

/// Implements all unsupported functions: returns CKR_FUNCTION_NOT_SUPPORTED if the session exists.
@c @implementation public func cpkcs11_refuse(
    _ name: UnsafePointer<CChar>?, _ session: CK_SESSION_HANDLE
) -> CK_RV {
    Library.call(unsafe name.map { unsafe String(cString: $0) } ?? "") { library throws(Refusal) in
        try library.requireSession(session)
        throw Refusal.unsupported
    }
}

/// `C_GetFunctionStatus` is a legacy function of version 1, and returns the value that the standard requires (PKCS #11
/// 5.16).
@c @implementation public func C_GetFunctionStatus(_ session: CK_SESSION_HANDLE) -> CK_RV {
    Library.call("C_GetFunctionStatus") { library throws(Refusal) in try legacy(library, session) }
}

/// `C_CancelFunction` is a legacy function of version 1, and returns the value that the standard requires (PKCS #11
/// 5.16).
@c @implementation public func C_CancelFunction(_ session: CK_SESSION_HANDLE) -> CK_RV {
    Library.call("C_CancelFunction") { library throws(Refusal) in try legacy(library, session) }
}

private func legacy(_ library: Library, _ session: CK_SESSION_HANDLE) throws(Refusal) {
    try library.requireSession(session)
    throw Refusal(CKR_FUNCTION_NOT_PARALLEL)
}
