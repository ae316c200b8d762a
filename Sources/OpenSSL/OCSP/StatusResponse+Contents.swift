internal import COpenSSL
package import Foundation

extension StatusResponse {
    /// The contents of a response, for display. Nothing is verified.
    package struct Contents: Sendable, Hashable {
        /// The form in which a response identifies its signer (RFC 6960 4.2.1, `ResponderID`).
        package enum Responder: Sendable, Hashable {
            /// The subject of the signer's certificate.
            case name(DistinguishedName)
            /// The SHA-1 of the signer's public key.
            case keyHash([UInt8])
        }

        /// The status of one certificate.
        package struct Single: Sendable, Hashable {
            /// The magnitude of the certificate's serial number, big-endian.
            package let serialNumber: [UInt8]
            /// Whether the certificate is revoked, according to the responder.
            package let status: CertificateStatus
            /// The time at which the status was known to be correct; nil if it cannot be read.
            package let thisUpdate: Date?
            /// The time of the next status; nil if it is absent or cannot be read.
            package let nextUpdate: Date?
        }

        /// The signer.
        package let responder: Responder?
        /// The time of the signature; nil if it cannot be read.
        package let producedAt: Date?
        /// The algorithm of the signature, as a dotted object identifier.
        package let signatureAlgorithm: String
        /// The statuses in the order of the response.
        package let singles: [Single]
        /// The certificates in the response, which may include the signer's.
        package let certificates: [Certificate]
        /// The extensions of the response as a whole, with their contents still encoded.
        package let extensions: [CertificateExtension]
    }

    /// Decodes the contents. Each call decodes the response again.
    ///
    /// - Returns: Nil if the responder returned no status (``refusal``).
    package func contents() -> Contents? {
        defer { OpenSSLError.discardQueue() }
        guard let response = unsafe try? Self.decode(der) else { return nil }
        defer { unsafe OCSP_RESPONSE_free(response) }
        guard let basic = unsafe try? Self.decodeBasic(in: response) else { return nil }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        var algorithm: OpaquePointer?
        unsafe X509_ALGOR_get0(&algorithm, nil, nil, OCSP_resp_get0_tbs_sigalg(basic))
        return unsafe Contents(
            responder: Self.responder(basic),
            producedAt: OpenSSLASN1.date(OCSP_resp_get0_produced_at(basic)),
            signatureAlgorithm: OpenSSLASN1.dotted(algorithm),
            singles: (0..<max(0, OCSP_resp_count(basic))).compactMap {
                unsafe Self.single(OCSP_resp_get0(basic, $0))
            },
            certificates: OpenSSLASN1.elements(OCSP_resp_get0_certs(basic)).compactMap {
                let der = unsafe OpenSSLASN1.der(OpaquePointer($0)) { unsafe i2d_X509($0, $1) }
                return try? Certificate(der: der)
            },
            extensions: (0..<max(0, OCSP_BASICRESP_get_ext_count(basic))).map {
                unsafe CertificateExtension(reading: OCSP_BASICRESP_get_ext(basic, $0))
            })
    }

    private static func responder(_ basic: OpaquePointer) -> Contents.Responder? {
        var hash: UnsafePointer<ASN1_OCTET_STRING>?
        var name: OpaquePointer?
        guard unsafe OCSP_resp_get0_id(basic, &hash, &name) == 1 else { return nil }
        if let hash = unsafe hash { return unsafe .keyHash(OpenSSLASN1.octets(hash)) }
        return unsafe name.map { unsafe .name(DistinguishedName(reading: $0)) }
    }

    private static func single(_ single: OpaquePointer?) -> Contents.Single? {
        guard let single = unsafe single,
            let identifier = unsafe OCSP_SINGLERESP_get0_id(single)
        else { return nil }
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe OCSP_id_get0_info(nil, nil, nil, &serial, identifier)
        var reason: CInt = 0
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var made: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var due: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status: CertificateStatus =
            switch unsafe OCSP_single_get0_status(single, &reason, &revoked, &made, &due) {
            case V_OCSP_CERTSTATUS_GOOD: .good
            case V_OCSP_CERTSTATUS_REVOKED:
                unsafe .revoked(
                    OpenSSLASN1.date(revoked) ?? .distantPast,
                    reason: reason == OCSP_REVOKED_STATUS_NOSTATUS ? nil : Int(reason))
            default: .unknown
            }
        return unsafe Contents.Single(
            serialNumber: OpenSSLASN1.octets(serial), status: status, thisUpdate: OpenSSLASN1.date(made),
            nextUpdate: OpenSSLASN1.date(due))
    }
}
