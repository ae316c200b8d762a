internal import COpenSSL

/// The contents of a `.p7c` or `.p7b` file: certificates and revocation lists in a PKCS #7 structure without signatures
/// (RFC 2315 9, RFC 8551 3.8).
package struct CertificateBundle: Sendable {
    /// The certificates, in order.
    package let certificates: [Certificate]
    /// The revocation lists, in order.
    package let lists: [EncodedRevocationList]
    /// The DER of ``lists``, in the same order.
    package let encodedLists: [[UInt8]]

    /// Parses the DER or BER of one bundle. Signatures in the bundle are ignored.
    ///
    /// - Parameters:
    ///   - der: The bytes of the bundle.
    ///   - mostItems: The maximum total number of certificates and lists.
    /// - Throws: `malformed` if the bytes cannot be decoded or exceed the maximum; `missing` if they are not SignedData;
    ///   `trailingBytes`.
    package init(der: [UInt8], mostItems: Int) throws(CertificateError) {
        let bundle = unsafe try OpenSSLASN1.decode(der, as: "a PKCS #7 bundle") {
            cursor, count -> UnsafeMutablePointer<PKCS7>? in
            // This context loads no keys. There may be thousands.
            var bundle = unsafe PKCS7_new_ex(LibraryContext.withoutProviders.pointer, nil)
            return unsafe d2i_PKCS7(&bundle, cursor, count)
        } free: {
            unsafe PKCS7_free($0)
        }
        defer { unsafe PKCS7_free(bundle) }
        guard unsafe OBJ_obj2nid(bundle.pointee.type) == NID_pkcs7_signed,
            let signed = unsafe bundle.pointee.d.sign
        else { throw CertificateError(.missing, "the PKCS #7 structure contains no certificates") }
        let certificates = unsafe OpenSSLASN1.elements(signed.pointee.cert)
        let lists = unsafe OpenSSLASN1.elements(signed.pointee.crl)
        guard unsafe certificates.count + lists.count <= mostItems else {
            throw CertificateError(.malformed, "the PKCS #7 structure contains more than \(mostItems) items")
        }
        self.certificates = try unsafe certificates.map { (item) throws(CertificateError) in
            try Certificate(der: unsafe OpenSSLASN1.der(OpaquePointer(item)) { unsafe i2d_X509($0, $1) })
        }
        encodedLists = unsafe lists.map {
            unsafe OpenSSLASN1.der(OpaquePointer($0)) { unsafe i2d_X509_CRL($0, $1) }
        }
        self.lists = try encodedLists.map { (der) throws(CertificateError) in
            try EncodedRevocationList(der: der)
        }
        OpenSSLError.discardQueue()
    }
}
