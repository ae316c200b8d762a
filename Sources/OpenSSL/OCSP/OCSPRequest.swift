internal import COpenSSL
internal import StandardExtensions
internal import SwiftASN1

/// A request of the Online Certificate Status Protocol (RFC 6960, 4.1): its bytes, and the certificates that it names.
///
/// A request may be signed. The signature is ignored, because any client may request a status.
package struct OCSPRequest: Sendable, Hashable {
    /// The identifier of a certificate (`CertID`): its serial number, and digests of its issuer's name and key.
    package struct CertificateID: Sendable, Hashable {
        /// The DER of the CertID, which the response repeats.
        let der: [UInt8]
        /// The certificate's serial number, in the form of ``Certificate/serialHex``.
        package let serialHex: String
    }

    /// The DER that the request was parsed from.
    package let der: [UInt8]
    /// The certificates whose status is requested, in order; from 1 to ``mostCertificates``.
    package let certificates: [CertificateID]

    /// The maximum number of certificates in one request, which limits the size of the response. The RFC sets no limit.
    package static let mostCertificates = 64
    /// The allowed lengths of a nonce, in octets (RFC 9654, 2.1).
    private static let nonceLengths = 1...128

    /// Parses the DER of one request.
    ///
    /// - Throws: `trailingBytes` if data follows the request; `malformed` if OpenSSL cannot decode the bytes, if the
    ///   request names no certificate or too many, or if the nonce is not an OCTET STRING of an allowed length.
    package init(der: [UInt8]) throws(CertificateError) {
        let request = unsafe try Self.decode(der)
        defer { unsafe OCSP_REQUEST_free(request) }
        let count = unsafe Int(OCSP_request_onereq_count(request))
        guard (1...Self.mostCertificates).contains(count) else {
            throw CertificateError(
                .malformed, "the request names \(count) certificates, not 1 to \(Self.mostCertificates)")
        }
        self.der = der
        certificates = (0..<CInt(count)).map { index in
            unsafe CertificateID(reading: OCSP_onereq_get0_id(OCSP_request_onereq_get0(request, index)))
        }
        try unsafe Self.checkNonce(of: request)
        OpenSSLError.discardQueue()
    }

    /// Creates an unsigned request for the status of one certificate.
    ///
    /// The request has no nonce, so that responders may return a cached response (RFC 5019, 2.1.1). It identifies the
    /// issuer by SHA-1 digests, which every responder supports.
    ///
    /// - Throws: `CertificateError`: `malformed` if OpenSSL cannot decode one of the certificates; `unencodable` if
    ///   OpenSSL cannot encode the request.
    package init(for certificate: Certificate, issuedBy issuer: Certificate) throws(CertificateError) {
        guard let request = unsafe OCSP_REQUEST_new() else {
            throw .draining(.unencodable, "writing a status request")
        }
        defer { unsafe OCSP_REQUEST_free(request) }
        let identifier = try unsafe certificate.withPointer { (subject) throws(CertificateError) in
            try unsafe issuer.withPointer { authority in
                unsafe OCSP_cert_to_id(EVP_sha1(), subject, authority)
            }
        }
        // OCSP_request_add0_id transfers the ownership of the identifier to the request.
        guard let identifier = unsafe identifier, unsafe OCSP_request_add0_id(request, identifier) != nil
        else {
            unsafe OCSP_CERTID_free(identifier)
            throw .draining(.unencodable, "writing a status request")
        }
        try self.init(der: unsafe OpenSSLASN1.der(request) { unsafe i2d_OCSP_REQUEST($0, $1) })
    }

    /// Creates a C request (`OCSP_REQUEST`), which the caller must free.
    func makePointer() throws(CertificateError) -> OpaquePointer { unsafe try Self.decode(der) }

    /// Decodes a request without loading the keys of its certificates: any client can send one, and loading keys can
    /// take long (`KeyLoadingPolicy`).
    private static func decode(_ der: [UInt8]) throws(CertificateError) -> OpaquePointer {
        unsafe try OpenSSLASN1.decode(der, as: "a status request") {
            unsafe OpenSSLASN1.decodeWithoutProviders(OCSP_REQUEST_it(), $0, $1)
        } free: {
            unsafe OCSP_REQUEST_free($0)
        }
    }

    private static func checkNonce(of request: OpaquePointer) throws(CertificateError) {
        let index = unsafe OCSP_REQUEST_get_ext_by_NID(request, NID_id_pkix_OCSP_Nonce, -1)
        guard index >= 0 else { return }
        let value = unsafe CertificateExtension(reading: OCSP_REQUEST_get_ext(request, index)).value
        guard let nonce = try? ASN1OctetString(derEncoded: value), nonceLengths.contains(nonce.bytes.count)
        else { throw CertificateError(.malformed, "the length of the request's nonce is invalid") }
    }
}

extension OCSPRequest.CertificateID {
    /// Copies a C identifier (`OCSP_CERTID`), which the caller still owns.
    fileprivate init(reading identifier: OpaquePointer?) {
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe OCSP_id_get0_info(nil, nil, nil, &serial, identifier)
        let isNegative = unsafe serial.map { unsafe ASN1_STRING_type($0) & V_ASN1_NEG != 0 } ?? false
        serialHex = unsafe (isNegative ? "-" : "") + OpenSSLASN1.octets(serial).upperHex
        der = unsafe OpenSSLASN1.der(identifier) { unsafe i2d_OCSP_CERTID($0, $1) }
    }

    /// Returns whether the identifier contains the digests of the name and key of `issuer`. Also returns false if
    /// OpenSSL does not support the digest algorithm.
    package func isIssued(by issuer: Certificate) -> Bool {
        guard let identifier = try? unsafe makePointer() else { return false }
        defer { unsafe OCSP_CERTID_free(identifier) }
        var algorithm: OpaquePointer?
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe OCSP_id_get0_info(nil, &algorithm, nil, &serial, identifier)
        guard let name = unsafe OBJ_nid2sn(OBJ_obj2nid(algorithm)),
            let digest = unsafe EVP_get_digestbyname(name)
        else { return false }
        let isEqual = try? unsafe issuer.withPointer { certificate in
            let expected = unsafe OCSP_cert_id_new(
                digest, X509_get_subject_name(certificate), X509_get0_pubkey_bitstr(certificate), serial)
            defer { unsafe OCSP_CERTID_free(expected) }
            return unsafe expected != nil && OCSP_id_issuer_cmp(identifier, expected) == 0
        }
        OpenSSLError.discardQueue()
        return isEqual ?? false
    }

    /// Creates a C identifier (`OCSP_CERTID`), which the caller must free.
    func makePointer() throws(CertificateError) -> OpaquePointer {
        unsafe try OpenSSLASN1.decode(der, as: "a certificate's identifier") {
            unsafe d2i_OCSP_CERTID(nil, $0, $1)
        } free: {
            unsafe OCSP_CERTID_free($0)
        }
    }
}
