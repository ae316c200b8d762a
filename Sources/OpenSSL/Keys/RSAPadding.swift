internal import COpenSSL

/// The padding that converts the input of an RSA operation to a number below the modulus (RFC 8017).
package enum RSAPadding: Sendable, Hashable {
    /// No padding: the input is as long as the modulus.
    case none
    /// PKCS #1 v1.5: type 1 for signatures (9.2) and type 2 for encryption (7.2.1). With a digest algorithm, a
    /// signature includes the algorithm's identifier. With nil, the bytes are padded without an identifier.
    case pkcs1(DigestAlgorithm?)
    /// EMSA-PSS (9.1): the digest of the message, the digest of the mask, and the length of the salt in bytes.
    case pss(DigestAlgorithm, mask: DigestAlgorithm, saltLength: Int)
    /// EME-OAEP (7.1.1): the digest of the label, the digest of the mask, and the label.
    case oaep(DigestAlgorithm, mask: DigestAlgorithm, label: [UInt8])

    /// Sets the padding in a context that is ready for an operation (`EVP_PKEY_CTX`).
    ///
    /// - Returns: False if OpenSSL rejects the padding, for example because the salt is too long for the key.
    func configure(_ context: OpaquePointer?) -> Bool {
        switch self {
        case .none: return unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1
        case .pkcs1(let digest):
            guard unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1 else { return false }
            guard let digest else { return true }
            return unsafe EVP_PKEY_CTX_set_signature_md(context, digest.pointer) == 1
        case .pss(let digest, let mask, let saltLength):
            return unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, digest.pointer) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, mask.pointer) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, CInt(clamping: saltLength)) == 1
        case .oaep(let digest, let mask, let label):
            guard
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
                    && EVP_PKEY_CTX_set_rsa_oaep_md(context, digest.pointer) == 1
                    && EVP_PKEY_CTX_set_rsa_mgf1_md(context, mask.pointer) == 1
            else { return false }
            guard !label.isEmpty else { return true }
            // The context takes ownership of the memory and frees it with OPENSSL_free.
            let copy = unsafe CRYPTO_memdup(label, label.count, nil, 0)
            guard unsafe EVP_PKEY_CTX_set0_rsa_oaep_label(context, copy, CInt(clamping: label.count)) == 1
            else {
                unsafe CRYPTO_free(copy, nil, 0)
                return false
            }
            return true
        }
    }
}
