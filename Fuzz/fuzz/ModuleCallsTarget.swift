import CPKCS11
import Glibc

/// The calls of a program that uses the PKCS #11 module, with the provider's replies from the input: lists,
/// attributes, logins, signatures, decryptions, derivations, messages in parts.
enum ModuleCallsTarget {
    private static let provider = LyingProvider()

    static func test(_ input: [UInt8]) {
        guard let provider else { preconditionFailure("no socket") }
        provider.answer(with: input)
        _ = unsafe setenv("KEYSHARE_SOCKET", LyingProvider.path, 1)
        // Half of the inputs run with one slot for each registration.
        _ = unsafe setenv("KEYSHARE_PKCS11_SLOTS", input.reduce(0, ^) & 1 == 0 ? "one" : "token", 1)
        precondition(C_Initialize(nil) == CKR_OK)
        defer { precondition(C_Finalize(nil) == CKR_OK) }
        var slots = [CK_SLOT_ID](repeating: 0, count: 64)
        var count = CK_ULONG(slots.count)
        guard unsafe C_GetSlotList(1, &slots, &count) == CKR_OK else { return }
        for slot in slots.prefix(min(3, Int(count))) { use(slot, mixed: input.count) }
    }

    private static func use(_ slot: CK_SLOT_ID, mixed: Int) {
        var token = CK_TOKEN_INFO()
        _ = unsafe C_GetTokenInfo(slot, &token)
        var session = CK_SESSION_HANDLE()
        guard unsafe C_OpenSession(slot, CKF_SERIAL_SESSION, nil, nil, &session) == CKR_OK else { return }
        defer { _ = C_CloseSession(session) }
        var pin = Array("123456".utf8)
        _ = unsafe C_Login(session, CKU_USER, &pin, CK_ULONG(pin.count))
        guard C_FindObjectsInit(session, nil, 0) == CKR_OK else { return }
        var found = [CK_OBJECT_HANDLE](repeating: 0, count: 512)
        var count = CK_ULONG()
        precondition(unsafe C_FindObjects(session, &found, CK_ULONG(found.count), &count) == CKR_OK)
        precondition(C_FindObjectsFinal(session) == CKR_OK)
        for (place, object) in found.prefix(min(12, Int(count))).enumerated() {
            for type in attributes { read(type, of: object, session) }
            sign(object, session, mechanisms[(mixed + place) % mechanisms.count])
            decrypt(object, session)
            derive(object, session)
        }
        _ = C_Logout(session)
    }

    private static let attributes: [CK_ATTRIBUTE_TYPE] =
        Array(0...4) + [CKA_VALUE] + Array(0x80...0x91) + Array(0x100...0x112) + Array(0x120...0x129)
        + Array(0x160...0x172) + [
            CKA_EC_PARAMS, CKA_EC_POINT, CKA_ALWAYS_AUTHENTICATE, CKA_ALLOWED_MECHANISMS,
        ]

    /// Reads an attribute into a buffer of exactly its length.
    private static func read(
        _ type: CK_ATTRIBUTE_TYPE, of object: CK_OBJECT_HANDLE, _ session: CK_SESSION_HANDLE
    ) {
        var asked = unsafe CK_ATTRIBUTE(type: type, pValue: nil, ulValueLen: 0)
        guard unsafe C_GetAttributeValue(session, object, &asked, 1) == CKR_OK else { return }
        let length = unsafe asked.ulValueLen
        precondition(length <= 65_536)
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: Int(length), alignment: 1)
        defer { unsafe buffer.deallocate() }
        unsafe asked.pValue = buffer
        precondition(unsafe C_GetAttributeValue(session, object, &asked, 1) == CKR_OK)
        precondition(unsafe asked.ulValueLen == length)
        guard length > 0 else { return }
        unsafe asked.ulValueLen = length - 1
        precondition(unsafe C_GetAttributeValue(session, object, &asked, 1) == CKR_BUFFER_TOO_SMALL)
    }

    private static let mechanisms = [
        CKM_RSA_PKCS, CKM_SHA256_RSA_PKCS, CKM_RSA_PKCS_PSS, CKM_ECDSA, CKM_ECDSA_SHA256, CKM_RSA_X_509,
    ]

    private static func sign(
        _ key: CK_OBJECT_HANDLE, _ session: CK_SESSION_HANDLE, _ type: CK_MECHANISM_TYPE
    ) {
        var salt = CK_RSA_PKCS_PSS_PARAMS(hashAlg: CKM_SHA256, mgf: CKG_MGF1_SHA256, sLen: 32)
        let begun = unsafe withUnsafeMutableBytes(of: &salt) { salt in
            let isPSS = type == CKM_RSA_PKCS_PSS
            var mechanism = unsafe CK_MECHANISM(
                mechanism: type, pParameter: isPSS ? salt.baseAddress : nil,
                ulParameterLen: isPSS ? CK_ULONG(salt.count) : 0)
            return unsafe C_SignInit(session, &mechanism, key)
        }
        guard begun == CKR_OK else { return }
        if type == CKM_SHA256_RSA_PKCS {
            // The message is longer than a request, so it is sent in parts.
            var part = [UInt8](repeating: 7, count: 70_000)
            guard unsafe C_SignUpdate(session, &part, CK_ULONG(part.count)) == CKR_OK else { return }
            unsafe result { unsafe C_SignFinal(session, $0, $1) }
        } else {
            var data = [UInt8](repeating: 7, count: 32)
            unsafe result { unsafe C_Sign(session, &data, CK_ULONG(data.count), $0, $1) }
        }
    }

    private static func decrypt(_ key: CK_OBJECT_HANDLE, _ session: CK_SESSION_HANDLE) {
        var mechanism = unsafe CK_MECHANISM(mechanism: CKM_RSA_PKCS, pParameter: nil, ulParameterLen: 0)
        guard unsafe C_DecryptInit(session, &mechanism, key) == CKR_OK else { return }
        var ciphertext = [UInt8](repeating: 7, count: 256)
        unsafe result { unsafe C_Decrypt(session, &ciphertext, CK_ULONG(ciphertext.count), $0, $1) }
        // Ends the operation with a ciphertext of a different length.
        _ = C_DecryptInit(session, nil, key)
    }

    private static func derive(_ key: CK_OBJECT_HANDLE, _ session: CK_SESSION_HANDLE) {
        var point = [4] + [UInt8](repeating: 7, count: 64)
        unsafe point.withUnsafeMutableBufferPointer { point in
            var agreement = unsafe CK_ECDH1_DERIVE_PARAMS(
                kdf: CKD_NULL, ulSharedDataLen: 0, pSharedData: nil, ulPublicDataLen: CK_ULONG(point.count),
                pPublicData: point.baseAddress)
            unsafe withUnsafeMutableBytes(of: &agreement) { agreement in
                var mechanism = unsafe CK_MECHANISM(
                    mechanism: CKM_ECDH1_DERIVE, pParameter: agreement.baseAddress,
                    ulParameterLen: CK_ULONG(agreement.count))
                var secret = CK_OBJECT_HANDLE()
                guard unsafe C_DeriveKey(session, &mechanism, key, nil, 0, &secret) == CKR_OK else { return }
                read(CKA_VALUE, of: secret, session)
                precondition(C_DestroyObject(session, secret) == CKR_OK)
            }
        }
    }

    /// Queries the length of a result, then requests it with a buffer that is one byte too short, and then
    /// with a buffer of the right size.
    private static func result(
        _ body: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CK_ULONG>) -> CK_RV
    ) {
        var length = CK_ULONG()
        guard unsafe body(nil, &length) == CKR_OK else { return }
        precondition(length <= 65_536)
        if length > 0 {
            let short = UnsafeMutablePointer<UInt8>.allocate(capacity: Int(length) - 1)
            defer { unsafe short.deallocate() }
            length -= 1
            guard unsafe body(short, &length) == CKR_BUFFER_TOO_SMALL else { return }
        }
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: Int(length))
        defer { unsafe buffer.deallocate() }
        let reported = length
        _ = unsafe body(buffer, &length)
        precondition(length <= reported)
    }
}
