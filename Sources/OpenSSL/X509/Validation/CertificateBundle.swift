internal import COpenSSL

/// What a file of the kind `.p7c` or `.p7b` holds: certificates and revocation lists in a PKCS #7 structure that
/// signs nothing (RFC 2315 9, RFC 8551 3.8).
package struct CertificateBundle: Sendable {
    /// The certificates, in order.
    package let certificates: [Certificate]
    /// The revocation lists, in order.
    package let lists: [EncodedRevocationList]

    /// Parses the DER or BER of one bundle. Signatures of it are not looked at.
    ///
    /// - Parameters:
    ///   - der: the bytes of the bundle.
    ///   - mostItems: the most certificates and lists together.
    /// - Throws: `malformed`, also where the structure is another one than SignedData or holds too much;
    ///   `trailingBytes`.
    package init(der: [UInt8], mostItems: Int) throws(CertificateError) {
        let bundle = unsafe try OpenSSLASN1.decode(der, as: "a PKCS #7 bundle") {
            cursor, count -> UnsafeMutablePointer<PKCS7>? in
            // The context loads no keys, of which there may be thousands.
            var bundle = unsafe PKCS7_new_ex(LibraryContext.withoutProviders.pointer, nil)
            return unsafe d2i_PKCS7(&bundle, cursor, count)
        } free: {
            unsafe PKCS7_free($0)
        }
        defer { unsafe PKCS7_free(bundle) }
        guard unsafe OBJ_obj2nid(bundle.pointee.type) == NID_pkcs7_signed,
            let signed = unsafe bundle.pointee.d.sign
        else { throw CertificateError(.malformed, "the PKCS #7 structure holds no certificates") }
        let certificates = unsafe OpenSSLASN1.elements(signed.pointee.cert)
        let lists = unsafe OpenSSLASN1.elements(signed.pointee.crl)
        guard unsafe certificates.count + lists.count <= mostItems else {
            throw CertificateError(.malformed, "the PKCS #7 structure holds more than \(mostItems) items")
        }
        self.certificates = try unsafe certificates.map { (item) throws(CertificateError) in
            try Certificate(der: unsafe OpenSSLASN1.der(OpaquePointer(item)) { unsafe i2d_X509($0, $1) })
        }
        self.lists = try unsafe lists.map { (item) throws(CertificateError) in
            try EncodedRevocationList(
                der: unsafe OpenSSLASN1.der(OpaquePointer(item)) { unsafe i2d_X509_CRL($0, $1) })
        }
        OpenSSLError.discardQueue()
    }
}
