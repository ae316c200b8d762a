internal import SecretMemory
internal import COpenSSL
internal import Synchronization

/// Loads RSA and EC keys by an OpenSSL decoder that is kept for the next one.
///
/// OpenSSL 3.0 puts a decoder together anew for every key, out of all that its providers have. That takes three
/// times as long as the decoding, and nearly all of it stands behind locks, so that two threads hardly load
/// more keys than one (OSSL_DECODER_CTX_new_for_pkey(3)).
///
/// `@unchecked Sendable`: a decoder is either idle, behind the lock of ``idle``, or taken out of there by the one
/// call that uses it; nothing else holds a reference.
@safe final class PrivateKeyDecoder: @unchecked Sendable {
    private let context: OpaquePointer
    /// Where `context` puts the key.
    private let result: UnsafeMutablePointer<OpaquePointer?>

    /// The key of an unencrypted PKCS #8 structure; nil where it is of another kind, or cannot be loaded.
    ///
    /// - Returns: an `EVP_PKEY` that the caller owns.
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
        // One that has failed is let go, and with it whatever it still knows of the key.
        guard let key = unsafe decoder.decode(info) else { return nil }
        idle.withLock { $0[type, default: []].append(decoder) }
        return unsafe key
    }

    /// Those that nobody uses now, by kind of key: as many as there were ever keys loaded at a time.
    private static let idle = Mutex<[String: [PrivateKeyDecoder]]>([:])

    private init?(_ type: String) {
        unsafe result = .allocate(capacity: 1)
        unsafe result.initialize(to: nil)
        let selection = OSSL_KEYMGMT_SELECT_ALL
        guard
            let context = unsafe OSSL_DECODER_CTX_new_for_pkey(
                result, "DER", "PrivateKeyInfo", type, selection, LibraryContext.standard.pointer, nil)
        else {
            unsafe result.deallocate()
            return nil
        }
        unsafe self.context = context
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
            var left = bytes.count
            return unsafe OSSL_DECODER_from_data(context, &cursor, &left) == 1
        }
        defer { unsafe result.pointee = nil }
        guard isDecoded else {
            unsafe EVP_PKEY_free(result.pointee)
            return nil
        }
        return unsafe result.pointee
    }
}
