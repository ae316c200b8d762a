internal import COpenSSL
package import Foundation

extension CertificateIssuer {
    /// Creates the signed response to a request (RFC 6960, 4.2).
    ///
    /// This issuer is the responder and is identified by its key. The response repeats the request's nonce (RFC 9654).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - thisUpdate: The time at which the statuses are known to be correct, and at which the response was produced;
    ///     rounded down to a second.
    ///   - nextUpdate: The time at which newer information will be available; rounded down to a second.
    ///   - digest: The digest of the signature; nil for the key's standard digest.
    ///   - status: Returns the status of a certificate in the request.
    /// - Returns: The response in DER.
    /// - Throws: `CertificateError`: `unencodable` for a time that cannot be encoded, `unsignable` if OpenSSL cannot
    ///   sign; any error of `status`.
    package func statusResponse(
        to request: OCSPRequest, thisUpdate: Date, nextUpdate: Date, digest: SignatureDigest? = nil,
        status: (OCSPRequest.CertificateID) throws -> CertificateStatus
    ) throws -> [UInt8] {
        guard let response = unsafe OCSP_BASICRESP_new() else {
            throw CertificateError.draining(.unencodable, "writing a status response")
        }
        defer { unsafe OCSP_BASICRESP_free(response) }
        for identifier in request.certificates {
            let status = try status(identifier)
            unsafe try Self.add(
                status, of: identifier, to: response, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        }
        let encodedRequest = unsafe try request.makePointer()
        defer { unsafe OCSP_REQUEST_free(encodedRequest) }
        guard unsafe OCSP_copy_nonce(response, encodedRequest) > 0,
            // OpenSSL can read producedAt but has no function that sets it. Without OCSP_NOTIME, which sign(_:) passes,
            // OCSP_basic_sign would write the system's time.
            unsafe ASN1_GENERALIZEDTIME_set(
                UnsafeMutablePointer(mutating: OCSP_resp_get0_produced_at(response)),
                Int(thisUpdate.timeIntervalSince1970.rounded(.down))) != nil
        else { throw CertificateError.draining(.unencodable, "writing a status response") }
        return unsafe try sign(response, digest ?? .standard(for: privateKey.type))
    }

    /// Adds the status of one certificate to a C response (`OCSP_BASICRESP`), which the caller still owns.
    private static func add(
        _ status: CertificateStatus, of identifier: OCSPRequest.CertificateID, to response: OpaquePointer,
        thisUpdate: Date, nextUpdate: Date
    ) throws(CertificateError) {
        let identifier = unsafe try identifier.makePointer()
        defer { unsafe OCSP_CERTID_free(identifier) }
        let updated = unsafe try OpenSSLASN1.time(thisUpdate)
        defer { unsafe ASN1_TIME_free(updated) }
        let due = unsafe try OpenSSLASN1.time(nextUpdate)
        defer { unsafe ASN1_TIME_free(due) }
        let added =
            switch status {
            case .good:
                unsafe OCSP_basic_add1_status(
                    response, identifier, V_OCSP_CERTSTATUS_GOOD, 0, nil, updated, due)
            case .unknown:
                unsafe OCSP_basic_add1_status(
                    response, identifier, V_OCSP_CERTSTATUS_UNKNOWN, 0, nil, updated, due)
            case .revoked(let date, let reason):
                unsafe try Self.withTime(date) { revoked in
                    unsafe OCSP_basic_add1_status(
                        response, identifier, V_OCSP_CERTSTATUS_REVOKED,
                        CInt(reason ?? Int(OCSP_REVOKED_STATUS_NOSTATUS)), revoked, updated, due)
                }
            }
        guard unsafe added != nil else { throw .draining(.unencodable, "writing a status") }
    }

    private static func withTime<Result>(
        _ date: Date, _ body: (UnsafeMutablePointer<ASN1_TIME>) -> Result
    ) throws(CertificateError) -> Result {
        let time = unsafe try OpenSSLASN1.time(date)
        defer { unsafe ASN1_TIME_free(time) }
        return unsafe body(time)
    }

    /// Signs a C response (`OCSP_BASICRESP`), which the caller still owns, and encodes the whole OCSPResponse.
    private func sign(
        _ basicResponse: OpaquePointer, _ digest: SignatureDigest?
    ) throws(CertificateError) -> [UInt8] {
        let flags = UInt(OCSP_RESPID_KEY) | UInt(OCSP_NOTIME)
        let signed = unsafe try certificate.withPointer { certificate in
            unsafe privateKey.withPointer { key in
                unsafe OCSP_basic_sign(basicResponse, certificate, key, digest?.pointer, nil, flags)
            }
        }
        guard signed == 1 else { throw .draining(.unsignable, "signing a status response") }
        guard let response = unsafe OCSP_response_create(CInt(OCSP_RESPONSE_STATUS_SUCCESSFUL), basicResponse)
        else { throw .draining(.unencodable, "writing a status response") }
        defer { unsafe OCSP_RESPONSE_free(response) }
        return unsafe OpenSSLASN1.der(response) { unsafe i2d_OCSP_RESPONSE($0, $1) }
    }
}
