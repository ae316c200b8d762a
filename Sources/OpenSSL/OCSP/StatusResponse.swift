internal import COpenSSL
package import Foundation

/// A response of the Online Certificate Status Protocol (RFC 6960 4.2), for example from a file.
///
/// The initializer only parses the response. ``finding(on:issuedBy:at:securityLevel:lists:_:)`` verifies the signature
/// and returns the status of one certificate.
package struct StatusResponse: Sendable, Hashable {
    /// The result of a response for one certificate.
    package enum Finding: Sendable, Hashable {
        /// The response contains no status of the certificate.
        case unrelated
        /// The response cannot be used; the text is the reason.
        case unusable(String)
        /// The status, and the start and the end of its validity. The end is nil if the response contains no
        /// nextUpdate.
        case status(CertificateStatus, thisUpdate: Date, nextUpdate: Date?)

        /// Whether the response revokes the certificate.
        var isRevocation: Bool {
            if case .status(.revoked, _, _) = self { true } else { false }
        }
    }

    /// The DER that the response was parsed from.
    package let der: [UInt8]
    /// The reason why the responder returned no status; nil if it returned one.
    package let refusal: String?
    /// The serial numbers of the certificates in the response, for a quick check before OpenSSL compares identifiers.
    private let serials: Set<[UInt8]>

    /// How long a status without nextUpdate is accepted, in seconds: one day. According to RFC 6960 4.2.2.1, a missing
    /// nextUpdate means that newer information is available all the time.
    private static let openEndedLife: TimeInterval = 86_400
    /// A responder's certificate must allow one of these key usages (RFC 5280 4.2.1.12, id-kp-OCSPSigning).
    private static let signingUsages = UInt32(KU_DIGITAL_SIGNATURE | KU_NON_REPUDIATION)

    /// Parses the DER of one response.
    ///
    /// - Throws: `CertificateError`: `malformed` if OpenSSL cannot decode the bytes, `trailingBytes` if data follows
    ///   the response or the statuses in it.
    package init(der: [UInt8]) throws(CertificateError) {
        let response = unsafe try Self.decode(der)
        defer { unsafe OCSP_RESPONSE_free(response) }
        let code = unsafe OCSP_response_status(response)
        if code == OCSP_RESPONSE_STATUS_SUCCESSFUL {
            let basic = unsafe try Self.decodeBasic(in: response)
            defer { unsafe OCSP_BASICRESP_free(basic) }
            serials = unsafe Self.serials(in: basic)
            refusal = nil
        } else {
            serials = []
            refusal = unsafe OCSP_response_status_str(CLong(code)).map { unsafe String(cString: $0) } ?? ""
        }
        self.der = der
        OpenSSLError.discardQueue()
    }

    /// Whether the response may contain the status of `certificate`, because it contains the serial number.
    package func mayBeAbout(_ certificate: Certificate) -> Bool {
        serials.contains(certificate.serialNumber)
    }

    /// The certificates of responders in the response that one of `authorities` issued and that seem to have signed the
    /// response. The signature of the response is not verified.
    package func responders(
        certifiedBy authorities: some Sequence<Certificate>, _ objects: VerificationObjects
    ) -> [Certificate] {
        defer { OpenSSLError.discardQueue() }
        guard objects.countResponse(octets: der.count), let response = unsafe try? Self.decode(der) else {
            return []
        }
        defer { unsafe OCSP_RESPONSE_free(response) }
        guard let basic = unsafe try? Self.decodeBasic(in: response) else { return [] }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        return authorities.compactMap { authority in
            guard let issuer = unsafe try? objects.pointer(authority),
                let responder = unsafe Self.responder(of: basic, issuer),
                let certificate = try? Certificate(
                    der: unsafe OpenSSLASN1.der(responder) { unsafe i2d_X509($0, $1) }),
                objects.isIssued(certificate, by: authority)
            else { return nil }
            return certificate
        }
    }

    /// Returns the result of the response for `certificate` as of `date`.
    ///
    /// The response must be signed by the issuer, or by a responder whose certificate the issuer signed for that
    /// purpose (RFC 6960 4.2.2.2). No nonce is required, because the response does not belong to a request.
    ///
    /// - Parameters:
    ///   - certificate: The certificate whose status is wanted.
    ///   - issuer: The certificate of its issuer.
    ///   - date: The time of the verification.
    ///   - securityLevel: The minimum strength of the responder's key and signature; nil for any. Those of a response that
    ///     revokes the certificate may be weaker.
    ///   - lists: The revocation lists and the other responses, which are searched for the responder's certificate; nil
    ///     if there are none. If it may be revoked, the response can only revoke `certificate`.
    ///   - objects: A cache of certificates that OpenSSL has already decoded.
    package func finding(
        on certificate: Certificate, issuedBy issuer: Certificate, at date: Date, securityLevel: Int?,
        lists: RevocationSearch? = nil, _ objects: VerificationObjects
    ) -> Finding {
        defer { OpenSSLError.discardQueue() }
        if refusal == nil, !mayBeAbout(certificate) { return .unrelated }
        if let refusal { return .unusable("the responder returned no status (\(refusal))") }
        guard objects.countResponse(octets: der.count) else {
            return .unusable("verifying the responses takes too long")
        }
        guard let response = unsafe try? Self.decode(der) else { return .unusable("it cannot be decoded") }
        defer { unsafe OCSP_RESPONSE_free(response) }
        guard let basic = unsafe try? Self.decodeBasic(in: response) else {
            return .unusable("it cannot be decoded")
        }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        guard let subject = unsafe try? objects.pointer(certificate),
            let authority = unsafe try? objects.pointer(issuer)
        else { return .unusable("the certificate cannot be decoded") }
        let answers = unsafe Self.answers(on: subject, authority, in: basic)
        guard unsafe !answers.isEmpty else { return .unrelated }
        let responder = unsafe Self.responder(of: basic, authority)
        // Anyone can put any certificate into a response, and verifying with its key can take milliseconds. So the
        // issuer's signature of the certificate is verified first.
        if let responder = unsafe responder, unsafe !Self.isIssued(responder, by: issuer, objects) {
            return .unusable("it was not signed by the issuer or an authorized responder")
        }
        // A response can contain several statuses of a certificate. Any of them can revoke it.
        let findings = unsafe answers.map { unsafe Self.finding($0, at: date) }
        let finding = findings.first(where: \.isRevocation) ?? findings[0]
        let level = finding.isRevocation ? nil : securityLevel
        if let fault = unsafe Self.fault(of: basic, authority, date, level) {
            return .unusable(fault)
        }
        let review = unsafe responder.map { unsafe Self.review($0, of: certificate, securityLevel, lists) }
        if let fault = review?.fault { return .unusable(fault) }
        if let oid = unsafe answers.lazy.compactMap({ unsafe Self.unknownCriticalExtension(of: basic, $0) })
            .first
        {
            return .unusable("its critical extension \(oid) is unknown")
        }
        let digest = unsafe DigestStrength.digest(of: OCSP_resp_get0_tbs_sigalg(basic))
        if case .status(.good, _, _) = finding,
            let weakness = review?.doubt ?? DigestStrength.weakness(ofDigest: digest, below: securityLevel)
        {
            return .unusable(weakness)
        }
        return finding
    }

    /// Returns the serial numbers of the certificates in a response, in the form of ``Certificate/serialNumber``.
    private static func serials(in basic: OpaquePointer) -> Set<[UInt8]> {
        var serials: Set<[UInt8]> = []
        for index in unsafe 0..<max(0, OCSP_resp_count(basic)) {
            let identifier = unsafe OCSP_SINGLERESP_get0_id(OCSP_resp_get0(basic, index))
            var serial: UnsafeMutablePointer<ASN1_INTEGER>?
            guard unsafe OCSP_id_get0_info(nil, nil, nil, &serial, identifier) == 1
            else { continue }
            unsafe serials.insert(OpenSSLASN1.octets(serial))
        }
        return serials
    }

    /// Returns the certificate of the responder that signed a response (`X509`, owned by the response); nil if the
    /// issuer signed it.
    private static func responder(of basic: OpaquePointer, _ authority: OpaquePointer) -> OpaquePointer? {
        let others = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(others) }
        unsafe OPENSSL_sk_push(others, UnsafeRawPointer(authority))
        var signer: OpaquePointer?
        guard unsafe OCSP_resp_get0_signer(basic, &signer, others) == 1, let signer = unsafe signer,
            unsafe X509_cmp(signer, authority) != 0
        else { return nil }
        return unsafe signer
    }

    /// Whether the issuer signed the certificate of a responder.
    private static func isIssued(
        _ responder: OpaquePointer, by issuer: Certificate, _ objects: VerificationObjects
    ) -> Bool {
        let der = unsafe OpenSSLASN1.der(responder) { unsafe i2d_X509($0, $1) }
        return (try? Certificate(der: der)).map { objects.isIssued($0, by: issuer) } ?? false
    }

    /// Returns the reason why a responder must not sign responses; nil if it may.
    ///
    /// If its certificate restricts the use of its key, it must allow signatures (RFC 5280 4.2.1.3, 4.2.1.12). This does
    /// not apply to the issuer, which may always sign responses (RFC 6960 4.2.2.2).
    private static func fault(ofResponder responder: OpaquePointer) -> String? {
        unsafe X509_get_key_usage(responder) & signingUsages == 0
            ? "the key usage of its responder lacks digitalSignature" : nil
    }

    /// Reviews the certificate of a responder. With a fault, the response cannot be used. With a doubt, it can only revoke
    /// `certificate`.
    ///
    /// The extension id-pkix-ocsp-nocheck exempts a responder from the search for its revocation while its certificate is
    /// valid (RFC 6960 4.2.2.2.1). If neither a list nor a response covers the certificate of another responder, it is
    /// accepted; RFC 6960 leaves that open.
    private static func review(
        _ responder: OpaquePointer, of certificate: Certificate, _ securityLevel: Int?,
        _ lists: RevocationSearch?
    ) -> (fault: String?, doubt: String?) {
        if let fault = unsafe fault(ofResponder: responder) { return (fault, nil) }
        let der = unsafe OpenSSLASN1.der(responder) { unsafe i2d_X509($0, $1) }
        guard let signer = try? Certificate(der: der) else {
            return ("its responder's certificate cannot be decoded", nil)
        }
        // A stolen key would show that its own certificate is not revoked.
        if signer.publicKey == certificate.publicKey {
            return (nil, "it was signed with the key of the certificate itself")
        }
        if let weakness = signer.publicKey.exponentWeakness(below: securityLevel) {
            return (nil, "its responder has a weak key: \(weakness)")
        }
        guard let lists, unsafe X509_get_ext_by_NID(responder, NID_id_pkix_OCSP_noCheck, -1) < 0 else {
            return (nil, nil)
        }
        return switch lists.status(of: signer) {
        case .notRevoked: (nil, nil)
        case .revoked: ("its responder's certificate is revoked (\(signer.subject))", nil)
        case .unknown(let reason): (nil, "its responder may be revoked: \(reason)")
        }
    }

    /// Returns the statuses of a certificate in a response (`OCSP_SINGLERESP`, owned by the response).
    private static func answers(
        on certificate: OpaquePointer, _ issuer: OpaquePointer, in basic: OpaquePointer
    ) -> [OpaquePointer] {
        var answers: [OpaquePointer] = unsafe []
        // An identifier contains a digest of the issuer's name, which can be long.
        var expected: [CInt: OpaquePointer] = unsafe [:]
        defer { unsafe expected.values.forEach { unsafe OCSP_CERTID_free($0) } }
        for index in unsafe 0..<max(0, OCSP_resp_count(basic)) {
            let single = unsafe OCSP_resp_get0(basic, index)
            guard let single = unsafe single, let identifier = unsafe OCSP_SINGLERESP_get0_id(single) else {
                continue
            }
            var algorithm: OpaquePointer?
            unsafe OCSP_id_get0_info(nil, &algorithm, nil, nil, identifier)
            let type = unsafe OBJ_obj2nid(algorithm)
            if unsafe expected[type] == nil {
                guard let name = unsafe OBJ_nid2sn(type), let digest = unsafe EVP_get_digestbyname(name)
                else { continue }
                unsafe expected[type] = unsafe OCSP_cert_to_id(digest, certificate, issuer)
            }
            if let own = unsafe expected[type], unsafe OCSP_id_cmp(identifier, own) == 0 {
                unsafe answers.append(single)
            }
        }
        return unsafe answers
    }

    /// Returns the reason why the response's signature is rejected; nil if the issuer or its responder signed.
    private static func fault(
        of basic: OpaquePointer, _ issuer: OpaquePointer, _ date: Date, _ securityLevel: Int?
    ) -> String? {
        let store = unsafe X509_STORE_new()
        defer { unsafe X509_STORE_free(store) }
        // Only the issuer is trusted, so the responder must be the issuer or certified by it.
        unsafe X509_STORE_add_cert(store, issuer)
        unsafe X509_STORE_set_verify_cb(store) { unsafe VerifierObserver.acceptLastSecond($0, $1) }
        let parameters = unsafe X509_STORE_get0_param(store)
        let seconds = date.timeIntervalSince1970.rounded(.down)
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(exactly: seconds) ?? (seconds < 0 ? .min : .max))
        if let securityLevel {
            unsafe X509_VERIFY_PARAM_set_auth_level(parameters, CInt(clamping: securityLevel))
        }
        let certificates = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(certificates) }
        unsafe OPENSSL_sk_push(certificates, UnsafeRawPointer(issuer))
        // The certificates in the response have no loaded keys, so a responder's certificate is decoded again.
        var signer: OpaquePointer?
        unsafe OCSP_resp_get0_signer(basic, &signer, certificates)
        let responder = unsafe signer == issuer ? nil : signer.flatMap { unsafe loading($0) }
        defer { unsafe X509_free(responder) }
        if let responder = unsafe responder {
            unsafe OPENSSL_sk_push(certificates, UnsafeRawPointer(responder))
        }
        OpenSSLError.discardQueue()
        let flags = UInt(OCSP_PARTIAL_CHAIN | OCSP_NOINTERN)
        guard unsafe OCSP_basic_verify(basic, certificates, store, flags) != 1 else { return nil }
        let cause = OpenSSLError.draining("verifying a status response")
        let reason = cause.queue.last.map { $0.detail.isEmpty ? $0.reason : "\($0.reason): \($0.detail)" }
        return "it was not signed by the issuer or an authorized responder (\(reason ?? "no reason"))"
    }

    /// Decodes a certificate of the response (`X509`) with its key. The caller frees the result.
    private static func loading(_ certificate: OpaquePointer) -> OpaquePointer? {
        let der = unsafe OpenSSLASN1.der(certificate) { unsafe i2d_X509($0, $1) }
        return unsafe try? Certificate(der: der).makePointer()
    }

    private static func finding(_ single: OpaquePointer, at date: Date) -> Finding {
        var reason: CInt = 0
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var made: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var due: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = unsafe OCSP_single_get0_status(single, &reason, &revoked, &made, &due)
        guard let thisUpdate = unsafe OpenSSLASN1.date(made) else {
            return .unusable("its thisUpdate time is invalid")
        }
        let nextUpdate = unsafe OpenSSLASN1.date(due)
        if unsafe due != nil, nextUpdate == nil { return .unusable("its nextUpdate time is invalid") }
        if thisUpdate > date {
            return .unusable("it is dated \(thisUpdate.ISO8601Format()), which is in the future")
        }
        let end = nextUpdate ?? thisUpdate + openEndedLife
        let known =
            status == V_OCSP_CERTSTATUS_REVOKED && reason != OCSP_REVOKED_STATUS_NOSTATUS ? Int(reason) : nil
        // Only a hold can be lifted later.
        let isFinal = status == V_OCSP_CERTSTATUS_REVOKED && known != Int(CRL_REASON_CERTIFICATE_HOLD)
        if end < date, !isFinal { return .unusable("it expired on \(end.ISO8601Format())") }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD:
            return .status(.good, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        case V_OCSP_CERTSTATUS_REVOKED:
            let since = unsafe OpenSSLASN1.date(revoked) ?? thisUpdate
            return .status(.revoked(since, reason: known), thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        default:
            return .status(.unknown, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        }
    }
}
