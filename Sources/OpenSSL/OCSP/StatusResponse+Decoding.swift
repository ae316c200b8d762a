internal import COpenSSL

extension StatusResponse {
    /// Decodes the outer structure of a response (`OCSP_RESPONSE`), which the caller frees. It contains no certificates.
    static func decode(_ der: [UInt8]) throws(CertificateError) -> OpaquePointer {
        unsafe try OpenSSLASN1.decode(der, as: "a status response") {
            unsafe d2i_OCSP_RESPONSE(nil, $0, $1)
        } free: {
            unsafe OCSP_RESPONSE_free($0)
        }
    }

    /// Decodes the part of a response that contains the statuses (`OCSP_BASICRESP`), which the caller frees.
    ///
    /// Unlike OCSP_response_get1_basic(3), this loads no keys. The response can contain thousands of certificates of its
    /// author's choice, and loading their keys can take minutes (`KeyLoadingPolicy`).
    ///
    /// - Throws: `malformed` if the response contains no statuses or if OpenSSL cannot decode them.
    static func decodeBasic(in response: OpaquePointer) throws(CertificateError) -> OpaquePointer {
        // OpenSSL offers no access to the octets. It has decoded BER, and encodes DER here.
        let der = unsafe OpenSSLASN1.der(response) { unsafe i2d_OCSP_RESPONSE($0, $1) }
        guard let octets = basicOctets(in: der) else {
            throw CertificateError(.malformed, "the status response contains no status")
        }
        return unsafe try OpenSSLASN1.decode(Array(der[octets]), as: "a status response") {
            unsafe OpenSSLASN1.decodeWithoutProviders(OCSP_BASICRESP_it(), $0, $1)
        } free: {
            unsafe OCSP_BASICRESP_free($0)
        }
    }

    /// The position of the BasicOCSPResponse in an OCSPResponse (RFC 6960 4.2.1); nil if it contains none.
    private static func basicOctets(in der: [UInt8]) -> Range<Int>? {
        var file = DERWalk(der)
        guard let outer = file.skip(V_ASN1_SEQUENCE) else { return nil }
        var fields = DERWalk(der, in: outer.contents)
        guard fields.skip(V_ASN1_ENUMERATED) != nil,
            let tagged = fields.skip(0, class: V_ASN1_CONTEXT_SPECIFIC)
        else { return nil }
        var body = DERWalk(der, in: tagged.contents)
        guard let bytes = body.skip(V_ASN1_SEQUENCE) else { return nil }
        var parts = DERWalk(der, in: bytes.contents)
        guard let type = parts.skip(V_ASN1_OBJECT),
            ObjectIdentifierName.dotted(encoded: der[type.whole]) == OID.basicStatusResponse
        else { return nil }
        return parts.skip(V_ASN1_OCTET_STRING)?.contents
    }

    /// Returns the object identifier of a critical extension that is not in ``knownExtensions``; nil if there is none.
    ///
    /// - Parameters:
    ///   - basic: The `OCSP_BASICRESP`, whose extensions apply to all statuses.
    ///   - single: The `OCSP_SINGLERESP` with the status of one certificate.
    static func unknownCriticalExtension(of basic: OpaquePointer, _ single: OpaquePointer) -> String? {
        let ofResponse = unsafe (0..<max(0, OCSP_BASICRESP_get_ext_count(basic))).map {
            unsafe CertificateExtension(reading: OCSP_BASICRESP_get_ext(basic, $0))
        }
        let ofStatus = unsafe (0..<max(0, OCSP_SINGLERESP_get_ext_count(single))).map {
            unsafe CertificateExtension(reading: OCSP_SINGLERESP_get_ext(single, $0))
        }
        return (ofResponse + ofStatus).first { $0.isCritical && !knownExtensions.contains($0.oid) }?.oid
    }

    /// The extensions of a response in RFC 6960 4.4. None of them has to be critical, and none changes whether a
    /// certificate is revoked.
    private static let knownExtensions: Set<String> = [
        // Nonce, CRL references, archive cutoff, extended revoked definition.
        "1.3.6.1.5.5.7.48.1.2", "1.3.6.1.5.5.7.48.1.3", "1.3.6.1.5.5.7.48.1.6", "1.3.6.1.5.5.7.48.1.9",
        // The extensions of an entry in a list (4.4.5): reason, invalidity date, certificate issuer.
        "2.5.29.21", "2.5.29.24", "2.5.29.29",
    ]
}
