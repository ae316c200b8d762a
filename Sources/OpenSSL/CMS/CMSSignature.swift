internal import COpenSSL

/// A signed message, SignedData (RFC 5652, 5): who signed, and whether that is so.
///
/// Whether a signer's certificate is to be trusted is not decided here; `CertificateVerifier` does that.
package struct CMSSignature: Sendable {
    /// The certificates in the message, in its order; they need not be those of signers.
    package let certificates: [Certificate]
    private let structure: CMSStructure

    /// Reads the certificates of a signed message. Nothing is verified.
    ///
    /// - Throws: `CMSError`: `.malformed`, also for a message that is not signed; `.overLimit` for too many signatures;
    ///   `CertificateError` for a certificate in it that cannot be read, or whose key is too costly to use.
    package init(_ structure: CMSStructure) throws {
        guard structure.kind == .signedData else { throw CMSError(.malformed, "the message is not signed") }
        self.structure = structure
        // In this context no key is loaded, and so none that would take long.
        certificates = unsafe try structure.withMessage(in: .withoutProviders) { message in
            let signers = unsafe OpenSSLASN1.elements(CMS_get0_SignerInfos(message)).count
            guard signers > 0 else { throw CMSError(.malformed, "the message has no signature") }
            guard signers <= CMSLimits.signers else {
                throw CMSError(
                    .overLimit, "the message has \(signers) signatures; \(CMSLimits.signers) are verified")
            }
            let held = unsafe CMS_get1_certs(message)
            defer { unsafe OPENSSL_sk_pop_free(held) { unsafe X509_free(OpaquePointer($0)) } }
            return unsafe try OpenSSLASN1.elements(held).map {
                let der = unsafe OpenSSLASN1.der(OpaquePointer($0)) { unsafe i2d_X509($0, $1) }
                let certificate = try Certificate(der: der)
                guard certificate.publicKey.isLoadable else {
                    throw CertificateError(
                        .costlyKey(oid: ""), "the key of \(certificate) could take too long to use")
                }
                return certificate
            }
        }
    }

    /// Verifies every signature over a content.
    ///
    /// - Parameter file: The content that is signed: an open file, which is read from where it stands to its end.
    /// - Returns: The certificates of the signers, one for each signature.
    /// - Throws: `CMSError.Code.invalidSignature` where one does not fit, or its certificate is not in the message.
    package func verify(_ file: CInt) throws -> [Certificate] {
        unsafe try structure.withMessage(in: .standard) { message in
            let input = unsafe BIO_new_fd(file, BIO_NOCLOSE)
            defer { unsafe BIO_free(input) }
            let flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY | CMS_BINARY)
            guard unsafe CMS_verify(message, nil, nil, input, nil, flags) == 1 else {
                let cause = OpenSSLError.draining("verifying a signature")
                let isWithoutCertificate = cause.queue.contains {
                    $0.code & 0x7F_FFFF == UInt(CMS_R_SIGNER_CERTIFICATE_NOT_FOUND)
                }
                throw CMSError(
                    .invalidSignature,
                    isWithoutCertificate
                        ? "the certificate of the signer is not in the message"
                        : "the signature does not fit: the message was altered after it was signed",
                    cause: cause)
            }
            let signers = unsafe CMS_get0_signers(message)
            // The certificates are the message's.
            defer { unsafe OPENSSL_sk_free(signers) }
            return unsafe try OpenSSLASN1.elements(signers).map {
                try Certificate(
                    der: unsafe OpenSSLASN1.der(OpaquePointer($0)) { unsafe i2d_X509($0, $1) })
            }
        }
    }

    /// Signs a content, which stays outside of the message.
    ///
    /// - Parameters:
    ///   - file: The content: an open file, which is read from where it stands to its end.
    ///   - certificate: The certificate of the signer.
    ///   - key: The private key of the certificate.
    ///   - chain: Other certificates to put into the message.
    /// - Returns: The message in DER, with SHA-256 and the certificate of the signer.
    /// - Throws: `CMSError`: `.unsuitableKey` where the key does not sign or is not that of the certificate,
    ///   `.unmakable`; `CertificateError`; what the holder of a key that is elsewhere throws.
    package static func sign(
        _ file: CInt, as certificate: Certificate, with key: PrivateKey, chain: [Certificate] = []
    ) throws -> [UInt8] {
        let flags = UInt32(CMS_PARTIAL | CMS_DETACHED | CMS_BINARY)
        guard
            let message = unsafe CMS_sign_ex(
                nil, nil, nil, nil, flags, LibraryContext.standard.pointer, nil)
        else { throw CMSError.draining(.unmakable, "making a signed message") }
        defer { unsafe CMS_ContentInfo_free(message) }
        unsafe try certificate.withPointer { (pointer) throws(CertificateError) -> Result<Void, CMSError> in
            let isAdded = unsafe key.withPointer { key in
                unsafe CMS_add1_signer(message, pointer, key, EVP_sha256(), flags) != nil
            }
            return isAdded
                ? .success(())
                : .failure(.draining(.unsuitableKey, "the key of \(certificate) does not sign messages"))
        }.get()
        for other in chain where other != certificate {
            unsafe try other.withPointer { (pointer) throws(CertificateError) in
                guard unsafe CMS_add1_cert(message, pointer) == 1 else {
                    throw .draining(.unencodable, "adding a certificate to a message")
                }
            }
        }
        let input = unsafe BIO_new_fd(file, BIO_NOCLOSE)
        defer { unsafe BIO_free(input) }
        let isSigned = try PrivateKey.throwingFailures {
            unsafe CMS_final(message, input, nil, flags) == 1
        }
        guard isSigned else { throw CMSError.draining(.unmakable, "signing a message") }
        return unsafe OpenSSLASN1.der(message) { unsafe i2d_CMS_ContentInfo($0, $1) }
    }
}
