internal import COpenSSL

extension CMSEnvelope {
    /// Creates a message whose content is encrypted for recipients: AuthEnvelopedData if the cipher authenticates the
    /// content, otherwise EnvelopedData.
    ///
    /// - Parameters:
    ///   - content: The content, such as a MIME entity with CR LF line endings (RFC 8551, 3.1).
    ///   - certificates: The recipients' certificates, one for each. The content's key is encrypted with `transport`
    ///     for RSA keys, and by ECDH with SHA-256 (RFC 5753) for EC keys.
    ///   - cipher: The cipher for the content.
    ///   - transport: The encryption scheme for recipients with RSA keys.
    ///   - seed: The seed of a reproducible test message, whose content anyone with the seed can decrypt; nil for
    ///     OpenSSL's random source. Messages for EC keys are not reproducible.
    /// - Returns: The message in DER.
    /// - Throws: `CMSError`: `.unsuitableKey` for a certificate whose key is neither RSA nor EC, `.unmakable` if
    ///   OpenSSL cannot create the message; `CertificateError` for a certificate that OpenSSL cannot decode.
    package static func encrypt(
        _ content: [UInt8], for certificates: [Certificate], cipher: ContentCipher,
        transport: RSAKeyTransport = .pkcs1, seed: Seed? = nil
    ) throws -> [UInt8] {
        let flags = UInt32(CMS_PARTIAL | CMS_BINARY)
        let context = try LibraryContext.drawing(from: seed)
        guard
            let message = unsafe CMS_encrypt_ex(nil, nil, cipher.pointer, flags, context.pointer, nil)
        else { throw CMSError.draining(.unmakable, "creating an encrypted message") }
        defer { unsafe CMS_ContentInfo_free(message) }
        for certificate in certificates {
            unsafe try add(certificate, transport, to: message)
        }
        let input = unsafe content.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            let input = unsafe BIO_new(BIO_s_mem())
            unsafe BIO_write(input, bytes.baseAddress, CInt(clamping: bytes.count))
            return unsafe input
        }
        defer { unsafe BIO_free(input) }
        guard unsafe CMS_final(message, input, nil, flags) == 1 else {
            throw CMSError.draining(.unmakable, "encrypting a message")
        }
        return unsafe OpenSSLASN1.der(message) { unsafe i2d_CMS_ContentInfo($0, $1) }
    }

    private static func add(
        _ certificate: Certificate, _ transport: RSAKeyTransport, to message: OpaquePointer
    ) throws {
        unsafe try certificate.withPointer { (pointer) throws(CertificateError) -> Result<Void, CMSError> in
            let unsuitable = "messages cannot be encrypted with the key of \(certificate)"
            guard
                let info = unsafe CMS_add1_recipient_cert(
                    message, pointer, UInt32(CMS_KEY_PARAM | CMS_BINARY))
            else { return .failure(.draining(.unsuitableKey, unsuitable)) }
            guard let context = unsafe CMS_RecipientInfo_get0_pkey_ctx(info) else {
                return .failure(.draining(.unsuitableKey, unsuitable))
            }
            let isSet =
                switch certificate.publicKey.type {
                case .rsa where transport == .pkcs1: true
                case .rsa:
                    unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
                        && EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1
                        && EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1
                case .ec: unsafe EVP_PKEY_CTX_set_ecdh_kdf_md(context, EVP_sha256()) == 1
                default: false
                }
            return isSet ? .success(()) : .failure(.draining(.unsuitableKey, unsuitable))
        }.get()
    }
}
