public import CPKCS11

// Functions that check their arguments and then always fail, because the token is read-only: initializing tokens and
// setting PINs (PKCS #11 5.5 and 5.6), and generating, wrapping and unwrapping keys (5.14).

/// `C_InitToken` always fails: only the device registers tokens (PKCS #11 5.5).
@c @implementation public func C_InitToken(
    _ slot: CK_SLOT_ID, _ pin: CK_UTF8CHAR_PTR?, _ pinLength: CK_ULONG, _ label: CK_UTF8CHAR_PTR?
) -> CK_RV {
    Library.call("C_InitToken") { library throws(Refusal) in
        try library.requireSlot(slot)
        guard unsafe label != nil, unsafe pin != nil || pinLength == 0 else {
            throw Refusal(CKR_ARGUMENTS_BAD)
        }
        throw Refusal.unsupported
    }
}

/// `C_InitPIN` always fails: it requires a login as security officer, a role that the token does not have (PKCS #11
/// 5.6).
@c @implementation public func C_InitPIN(
    _ session: CK_SESSION_HANDLE, _ pin: CK_UTF8CHAR_PTR?, _ pinLength: CK_ULONG
) -> CK_RV {
    Library.call("C_InitPIN") { library throws(Refusal) in
        try library.requireSession(session)
        guard unsafe pin != nil || pinLength == 0 else { throw Refusal(CKR_ARGUMENTS_BAD) }
        throw Refusal(CKR_USER_NOT_LOGGED_IN, "the token has no security officer")
    }
}

/// `C_SetPIN` always fails: the PIN is the passcode, and only the device changes it (PKCS #11 5.6).
@c @implementation public func C_SetPIN(
    _ session: CK_SESSION_HANDLE, _ oldPIN: CK_UTF8CHAR_PTR?, _ oldLength: CK_ULONG,
    _ newPIN: CK_UTF8CHAR_PTR?, _ newLength: CK_ULONG
) -> CK_RV {
    Library.call("C_SetPIN") { library throws(Refusal) in
        let isReadWrite = try library.isReadWrite(session)
        guard unsafe oldPIN != nil || oldLength == 0, unsafe newPIN != nil || newLength == 0 else {
            throw Refusal(CKR_ARGUMENTS_BAD)
        }
        guard isReadWrite else { throw Refusal(CKR_SESSION_READ_ONLY, "the PIN cannot be changed") }
        throw Refusal.unsupported
    }
}

extension Library {
    /// Returns whether a session is a read-write session.
    ///
    /// - Throws: CKR_CRYPTOKI_NOT_INITIALIZED, CKR_SESSION_HANDLE_INVALID.
    fileprivate func isReadWrite(_ session: CK_SESSION_HANDLE) throws(Refusal) -> Bool {
        try withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in session.isReadWrite }
        }
    }

    /// Checks the arguments of a function that creates a key. Always throws, because the token cannot create keys.
    ///
    /// - Throws: CKR_SESSION_HANDLE_INVALID, CKR_ARGUMENTS_BAD, CKR_MECHANISM_INVALID for mechanisms that are not in
    ///   `mechanisms`, CKR_SESSION_READ_ONLY for a token object in a read-only session, otherwise
    ///   CKR_FUNCTION_NOT_SUPPORTED.
    fileprivate func refuseKey(
        _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
        isOf mechanisms: Set<CK_MECHANISM_TYPE>,
        _ templates: [(UnsafeMutablePointer<CK_ATTRIBUTE>?, CK_ULONG)], hasPlaces: Bool
    ) throws(Refusal) {
        let isReadWrite = try isReadWrite(session)
        guard let mechanism = unsafe mechanism, hasPlaces else { throw Refusal(CKR_ARGUMENTS_BAD) }
        var isOfToken = false
        for place in unsafe templates.indices {
            let attributes = unsafe try Caller.attributes(templates[place].0, templates[place].1)
            isOfToken = isOfToken || attributes.contains { $0.type == CKA_TOKEN && $0.value == [1] }
        }
        let type = unsafe mechanism.pointee.mechanism
        guard mechanisms.contains(type) else {
            throw Refusal(CKR_MECHANISM_INVALID, "mechanism 0x" + String(type, radix: 16))
        }
        guard isReadWrite || !isOfToken else { throw Refusal(CKR_SESSION_READ_ONLY) }
        throw Refusal.unsupported
    }
}

/// Mechanisms of the standard that generate a secret key: DES, generic secrets, AES, Camellia and ChaCha20.
private let keyMechanisms: Set<CK_MECHANISM_TYPE> = [
    0x120, 0x130, 0x131, 0x350, 0x550, 0x1080, 0x1225,
]

/// Mechanisms of the standard that generate a key pair: RSA, DSA, Diffie-Hellman, elliptic curves.
private let keyPairMechanisms: Set<CK_MECHANISM_TYPE> = [0x0, 0xA, 0x10, 0x20, 0x30, 0x1040, 0x1055, 0x1056]

/// `C_GenerateKey` always fails: the token generates no keys (PKCS #11 5.14).
@c @implementation public func C_GenerateKey(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    Library.call("C_GenerateKey") { library throws(Refusal) in
        unsafe try library.refuseKey(
            session, mechanism, isOf: keyMechanisms, [(attributes, count)], hasPlaces: key != nil)
    }
}

/// `C_GenerateKeyPair` always fails: the token generates no keys (PKCS #11 5.14).
@c @implementation public func C_GenerateKeyPair(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ publicAttributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ publicCount: CK_ULONG,
    _ privateAttributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ privateCount: CK_ULONG,
    _ publicKey: UnsafeMutablePointer<CK_OBJECT_HANDLE>?,
    _ privateKey: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    Library.call("C_GenerateKeyPair") { library throws(Refusal) in
        unsafe try library.refuseKey(
            session, mechanism, isOf: keyPairMechanisms,
            [(publicAttributes, publicCount), (privateAttributes, privateCount)],
            hasPlaces: publicKey != nil && privateKey != nil)
    }
}

/// `C_WrapKey` always fails: no key leaves the token (PKCS #11 5.14).
@c @implementation public func C_WrapKey(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ wrappingKey: CK_OBJECT_HANDLE, _ key: CK_OBJECT_HANDLE, _ output: CK_BYTE_PTR?,
    _ outputLength: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_WrapKey") { library throws(Refusal) in
        try library.requireSession(session)
        guard unsafe mechanism != nil, unsafe outputLength != nil else { throw Refusal(CKR_ARGUMENTS_BAD) }
        throw Refusal.unsupported
    }
}

/// `C_UnwrapKey` always fails: the token imports no keys (PKCS #11 5.14).
@c @implementation public func C_UnwrapKey(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ unwrappingKey: CK_OBJECT_HANDLE, _ wrapped: CK_BYTE_PTR?, _ wrappedLength: CK_ULONG,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    Library.call("C_UnwrapKey") { library throws(Refusal) in
        try library.requireSession(session)
        guard unsafe mechanism != nil, unsafe wrapped != nil, unsafe key != nil else {
            throw Refusal(CKR_ARGUMENTS_BAD)
        }
        _ = unsafe try Caller.attributes(attributes, count)
        throw Refusal.unsupported
    }
}
