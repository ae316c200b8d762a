internal import COpenSSL
package import Foundation

extension CertificateIssuer {
    /// Answers a request, signed by this issuer, which is named by its key.
    ///
    /// The request's nonce comes back; parts of a second are dropped from the times.
    ///
    /// - Parameters:
    ///   - status: the status of each certificate that is asked for.
    ///   - thisUpdate: from when on it is known, and the moment of the answer.
    ///   - nextUpdate: until when it is good.
    /// - Returns: the response in DER.
    /// - Throws: `unencodable`, `unsignable`.
    package func statusResponse(
        to request: OCSPRequest, thisUpdate: Date, nextUpdate: Date,
        status: (OCSPRequest.CertificateID) throws -> CertificateStatus
    ) throws -> [UInt8] {
        guard let answer = unsafe OCSP_BASICRESP_new() else {
            throw CertificateError.draining(.unencodable, "writing a status response")
        }
        defer { unsafe OCSP_BASICRESP_free(answer) }
        for identifier in request.certificates {
            let status = try status(identifier)
            unsafe try Self.add(
                status, of: identifier, to: answer, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        }
        let question = unsafe try request.makePointer()
        defer { unsafe OCSP_REQUEST_free(question) }
        guard unsafe OCSP_copy_nonce(answer, question) > 0,
            // OpenSSL has a reader for this field and would otherwise write the system's time into it.
            unsafe ASN1_GENERALIZEDTIME_set(
                UnsafeMutablePointer(mutating: OCSP_resp_get0_produced_at(answer)),
                Int(thisUpdate.timeIntervalSince1970.rounded(.down))) != nil
        else { throw CertificateError.draining(.unencodable, "writing a status response") }
        return unsafe try sign(answer)
    }

    private static func add(
        _ status: CertificateStatus, of identifier: OCSPRequest.CertificateID, to answer: OpaquePointer,
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
                    answer, identifier, V_OCSP_CERTSTATUS_GOOD, 0, nil, updated, due)
            case .unknown:
                unsafe OCSP_basic_add1_status(
                    answer, identifier, V_OCSP_CERTSTATUS_UNKNOWN, 0, nil, updated, due)
            case .revoked(let date, let reason):
                unsafe try Self.withTime(date) { revoked in
                    unsafe OCSP_basic_add1_status(
                        answer, identifier, V_OCSP_CERTSTATUS_REVOKED,
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

    private func sign(_ answer: OpaquePointer) throws(CertificateError) -> [UInt8] {
        let digest = SignatureDigest.standard(for: privateKey.type)
        let flags = UInt(OCSP_RESPID_KEY) | UInt(OCSP_NOTIME)
        let signed = unsafe try certificate.withPointer { certificate in
            unsafe privateKey.withPointer { key in
                unsafe OCSP_basic_sign(answer, certificate, key, digest?.pointer, nil, flags)
            }
        }
        guard signed == 1 else { throw .draining(.unsignable, "signing a status response") }
        guard let response = unsafe OCSP_response_create(CInt(OCSP_RESPONSE_STATUS_SUCCESSFUL), answer)
        else { throw .draining(.unencodable, "writing a status response") }
        defer { unsafe OCSP_RESPONSE_free(response) }
        return unsafe OpenSSLASN1.der(response) { unsafe i2d_OCSP_RESPONSE($0, $1) }
    }
}
