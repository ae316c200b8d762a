public import CPKCS11
internal import KeyShareProtocol
internal import SecretMemory
internal import TokenClient

// Signing, decrypting and deriving (PKCS #11 5.11, 5.9, 5.14).

extension Library {
    /// Begins an operation. A NULL mechanism cancels the active operation (PKCS #11 3.0).
    fileprivate func begin(
        _ operation: TokenOperation, _ session: CK_SESSION_HANDLE,
        _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
        _ key: CK_OBJECT_HANDLE
    ) throws(Refusal) {
        let isCancelled = try withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) -> Bool in
                guard session.operations[operation] != nil else { return false }
                guard unsafe mechanism == nil else { throw Refusal(CKR_OPERATION_ACTIVE) }
                session.operations[operation] = nil
                return true
            }
        }
        guard !isCancelled else { return }
        let prepared = unsafe try prepare(operation, session, mechanism, key).operation
        try keep(prepared, session)
    }

    /// Checks that a session can use a key with a mechanism, and prepares the operation.
    fileprivate func prepare(
        _ operation: TokenOperation, _ session: CK_SESSION_HANDLE,
        _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
    ) throws(Refusal) -> (operation: ActiveKeyOperation, parameters: MechanismParameters) {
        guard let mechanism = unsafe mechanism else { throw Refusal(CKR_ARGUMENTS_BAD, "no mechanism") }
        let passed = unsafe mechanism.pointee
        guard let known = unsafe PKCS11Mechanism.named(passed.mechanism), known.digest == nil else {
            throw unsafe Refusal(CKR_MECHANISM_INVALID, "mechanism 0x" + String(passed.mechanism, radix: 16))
        }
        let (object, login) = try withState { state throws(Refusal) -> (PKCS11Object, Login?) in
            let slot = try state.sessions.with(session) { session throws(Refusal) in session.slot }
            guard let object = state.catalogue[key], object.kind == .privateKey,
                state.slots.shows(object, in: slot)
            else { throw Refusal(CKR_KEY_HANDLE_INVALID, "\(key) is not a private key") }
            let login = state.logins[slot]
            guard login != nil || !object.isPrivate else { throw Refusal(CKR_USER_NOT_LOGGED_IN) }
            return (object, login)
        }
        guard let identity = object.identity else { throw Refusal(CKR_KEY_HANDLE_INVALID) }
        guard object.fits(known) else {
            throw Refusal(CKR_KEY_TYPE_INCONSISTENT, "\(known.name) does not support this type of key")
        }
        let parameters = unsafe try MechanismParameters(known, passed)
        var prepared = try ActiveKeyOperation(operation, known, parameters, object, identity)
        prepared.logIn(login?.ticket ?? [])
        prepared.login = object.isPrivate ? login?.number : nil
        prepared.needsLogin = object.asksAlways
        guard object.allows(operation) else {
            throw Refusal(
                CKR_KEY_FUNCTION_NOT_PERMITTED, "the certificate's key usage does not permit this operation")
        }
        return (prepared, parameters)
    }

    /// Removes an operation from its session, so that no other thread can continue it in the meantime.
    fileprivate func take(
        _ operation: TokenOperation, _ session: CK_SESSION_HANDLE
    ) throws(Refusal) -> ActiveKeyOperation {
        try withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in
                guard let begun = session.operations.removeValue(forKey: operation) else {
                    throw Refusal(CKR_OPERATION_NOT_INITIALIZED)
                }
                return begun
            }
        }
    }

    /// Puts an unfinished operation into its session, unless its login has ended in the meantime.
    ///
    /// - Throws: CKR_USER_NOT_LOGGED_IN, or CKR_SESSION_HANDLE_INVALID. The operation has then ended.
    fileprivate func keep(
        _ operation: ActiveKeyOperation, _ session: CK_SESSION_HANDLE
    ) throws(Refusal) {
        try withState { state throws(Refusal) in
            try state.requireLogin(of: operation, session)
            try state.sessions.with(session) { session throws(Refusal) in
                session.operations[operation.use.operation] = operation
            }
        }
    }

    /// Requests the key use from the provider, and waits for the result.
    ///
    /// - Throws: The provider's error, converted to a return code.
    fileprivate func perform(_ operation: ActiveKeyOperation, _ data: [UInt8]) throws(Refusal) -> SecretBytes
    {
        guard !operation.needsLogin else {
            throw Refusal(CKR_USER_NOT_LOGGED_IN, "the key requires a login for each use")
        }
        do throws(TokenClientError) {
            guard let message = operation.message else { return try client.use(operation.use, data: data) }
            try message.append(data)
            return try message.finish()
        } catch {
            let refusal = Refusal(error, operation.use.operation)
            if refusal.code == CKR_USER_NOT_LOGGED_IN {
                // The device was locked, or a different provider is now running, so the logins are no longer valid.
                try? withState { state throws(Refusal) in state.endLogins { _ in true } }
            }
            throw refusal
        }
    }

    /// Appends a part to a message, and sends the data that does not fit in one request.
    fileprivate func append(
        _ part: UnsafeBufferPointer<UInt8>, to operation: inout ActiveKeyOperation
    ) throws(Refusal) {
        operation.hasParts = true
        guard operation.gathered.count + part.count > Wire.useDataLimit else {
            unsafe operation.gathered.append(contentsOf: part)
            return
        }
        if let limit = operation.dataLimit {
            throw Refusal(CKR_DATA_LEN_RANGE, "\(operation.mechanism.name) accepts at most \(limit) bytes")
        }
        do throws(TokenClientError) {
            let message: TokenMessage
            if let begun = operation.message {
                message = begun
            } else {
                message = try client.beginMessage(operation.use)
                operation.message = message
            }
            try message.append(operation.gathered)
            operation.gathered = []
            var start = 0
            // Full chunks are sent immediately, and only the rest is kept, so long data is never copied as a whole.
            while part.count - start > Wire.useDataLimit {
                try message.append(unsafe Array(part[start..<start + Wire.useDataLimit]))
                start += Wire.useDataLimit
            }
            unsafe operation.gathered.append(contentsOf: part[start...])
        } catch {
            throw Refusal(error, .sign)
        }
    }

    /// Signs the gathered data or the multipart message, and writes the signature to the caller's buffer.
    fileprivate func finish(
        _ operation: ActiveKeyOperation, _ session: CK_SESSION_HANDLE, _ output: CK_BYTE_PTR
    ) throws(Refusal) {
        var data = operation.gathered
        if operation.message == nil {
            if let length = operation.dataLength, data.count != length {
                throw Refusal(CKR_DATA_LEN_RANGE, "\(data.count) bytes instead of \(length)")
            }
            if let limit = operation.dataLimit, data.count > limit {
                throw Refusal(CKR_DATA_LEN_RANGE, "\(data.count) bytes were passed, more than \(limit)")
            }
            // ECDSA uses only the leftmost bits of the digest, as many as the order has (FIPS 186-5, 6.4).
            if operation.mechanism.scheme == .ecdsa { data = Array(data.prefix(operation.resultLimit / 2)) }
            if operation.mechanism.scheme == .ecdsa, data.isEmpty {
                throw Refusal(CKR_DATA_LEN_RANGE, "no digest was passed")
            }
        }
        let signature = try perform(operation, data)
        guard signature.count == operation.resultLimit else {
            throw Refusal(CKR_DEVICE_ERROR, "the provider returned a signature of \(signature.count) bytes")
        }
        unsafe signature.withUnsafeBytes {
            unsafe output.update(from: $0.assumingMemoryBound(to: UInt8.self))
        }
    }
}

extension UnsafeMutablePointer<UInt8> {
    /// Copies all bytes of `source` to this address.
    fileprivate func update(from source: UnsafeBufferPointer<UInt8>) {
        if let start = source.baseAddress { unsafe update(from: start, count: source.count) }
    }
}

// MARK: - Signing

/// `C_SignInit` begins a signature (PKCS #11 5.11).
@c @implementation public func C_SignInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    Library.call("C_SignInit") { library throws(Refusal) in
        unsafe try library.begin(.sign, session, mechanism, key)
    }
}

/// `C_Sign` signs data in a single part (PKCS #11 5.11).
@c @implementation public func C_Sign(
    _ session: CK_SESSION_HANDLE, _ data: CK_BYTE_PTR?, _ length: CK_ULONG, _ output: CK_BYTE_PTR?,
    _ outputLength: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_Sign") { library throws(Refusal) in
        var operation = try library.take(.sign, session)
        guard !operation.hasParts else {
            try library.keep(operation, session)
            throw Refusal(CKR_OPERATION_ACTIVE, "parts of the message have already been passed")
        }
        guard unsafe try library.takesSignature(operation, session, output, outputLength),
            let output = unsafe output
        else { return }
        unsafe try library.append(try Caller.data(data, length), to: &operation)
        unsafe try library.finish(operation, session, output)
    }
}

/// `C_SignUpdate` appends a part of a message (PKCS #11 5.11).
@c @implementation public func C_SignUpdate(
    _ session: CK_SESSION_HANDLE, _ part: CK_BYTE_PTR?, _ length: CK_ULONG
) -> CK_RV {
    Library.call("C_SignUpdate") { library throws(Refusal) in
        var operation = try library.take(.sign, session)
        unsafe try library.append(try Caller.data(part, length), to: &operation)
        try library.keep(operation, session)
    }
}

/// `C_SignFinal` signs a multipart message (PKCS #11 5.11).
@c @implementation public func C_SignFinal(
    _ session: CK_SESSION_HANDLE, _ output: CK_BYTE_PTR?, _ outputLength: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_SignFinal") { library throws(Refusal) in
        let operation = try library.take(.sign, session)
        guard unsafe try library.takesSignature(operation, session, output, outputLength),
            let output = unsafe output
        else { return }
        unsafe try library.finish(operation, session, output)
    }
}

extension Library {
    /// Writes the length of the signature for the caller. The operation stays active if there is no buffer or the
    /// buffer is too small.
    ///
    /// - Returns: Whether to sign now.
    fileprivate func takesSignature(
        _ operation: ActiveKeyOperation, _ session: CK_SESSION_HANDLE, _ output: CK_BYTE_PTR?,
        _ length: CK_ULONG_PTR?
    ) throws(Refusal) -> Bool {
        let place = unsafe try Caller.place(length)
        do throws(Refusal) {
            if unsafe try Caller.takes(operation.resultLimit, output, place) {
                unsafe place.pointee = CK_ULONG(operation.resultLimit)
                return true
            }
        } catch {
            try keep(operation, session)
            throw error
        }
        try keep(operation, session)
        return false
    }
}

// MARK: - Decrypting

/// `C_DecryptInit` begins a decryption (PKCS #11 5.9).
@c @implementation public func C_DecryptInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    Library.call("C_DecryptInit") { library throws(Refusal) in
        unsafe try library.begin(.decrypt, session, mechanism, key)
    }
}

/// `C_Decrypt` decrypts (PKCS #11 5.9).
@c @implementation public func C_Decrypt(
    _ session: CK_SESSION_HANDLE, _ ciphertext: CK_BYTE_PTR?, _ length: CK_ULONG, _ output: CK_BYTE_PTR?,
    _ outputLength: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_Decrypt") { library throws(Refusal) in
        var operation = try library.take(.decrypt, session)
        let place = unsafe try Caller.place(outputLength)
        let data = unsafe try Caller.data(ciphertext, length)
        if let expected = operation.dataLength, data.count != expected {
            throw Refusal(CKR_ENCRYPTED_DATA_LEN_RANGE, "\(data.count) bytes instead of \(expected)")
        }
        guard let output = unsafe output else {
            unsafe place.pointee = CK_ULONG(operation.result?.plaintext.count ?? operation.resultLimit)
            try library.keep(operation, session)
            return
        }
        // The plaintext is kept for the next call, because another key use might prompt the user again.
        let result: SecretBytes
        if let known = operation.result, unsafe known.ciphertext.elementsEqual(data) {
            result = known.plaintext
        } else {
            result = unsafe try library.perform(operation, Array(data))
        }
        guard result.count <= operation.resultLimit else {
            throw Refusal(CKR_DEVICE_ERROR, "the provider returned \(result.count) bytes")
        }
        do throws(Refusal) {
            _ = unsafe try Caller.takes(result.count, output, place)
        } catch {
            operation.result = (unsafe Array(data), result)
            try library.keep(operation, session)
            throw error
        }
        unsafe result.withUnsafeBytes { unsafe output.update(from: $0.assumingMemoryBound(to: UInt8.self)) }
        unsafe place.pointee = CK_ULONG(result.count)
    }
}

// MARK: - Deriving

/// `C_DeriveKey` computes a shared secret with another public key (PKCS #11 5.14).
@c @implementation public func C_DeriveKey(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ baseKey: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    Library.call("C_DeriveKey") { library throws(Refusal) in
        try library.requireSession(session)
        let place = unsafe try Caller.place(key)
        var (operation, parameters) = unsafe try library.prepare(.keyExchange, session, mechanism, baseKey)
        let template = try DerivationTemplate(unsafe try Caller.attributes(attributes, count))
        guard case .ecdh(let derivation, _, let point) = parameters else {
            throw Refusal(CKR_MECHANISM_PARAM_INVALID)
        }
        let count = template.length ?? operation.resultLimit
        try template.checkLength(count)
        guard derivation != nil || count <= operation.resultLimit else {
            throw Refusal(CKR_TEMPLATE_INCONSISTENT, "the secret has \(operation.resultLimit) bytes")
        }
        if derivation != nil { operation = operation.requesting(count) }
        let secret = try library.perform(operation, encodedPoint(point, size: operation.resultLimit))
        guard secret.count == (derivation == nil ? operation.resultLimit : count) else {
            throw Refusal(CKR_DEVICE_ERROR, "the provider returned a secret of \(secret.count) bytes")
        }
        // If the secret is longer than requested, its last bytes are used (PKCS #11 mechanisms, 2.3.8).
        let value = unsafe secret.withUnsafeBytes { unsafe SecretBytes($0.suffix(count)) }
        unsafe place.pointee = try library.withState { state throws(Refusal) in
            let handle = state.catalogue.newHandle()
            try state.requireLogin(of: operation, session)
            state.sessions.secrets[handle] = SessionSecret(
                session: session, value: value, attributes: template.attributes)
            return handle
        }
    }
}

/// Returns the other public key's point without a DER header. The standard permits callers to wrap the point in an
/// `OCTET STRING`, which adds a header of two bytes.
private func encodedPoint(_ point: [UInt8], size: Int) -> [UInt8] {
    point.count == 2 * size + 3 && point.starts(with: [0x04, UInt8(clamping: 2 * size + 1)])
        ? Array(point.dropFirst(2)) : point
}

extension ActiveKeyOperation {
    /// Returns a copy of the operation that requests a derived secret of `count` bytes.
    fileprivate func requesting(_ count: Int) -> ActiveKeyOperation {
        var use = use
        use.parameters.append(KeyUse.Parameter(.requestedSize, UInt32(clamping: count)))
        var requesting = ActiveKeyOperation(
            use: use, mechanism: mechanism, object: object, resultLimit: resultLimit, dataLimit: dataLimit,
            dataLength: dataLength)
        requesting.needsLogin = needsLogin
        requesting.login = login
        return requesting
    }
}
