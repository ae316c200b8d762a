public import CPKCS11
internal import TokenClient

// Objects and searches (PKCS #11 5.7).

extension Library.State {
    /// Returns a function that looks up the attributes of an object, if the session may see it.
    ///
    /// - Throws: CKR_SESSION_HANDLE_INVALID, CKR_OBJECT_HANDLE_INVALID.
    mutating func attributes(
        of handle: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE
    ) throws(Refusal) -> @Sendable (CK_ATTRIBUTE_TYPE) -> AttributeAnswer {
        let slot = try sessions.with(session) { session throws(Refusal) in session.slot }
        guard let answers = attributes(of: handle, inSlot: slot) else {
            throw Refusal(CKR_OBJECT_HANDLE_INVALID)
        }
        return answers
    }

    /// Returns a function that looks up the attributes of an object; nil if the object is not visible in the slot.
    fileprivate func attributes(
        of handle: CK_OBJECT_HANDLE, inSlot slot: CK_SLOT_ID
    ) -> (@Sendable (CK_ATTRIBUTE_TYPE) -> AttributeAnswer)? {
        if let secret = sessions.secrets[handle] {
            guard sessions.sessions[secret.session]?.slot == slot else { return nil }
            return { secret.attribute($0) }
        }
        guard let object = catalogue[handle], slots.shows(object, in: slot),
            !object.isPrivate || logins[slot] != nil
        else { return nil }
        return { object.attribute($0) }
    }
}

extension Library {
    /// Reads the list of objects again if it has changed.
    ///
    /// - Throws: CKR_DEVICE_REMOVED, CKR_DEVICE_ERROR.
    func refresh() throws(Refusal) {
        do throws(TokenClientError) {
            try refresh(try client.state())
        } catch {
            throw Refusal(error)
        }
    }

    /// Reads the list of objects again if `token` shows that it has changed, or after a new connection, because the change
    /// count of another provider or of a new keychain can be the same.
    ///
    /// - Throws: `TokenClientError`.
    func refresh(_ token: TokenState) throws(TokenClientError) {
        try? withState { state throws(Refusal) in state.endLogins(unless: token.lockCount) }
        let mode = try client.loginMode()
        let connection = client.connectionCount
        let isKnown = try? withState { state throws(Refusal) in
            state.catalogue.changeCount == token.changeCount && state.catalogue.mode == mode
                && state.catalogue.connection == connection
        }
        guard isKnown != true else { return }
        let list = try client.identities()
        try? withState { state throws(Refusal) in
            state.catalogue.replace(
                list, mode, connection: connection, isPerToken: state.slots.isPerToken, types: state.types)
            state.slots.update(with: state.catalogue)
        }
        remark(list)
    }

    /// Logs each certificate whose key cannot be used through the module, with the reason.
    private func remark(_ list: TokenIdentityPage) {
        let keyless = list.identities.filter { !$0.hasKey }
        let idle = list.identities.filter { $0.hasKey && !($0.canSign || $0.canDecrypt || $0.canDerive) }
        for (identities, reason) in [
            (keyless, "have no private key at the provider, so the module shows no key for them"),
            (idle, "have a key usage that permits neither signing, decryption nor key agreement"),
        ] where !identities.isEmpty {
            let first = identities.prefix(3).map { $0.objectID.prefix(16) }.joined(separator: ", ")
            log.remark("\(identities.count) of \(list.identities.count) certificates \(reason): \(first)")
        }
    }

    /// Checks that a session exists. This check must precede the checks of all other arguments.
    ///
    /// - Throws: CKR_CRYPTOKI_NOT_INITIALIZED, CKR_SESSION_HANDLE_INVALID.
    func requireSession(_ session: CK_SESSION_HANDLE) throws(Refusal) {
        try withState { state throws(Refusal) in try state.sessions.with(session) { _ throws(Refusal) in } }
    }
}

/// `C_FindObjectsInit` begins a search (PKCS #11 5.7).
@c @implementation public func C_FindObjectsInit(
    _ session: CK_SESSION_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG
) -> CK_RV {
    Library.call("C_FindObjectsInit") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in
                if session.found != nil { throw Refusal(CKR_OPERATION_ACTIVE) }
            }
        }
        let wanted = unsafe try Caller.attributes(attributes, count)
        try library.refresh()
        try library.withState { state throws(Refusal) in
            var found: [CK_OBJECT_HANDLE] = []
            let slot = try state.sessions.with(session) { session throws(Refusal) in session.slot }
            for handle in state.catalogue.handles + state.sessions.secrets.keys.sorted() {
                guard let answers = state.attributes(of: handle, inSlot: slot) else { continue }
                if wanted.allSatisfy({ answers($0.type).matches($0.value) }) { found.append(handle) }
            }
            try state.sessions.with(session) { session throws(Refusal) in session.found = found[...] }
        }
    }
}

/// `C_FindObjects` continues a search (PKCS #11 5.7).
@c @implementation public func C_FindObjects(
    _ session: CK_SESSION_HANDLE, _ objects: UnsafeMutablePointer<CK_OBJECT_HANDLE>?, _ limit: CK_ULONG,
    _ count: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_FindObjects") { library throws(Refusal) in
        try library.requireSession(session)
        let place = unsafe try Caller.place(count)
        guard unsafe limit == 0 || objects != nil else { throw Refusal(CKR_ARGUMENTS_BAD) }
        let found = try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) -> ArraySlice<CK_OBJECT_HANDLE> in
                guard let rest = session.found else { throw Refusal(CKR_OPERATION_NOT_INITIALIZED) }
                let found = rest.prefix(Int(min(limit, CK_ULONG(rest.count))))
                session.found = rest.dropFirst(found.count)
                return found
            }
        }
        for (place, handle) in found.enumerated() { unsafe objects?[place] = handle }
        unsafe place.pointee = CK_ULONG(found.count)
    }
}

/// `C_FindObjectsFinal` ends a search (PKCS #11 5.7).
@c @implementation public func C_FindObjectsFinal(_ session: CK_SESSION_HANDLE) -> CK_RV {
    Library.call("C_FindObjectsFinal") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in
                guard session.found != nil else { throw Refusal(CKR_OPERATION_NOT_INITIALIZED) }
                session.found = nil
            }
        }
    }
}

/// `C_GetAttributeValue` returns attributes of an object (PKCS #11 5.7).
@c @implementation public func C_GetAttributeValue(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    Library.call("C_GetAttributeValue") { library throws(Refusal) in
        let answers = try library.withState { state throws(Refusal) in
            try state.attributes(of: object, in: session)
        }
        guard count > 0 else { throw Refusal(CKR_ARGUMENTS_BAD, "the template is empty") }
        let template = unsafe try Caller.template(attributes, count)
        var refusal: Refusal?
        // Continue after an error, because the standard requires every attribute to be processed.
        for place in template.indices {
            let type = unsafe template[place].type
            let answer = answers(type)
            guard let count = answer.count else {
                unsafe template[place].ulValueLen = CK_UNAVAILABLE_INFORMATION
                let reason = "attribute 0x" + String(type, radix: 16)
                refusal =
                    answer == .sensitive
                    ? Refusal(CKR_ATTRIBUTE_SENSITIVE, reason)
                    : refusal ?? Refusal(CKR_ATTRIBUTE_TYPE_INVALID, reason)
                continue
            }
            guard let target = unsafe template[place].pValue else {
                unsafe template[place].ulValueLen = CK_ULONG(count)
                continue
            }
            guard unsafe template[place].ulValueLen >= CK_ULONG(count) else {
                unsafe template[place].ulValueLen = CK_UNAVAILABLE_INFORMATION
                refusal = refusal ?? Refusal(CKR_BUFFER_TOO_SMALL)
                continue
            }
            unsafe answer.write(to: target)
            unsafe template[place].ulValueLen = CK_ULONG(count)
        }
        if let refusal { throw refusal }
    }
}

/// `C_GetObjectSize` returns the size of an object (PKCS #11 5.7).
@c @implementation public func C_GetObjectSize(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ size: CK_ULONG_PTR?
) -> CK_RV {
    Library.call("C_GetObjectSize") { library throws(Refusal) in
        let answers = try library.withState { state throws(Refusal) in
            try state.attributes(of: object, in: session)
        }
        let place = unsafe try Caller.place(size)
        unsafe place.pointee = answers(CKA_VALUE).count.map { CK_ULONG($0) } ?? CK_UNAVAILABLE_INFORMATION
    }
}

/// `C_CreateObject` always fails: the token stores no objects (PKCS #11 5.7).
@c @implementation public func C_CreateObject(
    _ session: CK_SESSION_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ object: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    Library.call("C_CreateObject") { library throws(Refusal) in
        let isReadWrite = try library.withState { state throws(Refusal) in
            try state.sessions.with(session) { session throws(Refusal) in session.isReadWrite }
        }
        guard unsafe attributes != nil, unsafe object != nil else { throw Refusal(CKR_ARGUMENTS_BAD) }
        let wanted = unsafe try Caller.attributes(attributes, count)
        guard wanted.contains(where: { $0.type == CKA_CLASS }) else {
            throw Refusal(CKR_TEMPLATE_INCOMPLETE, "the template has no class")
        }
        // CKR_ACTION_PROHIBITED is only for changes to existing objects.
        guard wanted.contains(where: { $0.type == CKA_TOKEN && $0.value == [1] }) else {
            throw Refusal(CKR_FUNCTION_NOT_SUPPORTED, "objects cannot be created")
        }
        throw Refusal(
            isReadWrite ? CKR_TOKEN_WRITE_PROTECTED : CKR_SESSION_READ_ONLY, "the token stores no objects")
    }
}

extension Library.State {
    /// Throws the error for an attempt to change or copy an object. No object can be changed or copied.
    ///
    /// - Throws: CKR_SESSION_HANDLE_INVALID, CKR_OBJECT_HANDLE_INVALID, CKR_SESSION_READ_ONLY,
    ///   CKR_ACTION_PROHIBITED.
    fileprivate mutating func refuseChange(
        of object: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE, _ reason: String
    ) throws(Refusal) {
        let answers = try attributes(of: object, in: session)
        let isReadWrite = try sessions.with(session) { session throws(Refusal) in session.isReadWrite }
        guard isReadWrite || answers(CKA_TOKEN) == .flag(false) else {
            throw Refusal(CKR_SESSION_READ_ONLY, reason)
        }
        throw Refusal(CKR_ACTION_PROHIBITED, reason)
    }
}

/// `C_CopyObject` always fails: objects cannot be copied (PKCS #11 5.7).
@c @implementation public func C_CopyObject(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG, _ copy: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    Library.call("C_CopyObject") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            _ = try state.attributes(of: object, in: session)
        }
        _ = unsafe try Caller.place(copy)
        let wanted = unsafe try Caller.attributes(attributes, count)
        try library.withState { state throws(Refusal) in
            let isReadWrite = try state.sessions.with(session) { session throws(Refusal) in
                session.isReadWrite
            }
            // A copy that would be a token object requires a read-write session. A copy that would be a session object
            // is rejected for the reason below: the object cannot be copied.
            guard isReadWrite || !wanted.contains(where: { $0.type == CKA_TOKEN && $0.value == [1] }) else {
                throw Refusal(CKR_SESSION_READ_ONLY, "objects cannot be copied")
            }
        }
        throw Refusal(CKR_ACTION_PROHIBITED, "objects cannot be copied")
    }
}

/// `C_DestroyObject` destroys a session's secret key. It rejects all other objects (PKCS #11 5.7).
@c @implementation public func C_DestroyObject(_ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE)
    -> CK_RV
{
    Library.call("C_DestroyObject") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            _ = try state.attributes(of: object, in: session)
            if state.sessions.secrets.removeValue(forKey: object) != nil { return }
            try state.refuseChange(of: object, in: session, "the token's objects cannot be destroyed")
        }
    }
}

/// `C_SetAttributeValue` always fails: objects cannot be changed (PKCS #11 5.7).
@c @implementation public func C_SetAttributeValue(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    Library.call("C_SetAttributeValue") { library throws(Refusal) in
        try library.withState { state throws(Refusal) in
            _ = try state.attributes(of: object, in: session)
        }
        guard unsafe attributes != nil else { throw Refusal(CKR_ARGUMENTS_BAD) }
        try library.withState { state throws(Refusal) in
            try state.refuseChange(of: object, in: session, "objects cannot be changed")
        }
    }
}
