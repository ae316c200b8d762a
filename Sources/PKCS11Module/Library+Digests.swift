public import CPKCS11
internal import SecretMemory
internal import TokenClient

// Digests, which the module computes itself (PKCS #11 5.10), and the functions that save and restore their state (5.6).

/// An active digest of a session.
struct DigestOperation: Sendable {
    var digest: MessageDigest
    /// Whether the caller has passed a part. A single-part digest is then no longer possible.
    var hasParts = false
}

extension Library {
    /// Runs `body` with the digest of a session. The digest remains active only if `body` returns true.
    ///
    /// - Throws: CKR_SESSION_HANDLE_INVALID, CKR_OPERATION_NOT_INITIALIZED, and the errors of `body`.
    fileprivate func withDigest(
        _ session: CK_SESSION_HANDLE, _ body: (inout DigestOperation) throws(Refusal) -> Bool
    ) throws(Refusal) {
        let begun = try withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) -> DigestOperation in
                guard let begun = session.digest else { throw Refusal(CKR_OPERATION_NOT_INITIALIZED) }
                session.digest = nil
                return begun
            }
        }
        var operation = begun
        let remains: Bool
        do throws(Refusal) {
            remains = try body(&operation)
        } catch {
            // The operation continues unchanged after a call whose buffer was too small, and after a C_Digest call
            // between parts.
            if error.code == CKR_BUFFER_TOO_SMALL || error.code == CKR_OPERATION_ACTIVE {
                keep(begun, session)
            }
            throw error
        }
        if remains { keep(operation, session) }
    }

    private func keep(_ operation: DigestOperation, _ session: CK_SESSION_HANDLE) {
        try? withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in session.digest = operation }
        }
    }
}

extension DigestOperation {
    /// Writes the digest, or only its length if the caller passed no buffer.
    ///
    /// - Returns: Whether the operation remains active.
    fileprivate func finish(_ output: CK_BYTE_PTR?, _ length: CK_ULONG_PTR?) throws(Refusal) -> Bool {
        let place = unsafe try Caller.place(length)
        let value = digest.finalized()
        guard unsafe try Caller.takes(value.count, output, place), let output = unsafe output else {
            return true
        }
        unsafe output.update(from: value, count: value.count)
        unsafe place.pointee = CK_ULONG(value.count)
        return false
    }
}

/// `C_DigestInit` begins a digest (PKCS #11 5.10). A NULL mechanism cancels the active digest (3.0).
@c @implementation public func C_DigestInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?
) -> CK_RV {
    Library.call("C_DigestInit") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in
                guard let mechanism = unsafe mechanism else {
                    guard session.digest != nil else { throw Refusal(CKR_ARGUMENTS_BAD, "no mechanism") }
                    session.digest = nil
                    return
                }
                guard session.digest == nil else { throw Refusal(CKR_OPERATION_ACTIVE) }
                let passed = unsafe mechanism.pointee
                guard let known = unsafe PKCS11Mechanism.named(passed.mechanism), let digest = known.digest
                else {
                    throw unsafe Refusal(
                        CKR_MECHANISM_INVALID, "mechanism 0x" + String(passed.mechanism, radix: 16))
                }
                _ = unsafe try MechanismParameters(known, passed)
                session.digest = DigestOperation(digest: MessageDigest(digest.algorithm))
            }
        }
    }
}

/// `C_Digest` digests data in a single part (PKCS #11 5.10).
@c @implementation public func C_Digest(
    _ session: CK_SESSION_HANDLE, _ data: CK_BYTE_PTR?, _ length: CK_ULONG, _ output: CK_BYTE_PTR?,
    _ outputLength: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_Digest") { library throws(Refusal) in
        try library.withDigest(session) { operation throws(Refusal) in
            guard !operation.hasParts else {
                throw Refusal(CKR_OPERATION_ACTIVE, "parts of the message have already been passed")
            }
            let data = unsafe try Caller.data(data, length)
            let place = unsafe try Caller.place(outputLength)
            // Without a buffer, the call only returns the length.
            let needed = operation.digest.algorithm.length
            guard unsafe try Caller.takes(needed, output, place) else { return true }
            unsafe operation.digest.update(UnsafeRawBufferPointer(data))
            return unsafe try operation.finish(output, place)
        }
    }
}

/// `C_DigestUpdate` adds a part of a message (PKCS #11 5.10).
@c @implementation public func C_DigestUpdate(
    _ session: CK_SESSION_HANDLE, _ part: CK_BYTE_PTR?, _ length: CK_ULONG
) -> CK_RV {
    Library.call("C_DigestUpdate") { library throws(Refusal) in
        try library.withDigest(session) { operation throws(Refusal) in
            operation.hasParts = true
            unsafe operation.digest.update(UnsafeRawBufferPointer(try Caller.data(part, length)))
            return true
        }
    }
}

/// `C_DigestKey` adds the value of a session's secret key, if the caller may read it (PKCS #11 5.10).
@c @implementation public func C_DigestKey(_ session: CK_SESSION_HANDLE, _ key: CK_OBJECT_HANDLE) -> CK_RV {
    Library.call("C_DigestKey") { library throws(Refusal) in
        try library.withDigest(session) { operation throws(Refusal) in
            let answer = try library.withState { state throws(Refusal) in
                do throws(Refusal) {
                    return try state.attributes(of: key, in: session)(CKA_VALUE)
                } catch {
                    throw Refusal(CKR_KEY_HANDLE_INVALID, "\(key) is not a key")
                }
            }
            // Only a session's secret has a value of this kind. The values of other objects, such as certificates, are not
            // keys.
            guard case .secret(let value) = answer else {
                throw Refusal(
                    CKR_KEY_INDIGESTIBLE, "only secrets whose value the caller may read can be digested")
            }
            operation.hasParts = true
            unsafe value.withUnsafeBytes { unsafe operation.digest.update($0) }
            return true
        }
    }
}

/// `C_DigestFinal` returns the digest of a multipart message (PKCS #11 5.10).
@c @implementation public func C_DigestFinal(
    _ session: CK_SESSION_HANDLE, _ output: CK_BYTE_PTR?, _ outputLength: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_DigestFinal") { library throws(Refusal) in
        try library.withDigest(session) { operation throws(Refusal) in
            unsafe try operation.finish(output, outputLength)
        }
    }
}

// MARK: - Saving the state

/// `C_GetOperationState` saves a digest (PKCS #11 5.6). Operations with keys are not saved.
@c @implementation public func C_GetOperationState(
    _ session: CK_SESSION_HANDLE, _ output: CK_BYTE_PTR?, _ outputLength: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_GetOperationState") { library throws(Refusal) in
        let saved = try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) -> [UInt8] in
                guard session.operations.isEmpty else {
                    throw Refusal(
                        CKR_STATE_UNSAVEABLE, "the state of an operation with a key cannot be saved")
                }
                guard let operation = session.digest else { throw Refusal(CKR_OPERATION_NOT_INITIALIZED) }
                return [operation.hasParts ? 1 : 0] + operation.digest.saved
            }
        }
        let place = unsafe try Caller.place(outputLength)
        guard unsafe try Caller.takes(saved.count, output, place), let output = unsafe output else { return }
        unsafe output.update(from: saved, count: saved.count)
        unsafe place.pointee = CK_ULONG(saved.count)
    }
}

/// `C_SetOperationState` continues a saved digest (PKCS #11 5.6).
@c @implementation public func C_SetOperationState(
    _ session: CK_SESSION_HANDLE, _ saved: CK_BYTE_PTR?, _ length: CK_ULONG,
    _ encryptionKey: CK_OBJECT_HANDLE, _ authenticationKey: CK_OBJECT_HANDLE
) -> CK_RV {
    Library.call("C_SetOperationState") { library throws(Refusal) in
        try library.requireSession(session)
        guard unsafe saved != nil else { throw Refusal(CKR_ARGUMENTS_BAD, "no state") }
        guard length <= Caller.longestValue else { throw Refusal(CKR_SAVED_STATE_INVALID) }
        let bytes = unsafe Array(try Caller.data(saved, length))
        guard let first = bytes.first, first <= 1, let digest = MessageDigest(saved: Array(bytes.dropFirst()))
        else { throw Refusal(CKR_SAVED_STATE_INVALID) }
        guard encryptionKey == CK_INVALID_HANDLE, authenticationKey == CK_INVALID_HANDLE else {
            throw Refusal(CKR_KEY_NOT_NEEDED, "digest mechanisms do not use keys")
        }
        try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in
                session.digest = DigestOperation(digest: digest, hasParts: first == 1)
            }
        }
    }
}
