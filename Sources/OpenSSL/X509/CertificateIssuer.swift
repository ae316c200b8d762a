internal import COpenSSL

/// A certificate with its private key, able to sign other certificates and revocation lists.
///
/// It does not ask whether the certificate allows that, for the sake of test material.
package struct CertificateIssuer: Sendable {
    /// The issuer's certificate: its subject becomes the issuer of what is signed.
    package let certificate: Certificate
    /// The key that signs.
    package let privateKey: PrivateKey

    /// An issuer from a certificate and a key, which need not match.
    package init(certificate: Certificate, privateKey: PrivateKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }

    /// An issuer with a self-signed certificate, such as a root.
    ///
    /// Without a `digest` the signature takes the one that goes with the key. A `seed` fixes the signature.
    ///
    /// - Throws: `unencodable`, `unsignable`.
    package init(
        selfSigned template: CertificateTemplate, privateKey: PrivateKey, digest: SignatureDigest? = nil,
        seed: Seed? = nil
    ) throws(CertificateError) {
        certificate = unsafe try privateKey.withPointer { (key: OpaquePointer) throws(CertificateError) in
            unsafe try Self.issue(template, to: key, issuer: nil, signingWith: privateKey, digest, seed)
        }
        self.privateKey = privateKey
    }

    /// A certificate of the template's contents for the public half of `subjectKey`.
    ///
    /// Without a `digest` the signature takes the one that goes with the issuer's key. A `seed` fixes the
    /// signature, which with a curve is otherwise another one each time.
    ///
    /// - Throws: `unencodable`, `unsignable`.
    package func issue(
        _ template: CertificateTemplate, to subjectKey: PrivateKey, digest: SignatureDigest? = nil,
        seed: Seed? = nil
    ) throws(CertificateError) -> Certificate {
        unsafe try subjectKey.withPointer { (key: OpaquePointer) throws(CertificateError) in
            unsafe try Self.issue(
                template, to: key, issuer: certificate, signingWith: privateKey, digest, seed)
        }
    }

    /// A certificate of the template's contents for `subjectKey`.
    ///
    /// Without a `digest` the signature takes the one that goes with the issuer's key.
    ///
    /// - Throws: `unsupportedKey` for a public key that OpenSSL cannot load, `unencodable`, `unsignable`.
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

    private static func issue(
        _ template: CertificateTemplate, to subjectKey: OpaquePointer, issuer: Certificate?,
        signingWith privateKey: PrivateKey, _ digest: SignatureDigest?, _ seed: Seed?
    ) throws(CertificateError) -> Certificate {
        // The signature is made in the certificate's context, whatever the key's is.
        guard let context = try? LibraryContext.drawing(from: seed),
            let certificate = unsafe X509_new_ex(context.pointer, nil)
        else {
            throw .draining(.unsignable, "making a certificate")
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

    /// Writes the public half of a key on a curve that has a name, as point and name (RFC 5480, 2).
    ///
    /// The same as `X509_set_pubkey` writes, which looks for an encoder among all that the providers have: that
    /// takes seven times as long as making the key.
    ///
    /// - Returns: false where it is no such key, and nothing was written.
    private static func setNamedCurvePoint(of key: OpaquePointer, in certificate: OpaquePointer) -> Bool {
        guard unsafe EVP_PKEY_get_base_id(key) == NID_X9_62_id_ecPublicKey else { return false }
        let curve = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { text -> CInt in
            // A key whose parameters are spelt out has a curve's name too, and is not written by it.
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
            // Takes the point over.
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
