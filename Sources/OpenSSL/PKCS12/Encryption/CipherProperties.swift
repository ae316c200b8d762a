internal import COpenSSL

/// What OpenSSL knows of a cipher.
struct CipherProperties {
    let name: String
    let keyLength: Int
    let vectorLength: Int
    let paddedBlockLength: Int
    let hasVariableKey: Bool
    let isAuthenticated: Bool
    let isUsable: Bool
    let context: LibraryContext

    /// Looks among the modern ciphers first and among the legacy ones where that is not enough.
    init?(_ fetchName: String) {
        for context in [LibraryContext.standard, .legacy] {
            guard let cipher = unsafe EVP_CIPHER_fetch(context.pointer, fetchName, nil) else { continue }
            defer { unsafe EVP_CIPHER_free(cipher) }
            self.context = context
            name = unsafe EVP_CIPHER_get0_name(cipher).map { unsafe String(cString: $0) } ?? fetchName
            keyLength = Int(unsafe EVP_CIPHER_get_key_length(cipher))
            vectorLength = Int(unsafe EVP_CIPHER_get_iv_length(cipher))
            // EVP_CIPH_VARIABLE_LENGTH is not among the flags of ciphers that come from providers.
            hasVariableKey =
                unsafe OSSL_PARAM_locate_const(
                    EVP_CIPHER_settable_ctx_params(cipher), OSSL_CIPHER_PARAM_KEYLEN) != nil
            let mode = unsafe EVP_CIPHER_get_mode(cipher)
            isAuthenticated = mode == EVP_CIPH_GCM_MODE
            let padded = mode == EVP_CIPH_CBC_MODE || mode == EVP_CIPH_ECB_MODE
            paddedBlockLength = padded ? Int(unsafe EVP_CIPHER_get_block_size(cipher)) : 0
            isUsable =
                padded || isAuthenticated || mode == EVP_CIPH_STREAM_CIPHER || mode == EVP_CIPH_CFB_MODE
                || mode == EVP_CIPH_OFB_MODE || mode == EVP_CIPH_CTR_MODE
            return
        }
        OpenSSLError.discardQueue()
        return nil
    }
}
