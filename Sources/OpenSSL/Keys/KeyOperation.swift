internal import SecretMemory
internal import COpenSSL

/// An operation that consists of two calls to `EVP_PKEY_sign`, `EVP_PKEY_decrypt` or a similar function. The first
/// call, without output, returns the maximum size of the result.
enum KeyOperation {
    case sign, encrypt, decrypt

    /// Calls `body` with a context in which the operation was started and configured, and then frees the context.
    ///
    /// - Returns: The result of `body`; nil if OpenSSL rejects the key or the settings, or if `body` returns nil.
    ///   OpenSSL's error queue then contains the reasons.
    static func withContext<Result>(
        for key: OpaquePointer, start: (OpaquePointer?) -> CInt, configure: (OpaquePointer) -> Bool,
        _ body: (OpaquePointer) -> Result?
    ) -> Result? {
        guard
            let context = unsafe EVP_PKEY_CTX_new_from_pkey(LibraryContext.standard.pointer, key, nil)
        else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe start(context) == 1, unsafe configure(context) else { return nil }
        return unsafe body(context)
    }

    /// Performs the operation.
    ///
    /// - Parameters:
    ///   - key: The C key (`EVP_PKEY`).
    ///   - input: The bytes to sign, encrypt or decrypt.
    ///   - configure: Sets padding and digests in the context; returns false if OpenSSL rejects them.
    /// - Returns: The result; nil if OpenSSL fails. OpenSSL's error queue then contains the reasons.
    func run(_ key: OpaquePointer, _ input: SecretBytes, configure: (OpaquePointer) -> Bool) -> SecretBytes? {
        unsafe Self.withContext(for: key, start: start, configure: configure) { context in
            unsafe input.withUnsafeBytes { bytes -> SecretBytes? in
                let source = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                var count = 0
                guard unsafe transform(context, nil, &count, source, bytes.count) == 1 else { return nil }
                var succeeded = false
                let output = unsafe SecretBytes(capacity: count) { output in
                    let target = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    succeeded = unsafe transform(context, target, &count, source, bytes.count) == 1
                    return succeeded ? count : 0
                }
                return succeeded ? output : nil
            }
        }
    }

    /// Begins the operation in a context.
    private func start(_ context: OpaquePointer?) -> CInt {
        switch self {
        case .sign: unsafe EVP_PKEY_sign_init(context)
        case .encrypt: unsafe EVP_PKEY_encrypt_init(context)
        case .decrypt: unsafe EVP_PKEY_decrypt_init(context)
        }
    }

    /// Performs the operation. If `output` is nil, only sets `count` to the maximum size of the result.
    private func transform(
        _ context: OpaquePointer?, _ output: UnsafeMutablePointer<UInt8>?, _ count: inout Int,
        _ input: UnsafePointer<UInt8>?, _ inputCount: Int
    ) -> CInt {
        switch self {
        case .sign: unsafe EVP_PKEY_sign(context, output, &count, input, inputCount)
        case .encrypt: unsafe EVP_PKEY_encrypt(context, output, &count, input, inputCount)
        case .decrypt: unsafe EVP_PKEY_decrypt(context, output, &count, input, inputCount)
        }
    }
}
