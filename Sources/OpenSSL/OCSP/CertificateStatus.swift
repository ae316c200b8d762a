internal import COpenSSL
package import Foundation

/// The status of a certificate in a response (RFC 6960, 2.2).
package enum CertificateStatus: Sendable, Hashable {
    /// The certificate is not revoked.
    case good
    /// The certificate was revoked at this time. `reason` is the number of a reason in RFC 5280, 5.3.1; nil if unknown.
    case revoked(Date, reason: Int?)
    /// The responder does not know the certificate.
    case unknown
}

/// A failure that a responder returns instead of a status (RFC 6960, 2.3). The raw values are the protocol's.
package enum OCSPFailure: Int, Sendable, Hashable, CaseIterable {
    /// The request cannot be read.
    case malformedRequest = 1
    /// The responder has an internal error.
    case internalError = 2
    /// The responder cannot answer at the moment.
    case tryLater = 3
    /// The responder has no status for certificates of this issuer.
    case unauthorized = 6

    /// Returns the response with this failure, in DER. Such responses are not signed (RFC 6960, 4.2.1).
    ///
    /// - Throws: `CertificateError.unencodable` if OpenSSL runs out of memory.
    package func response() throws(CertificateError) -> [UInt8] {
        let response = unsafe OCSP_response_create(CInt(rawValue), nil)
        defer { unsafe OCSP_RESPONSE_free(response) }
        guard unsafe response != nil else { throw .draining(.unencodable, "writing a status response") }
        return unsafe OpenSSLASN1.der(response) { unsafe i2d_OCSP_RESPONSE($0, $1) }
    }
}
