internal import COpenSSL

/// A certificate with its private key, which signs other certificates, revocation lists and status responses.
///
/// An issuer signs even if its certificate does not allow it, because test material is sometimes defective on purpose.
package struct CertificateIssuer: Sendable {
    /// The issuer's own certificate. Its subject becomes the issuer of the signed objects.
    package let certificate: Certificate
    /// The signing key. It should match the certificate, but this is not checked.
    package let privateKey: PrivateKey

    /// Creates an issuer from a certificate and a key, which need not match.
    package init(certificate: Certificate, privateKey: PrivateKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }

    /// Creates an issuer with a new, self-signed certificate, such as a root.
    ///
    /// - Parameters:
    ///   - template: The contents of the certificate.
    ///   - privateKey: The key that is certified and that signs.
    ///   - digest: The digest of the signature; nil for the key's standard digest.
    ///   - seed: The seed of a reproducible signature; nil for a random one.
    /// - Throws: `unencodable` for a value in the template that cannot be written, `unsignable` if OpenSSL cannot sign.
    package init(
        selfSigned template: CertificateTemplate, privateKey: PrivateKey, digest: SignatureDigest? = nil,
        seed: Seed? = nil
    ) throws(CertificateError) {
        certificate = unsafe try privateKey.withPointer { (key: OpaquePointer) throws(CertificateError) in
            unsafe try Self.issue(template, to: key, issuer: nil, signingWith: privateKey, digest, seed)
        }
        self.privateKey = privateKey
    }

    /// Issues a certificate for the public half of `subjectKey`.
    ///
    /// - Parameters:
    ///   - template: The contents of the certificate.
    ///   - subjectKey: The key pair whose public half is certified.
    ///   - digest: The digest of the signature; nil for the standard digest of the issuer's key.
    ///   - seed: The seed of a reproducible signature; nil for a random one. Only ECDSA signatures are random.
    /// - Throws: `unencodable` for a value in the template that cannot be written, `unsignable` if OpenSSL cannot sign.
    package func issue(
        _ template: CertificateTemplate, to subjectKey: PrivateKey, digest: SignatureDigest? = nil,
        seed: Seed? = nil
    ) throws(CertificateError) -> Certificate {
        unsafe try subjectKey.withPointer { (key: OpaquePointer) throws(CertificateError) in
            unsafe try Self.issue(
                template, to: key, issuer: certificate, signingWith: privateKey, digest, seed)
        }
    }

    /// Issues a certificate for a public key without access to its private key.
    ///
    /// - Parameters:
    ///   - template: The contents of the certificate.
    ///   - subjectKey: The key that is certified.
    ///   - digest: The digest of the signature; nil for the standard digest of the issuer's key.
    /// - Throws: `unsupportedKey` if OpenSSL cannot load the key, `unencodable` for a value in the template that cannot
    ///   be written, `unsignable` if OpenSSL cannot sign.
    package func issue(
        _ template: CertificateTemplate, to subjectKey: PublicKey, digest: SignatureDigest? = nil
    ) throws(CertificateError) -> Certificate {
        let result: Result<Certificate, CertificateError> = unsafe subjectKey.withPointer { key in
            Result { () throws(CertificateError) in
                guard let key = unsafe key else {
                    throw CertificateError(
                        .unsupportedKey(oid: subjectKey.type.name), "the public key cannot be loaded")
                }
                return unsafe try Self.issue(
                    template, to: key, issuer: certificate, signingWith: privateKey, digest, nil)
            }
        }
        return try result.get()
    }

    /// Issues a certificate for a C key (`EVP_PKEY`), which the caller still owns; self-signed if `issuer` is nil.
    private static func issue(
        _ template: CertificateTemplate, to subjectKey: OpaquePointer, issuer: Certificate?,
        signingWith privateKey: PrivateKey, _ digest: SignatureDigest?, _ seed: Seed?
    ) throws(CertificateError) -> Certificate {
        // OpenSSL signs in the library context of the certificate, not in that of the key.
        guard let context = try? LibraryContext.drawing(from: seed),
            let certificate = unsafe X509_new_ex(context.pointer, nil)
        else {
            throw .draining(.unsignable, "creating a certificate")
        }
        defer { unsafe X509_free(certificate) }
        unsafe X509_set_version(certificate, CLong(X509_VERSION_3))
        let serial = unsafe try OpenSSLASN1.integer(
            template.serialNumber, isNegative: template.isSerialNegative)
        defer { unsafe ASN1_INTEGER_free(serial) }
        unsafe X509_set_serialNumber(certificate, serial)
        let notBefore = unsafe try OpenSSLASN1.time(template.notBefore)
        defer { unsafe ASN1_TIME_free(notBefore) }
        unsafe X509_set1_notBefore(certificate, notBefore)
        let notAfter = unsafe try OpenSSLASN1.time(template.notAfter)
        defer { unsafe ASN1_TIME_free(notAfter) }
        unsafe X509_set1_notAfter(certificate, notAfter)
        unsafe try template.subject.withPointer { (name: OpaquePointer) throws(CertificateError) in
            unsafe _ = X509_set_subject_name(certificate, name)
        }
        let issuerName = issuer?.subject ?? template.subject
        unsafe try issuerName.withPointer { (name: OpaquePointer) throws(CertificateError) in
            unsafe _ = X509_set_issuer_name(certificate, name)
        }
        guard
            unsafe setNamedCurvePoint(of: subjectKey, in: certificate)
                || X509_set_pubkey(certificate, subjectKey) == 1
        else { throw .draining(.unencodable, "writing the public key") }
        let subjectOctets = unsafe OpenSSLASN1.octets(X509_get0_pubkey_bitstr(certificate))
        let authority = issuer.map { $0.subjectKeyIdentifier ?? $0.publicKey.keyIdentifier }
        let encoded = try template.encodedExtensions(
            subjectIdentifier: Digest.sha1(subjectOctets), authorityIdentifier: authority)
        let added = unsafe encoded.pointers.allSatisfy { unsafe X509_add_ext(certificate, $0, -1) == 1 }
        guard added else { throw .draining(.unencodable, "adding an extension") }
        let digest = digest ?? .standard(for: privateKey.type)
        let signed = unsafe privateKey.withPointer { unsafe X509_sign(certificate, $0, digest?.pointer) }
        guard signed > 0 else { throw .draining(.unsignable, "signing a certificate") }
        return try Certificate(der: unsafe OpenSSLASN1.der(certificate) { unsafe i2d_X509($0, $1) })
    }

    /// Writes the public half of a key on a named curve into the certificate, as point and name (RFC 5480, 2).
    ///
    /// `X509_set_pubkey` would write the same octets. But it first searches all encoders of the providers, which takes
    /// seven times as long as generating the key.
    ///
    /// - Returns: False if the key is of a different kind; nothing is written then.
    private static func setNamedCurvePoint(of key: OpaquePointer, in certificate: OpaquePointer) -> Bool {
        guard unsafe EVP_PKEY_get_base_id(key) == NID_X9_62_id_ecPublicKey else { return false }
        let curve = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { text -> CInt in
            // A key with explicit parameters may also name a curve, but must not be written by name.
            guard let start = text.baseAddress,
                unsafe EVP_PKEY_get_utf8_string_param(
                    key, OSSL_PKEY_PARAM_EC_ENCODING, start, text.count, nil) == 1,
                unsafe String(cString: start) == OSSL_PKEY_EC_ENCODING_GROUP,
                unsafe EVP_PKEY_get_group_name(key, start, text.count, nil) == 1
            else { return NID_undef }
            return unsafe OBJ_sn2nid(start)
        }
        guard curve != NID_undef else {
            OpenSSLError.discardQueue()
            return false
        }
        var point: UnsafeMutablePointer<UInt8>?
        let count = unsafe EVP_PKEY_get1_encoded_public_key(key, &point)
        guard count > 0,
            // X509_PUBKEY_set0_param becomes the owner of the point.
            unsafe X509_PUBKEY_set0_param(
                X509_get_X509_PUBKEY(certificate), OBJ_nid2obj(NID_X9_62_id_ecPublicKey), V_ASN1_OBJECT,
                UnsafeMutableRawPointer(OBJ_nid2obj(curve)), point, CInt(count)) == 1
        else {
            unsafe CRYPTO_free(point, nil, 0)
            OpenSSLError.discardQueue()
            return false
        }
        return true
    }
}
