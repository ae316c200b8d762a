internal import COpenSSL

/// The properties of a cipher that OpenSSL supports.
struct CipherProperties {
    /// OpenSSL's name, such as `AES-256-CBC`.
    let name: String
    /// The usual size of the key, in octets.
    let keyLength: Int
    /// The size of the initialization vector, in octets.
    let vectorLength: Int
    /// The size of a block, in octets, for modes with padding; zero for other modes.
    let paddedBlockLength: Int
    /// Whether the cipher also accepts keys of other sizes.
    let hasVariableKey: Bool
    /// Whether the mode is GCM, which adds a tag.
    let isAuthenticated: Bool
    /// Whether PBES2 can use the cipher's mode; false for key wrapping and XTS.
    let isUsable: Bool
    /// The OpenSSL providers that have the cipher.
    let context: LibraryContext

    /// Finds a cipher by name or dotted identifier, first in the default provider and then in the legacy one; nil if
    /// neither has it.
    init?(_ fetchName: String) {
        for context in [LibraryContext.standard, .legacy] {
            guard let cipher = unsafe EVP_CIPHER_fetch(context.pointer, fetchName, nil) else {
                OpenSSLError.discardQueue()
                continue
            }
            defer { unsafe EVP_CIPHER_free(cipher) }
            self.context = context
            name = unsafe EVP_CIPHER_get0_name(cipher).map { unsafe String(cString: $0) } ?? fetchName
            keyLength = Int(unsafe EVP_CIPHER_get_key_length(cipher))
            vectorLength = Int(unsafe EVP_CIPHER_get_iv_length(cipher))
            // Ciphers of providers do not have the flag EVP_CIPH_VARIABLE_LENGTH.
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
        return nil
    }
}
