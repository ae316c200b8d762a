internal import COpenSSL
package import Foundation

/// What is known of one certificate (RFC 6960 2.2).
package enum CertificateStatus: Sendable, Hashable {
    /// It was issued and not revoked.
    case good
    /// It was revoked at this moment, for the reason that RFC 5280 5.3.1 numbers, where one is known.
    case revoked(Date, reason: Int?)
    /// The responder does not know it.
    case unknown
}

/// Why a request gets no status (RFC 6960 2.3); the raw values are those of the protocol.
package enum OCSPFailure: Int, Sendable, Hashable, CaseIterable {
    case malformedRequest = 1
    case internalError = 2
    case tryLater = 3
    /// The responder does not speak for the issuer.
    case unauthorized = 6

    /// The response, in DER; it is not signed.
    ///
    /// - Throws: `unencodable`.
    package func response() throws(CertificateError) -> [UInt8] {
        let response = unsafe OCSP_response_create(CInt(rawValue), nil)
        defer { unsafe OCSP_RESPONSE_free(response) }
        guard unsafe response != nil else { throw .draining(.unencodable, "writing a status response") }
        return unsafe OpenSSLASN1.der(response) { unsafe i2d_OCSP_RESPONSE($0, $1) }
    }
}
