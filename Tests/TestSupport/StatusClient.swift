internal import COpenSSL
package import Foundation

/// An OCSP client that uses only OpenSSL, for tests of the responder.
package enum StatusClient {
    /// The contents of a response, and whether it is authentic.
    package struct Answer: Sendable {
        /// The status of one certificate (RFC 6960 2.2).
        package enum Status: CInt, Sendable {
            case good, revoked, unknown
        }

        /// The response's own status (RFC 6960 4.2.1); 0 is a success.
        package var code: Int
        /// The status of each certificate in the order of the request; nil if it is missing.
        package var statuses: [Status?] = []
        /// The reason for a revocation (RFC 5280 5.3.1); nil if it is missing.
        package var reason: Int?
        /// When the certificate was revoked; nil if it was not.
        package var revoked: Date?
        /// When the responder signed the response.
        package var produced: Date?
        /// The most recent time at which the responder knew the status to be correct (RFC 6960 2.4).
        package var thisUpdate: Date?
        /// The time by which newer information will be available; nil if it is missing.
        package var nextUpdate: Date?
        /// Whether the trusted certificate authorizes the signer of the response.
        package var isAuthentic = false
        /// Whether request and response have the same nonce, or neither has one.
        package var hasSameNonce = false
    }

    /// The input is not a certificate, request or response.
    package struct Unreadable: Error {}

    /// Creates a request for certificates of one issuer (DER), given by their serial numbers (big-endian).
    ///
    /// - Throws: `Unreadable` if the issuer is not a certificate.
    package static func request(
        _ serialNumbers: [[UInt8]], of issuer: [UInt8], digest: String = "SHA1", nonce: [UInt8]? = nil
    ) throws -> [UInt8] {
        let certificate = unsafe try certificate(issuer)
        defer { unsafe X509_free(certificate) }
        let request = unsafe OCSP_REQUEST_new()
        defer { unsafe OCSP_REQUEST_free(request) }
        for serialNumber in serialNumbers {
            unsafe OCSP_request_add0_id(request, identifier(serialNumber, certificate, digest))
        }
        if var nonce { unsafe OCSP_request_add1_nonce(request, &nonce, CInt(nonce.count)) }
        return unsafe encode { unsafe i2d_OCSP_REQUEST(request, $0) }
    }

    /// Reads the response to a request with the same arguments.
    ///
    /// - Parameters:
    ///   - trusted: The only trusted certificate (DER); intermediates are those of `chain`.
    ///   - date: The time at which the signer's certificate must be valid.
    /// - Throws: `Unreadable`.
    package static func read(
        _ response: [UInt8], to request: [UInt8], _ serialNumbers: [[UInt8]], of issuer: [UInt8],
        digest: String = "SHA1", trusting trusted: [UInt8], chain: [[UInt8]] = [], at date: Date
    ) throws -> Answer {
        guard let decoded = unsafe decode(response, { unsafe d2i_OCSP_RESPONSE(nil, $0, $1) }),
            let question = unsafe decode(request, { unsafe d2i_OCSP_REQUEST(nil, $0, $1) })
        else { throw Unreadable() }
        defer {
            unsafe OCSP_RESPONSE_free(decoded)
            unsafe OCSP_REQUEST_free(question)
        }
        var answer = Answer(code: Int(unsafe OCSP_response_status(decoded)))
        guard let basic = unsafe OCSP_response_get1_basic(decoded) else { return answer }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        answer.produced = unsafe self.date(OCSP_resp_get0_produced_at(basic))
        // The result 1 means equal, and 2 means absent from both.
        answer.hasSameNonce = unsafe [1, 2].contains(OCSP_check_nonce(question, basic))
        let certificate = unsafe try certificate(issuer)
        defer { unsafe X509_free(certificate) }
        for serialNumber in serialNumbers {
            let identifier = unsafe identifier(serialNumber, certificate, digest)
            defer { unsafe OCSP_CERTID_free(identifier) }
            var (status, reason): (CInt, CInt) = (-1, -1)
            var times: (revoked: Time?, this: Time?, next: Time?) = (nil, nil, nil)
            let isFound = unsafe OCSP_resp_find_status(
                basic, identifier, &status, &reason, &times.revoked, &times.this, &times.next)
            answer.statuses.append(isFound == 1 ? Answer.Status(rawValue: status) : nil)
            if reason >= 0 { answer.reason = Int(reason) }
            answer.revoked = unsafe times.revoked.flatMap { unsafe self.date($0) } ?? answer.revoked
            answer.thisUpdate = unsafe times.this.flatMap { unsafe self.date($0) }
            answer.nextUpdate = unsafe times.next.flatMap { unsafe self.date($0) }
        }
        answer.isAuthentic = unsafe try verify(basic, trusted, [issuer] + chain, date)
        return answer
    }

    private typealias Time = UnsafeMutablePointer<ASN1_GENERALIZEDTIME>

    private static func verify(
        _ basic: OpaquePointer, _ trusted: [UInt8], _ chain: [[UInt8]], _ date: Date
    ) throws -> Bool {
        let store = unsafe X509_STORE_new()
        defer { unsafe X509_STORE_free(store) }
        let anchor = unsafe try certificate(trusted)
        unsafe X509_STORE_add_cert(store, anchor)
        unsafe X509_free(anchor)
        unsafe X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), Int(date.timeIntervalSince1970))
        let others = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_pop_free(others) { unsafe X509_free($0.map(OpaquePointer.init)) } }
        for der in chain {
            unsafe OPENSSL_sk_push(others, UnsafeRawPointer(try certificate(der)))
        }
        defer { ERR_clear_error() }
        return unsafe OCSP_basic_verify(basic, others, store, 0) == 1
    }

    private static func identifier(
        _ serialNumber: [UInt8], _ issuer: OpaquePointer, _ digest: String
    ) -> OpaquePointer? {
        let number = unsafe BN_bin2bn(serialNumber, CInt(serialNumber.count), nil)
        defer { unsafe BN_free(number) }
        let serial = unsafe BN_to_ASN1_INTEGER(number, nil)
        defer { unsafe ASN1_INTEGER_free(serial) }
        return unsafe OCSP_cert_id_new(
            EVP_get_digestbyname(digest), X509_get_subject_name(issuer), X509_get0_pubkey_bitstr(issuer),
            serial)
    }

    private static func certificate(_ der: [UInt8]) throws -> OpaquePointer {
        guard let certificate = unsafe decode(der, { unsafe d2i_X509(nil, $0, $1) }) else {
            throw Unreadable()
        }
        return unsafe certificate
    }

    private static func date(_ time: UnsafePointer<ASN1_GENERALIZEDTIME>?) -> Date? {
        var fields = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return unsafe Date(timeIntervalSince1970: TimeInterval(timegm(&fields)))
    }

    private static func decode(
        _ der: [UInt8], _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) -> OpaquePointer? {
        unsafe der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return unsafe read(&cursor, bytes.count)
        }
    }

    private static func encode(
        _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt
    ) -> [UInt8] {
        let count = write(nil)
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(max(count, 0))) { buffer, initialized in
            var cursor = buffer.baseAddress
            initialized = unsafe Int(max(write(&cursor), 0))
        }
    }
}
