internal import SecretMemory
internal import COpenSSL
internal import Synchronization

/// A reusable OpenSSL decoder of RSA or EC keys (OSSL_DECODER_CTX_new_for_pkey(3)).
///
/// By default, OpenSSL 3.0 assembles a new decoder for every key from everything that its providers offer. This takes
/// three times as long as decoding the key. Most of the time is spent under locks, so two threads load hardly more keys
/// than one.
///
/// `@unchecked Sendable`: a decoder is either in ``idle``, protected by the lock of ``idle``, or in use by the one call
/// that removed it. No other reference exists.
@safe final class PrivateKeyDecoder: @unchecked Sendable {
    private let context: OpaquePointer
    /// The place where `context` stores the decoded key.
    private let result: UnsafeMutablePointer<OpaquePointer?>

    /// Loads the key of a `PKCS8_PRIV_KEY_INFO`, which the caller still owns.
    ///
    /// - Returns: An `EVP_PKEY` that the caller owns; nil if the key is neither RSA nor EC, or cannot be loaded.
    static func key(of info: OpaquePointer) -> OpaquePointer? {
        var algorithm: OpaquePointer?
        guard unsafe PKCS8_pkey_get0(&algorithm, nil, nil, nil, info) == 1 else { return nil }
        let type: String
        switch unsafe OBJ_obj2nid(algorithm) {
        case NID_rsaEncryption: type = "RSA"
        case NID_X9_62_id_ecPublicKey: type = "EC"
        default: return nil
        }
        guard let decoder = idle.withLock({ $0[type]?.popLast() }) ?? PrivateKeyDecoder(type) else {
            return nil
        }
        // A decoder that failed is not reused, because it may still contain parts of that key.
        guard let key = unsafe decoder.decode(info) else { return nil }
        idle.withLock { $0[type, default: []].append(decoder) }
        return unsafe key
    }

    /// The unused decoders, keyed by type of key. Their number never exceeds the number of simultaneous loads.
    private static let idle = Mutex<[String: [PrivateKeyDecoder]]>([:])

    private init?(_ type: String) {
        unsafe result = .allocate(capacity: 1)
        unsafe result.initialize(to: nil)
        let selection = OSSL_KEYMGMT_SELECT_ALL
        guard
            let context = unsafe OSSL_DECODER_CTX_new_for_pkey(
                result, Self.constant("DER"), Self.constant("PrivateKeyInfo"), type, selection,
                LibraryContext.standard.pointer, nil)
        else {
            unsafe result.deallocate()
            return nil
        }
        unsafe self.context = context
    }

    /// Returns the terminated characters of a literal. The decoder stores the pointers to its input's type and structure
    /// (OSSL_DECODER_CTX_set_input_type(3)). The characters of a `String` would be freed before it uses them.
    private static func constant(_ literal: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    deinit {
        unsafe OSSL_DECODER_CTX_free(context)
        unsafe EVP_PKEY_free(result.pointee)
        unsafe result.deallocate()
    }

    private func decode(_ info: OpaquePointer) -> OpaquePointer? {
        guard let encoded = unsafe SecretBytes(encoding: info) else { return nil }
        let isDecoded = unsafe encoded.withUnsafeBytes { bytes in
            var cursor: UnsafePointer<UInt8>? = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var remaining = bytes.count
            return unsafe OSSL_DECODER_from_data(context, &cursor, &remaining) == 1
        }
        defer { unsafe result.pointee = nil }
        guard isDecoded else {
            OpenSSLError.discardQueue()
            unsafe EVP_PKEY_free(result.pointee)
            return nil
        }
        return unsafe result.pointee
    }
}
