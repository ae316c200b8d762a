internal import COpenSSL

/// The callbacks of OpenSSL's verifier during one run. They record its errors, restrict it to one path, and record
/// which revocation lists it uses. An observer is used by one thread, for one run.
@safe final class VerifierObserver {
    /// Every error, in the order of discovery.
    private(set) var problems: [Verification.Problem] = []
    /// A list in which a certificate was looked up, its signer, and the certificate's entry. The caller of the verifier
    /// owns the pointers.
    typealias Lookup = (list: OpaquePointer, signer: OpaquePointer?, revocation: CertificateRevocation?)

    /// The lookups, keyed by the certificate's depth.
    private(set) var consulted: [Int: [Lookup]] = unsafe [:]

    /// The issuer of each certificate of the path.
    private var issuers: [OpaquePointer: OpaquePointer] = unsafe [:]
    /// The owner of the lists that the verifier uses.
    private let objects: VerificationObjects

    /// Creates an observer of a run with lists of `objects`.
    init(_ objects: VerificationObjects) { self.objects = objects }

    /// Restricts the verifier to this path, leaf first.
    func pin(_ path: [OpaquePointer]) {
        unsafe issuers = unsafe Dictionary(zip(path, path.dropFirst())) { first, _ in unsafe first }
    }

    /// Sets the callbacks of a store. Only one run may use the store, and no context may exist yet.
    static func attach(to store: OpaquePointer?) {
        unsafe X509_STORE_set_check_issued(store) { unsafe VerifierObserver.mayIssue($0, $1, $2) }
        unsafe X509_STORE_set_cert_crl(store) { unsafe VerifierObserver.lookUp($0, $1, $2) }
        unsafe X509_STORE_set_check_revocation(store) { unsafe VerifierObserver.checkRevocation($0) }
    }

    /// Records the errors of a context. The observer must outlive the verification.
    func watch(_ context: OpaquePointer?) {
        // Index 0 is the slot that OpenSSL reserves for its caller (X509_STORE_CTX_set_app_data).
        unsafe X509_STORE_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(self).toOpaque())
        unsafe X509_STORE_CTX_set_verify_cb(context) { unsafe VerifierObserver.note($0, $1) }
    }

    /// Adds an error, unless it is a duplicate.
    func add(_ code: Int, depth: Int, subject: DistinguishedName?) {
        let reason = unsafe X509_verify_cert_error_string(code).map { unsafe String(cString: $0) } ?? ""
        let problem = Verification.Problem(code: code, reason: reason, depth: depth, subject: subject)
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// The observer of a context; nil for the context that OpenSSL creates to verify the signer of a revocation list.
    private static func observer(of context: OpaquePointer?) -> VerifierObserver? {
        guard let context = unsafe context else { return nil }
        return unsafe X509_STORE_CTX_get_ex_data(context, 0).map {
            unsafe Unmanaged<VerifierObserver>.fromOpaque($0).takeUnretainedValue()
        }
    }

    // MARK: - Callbacks

    /// OpenSSL's verify callback: records the error and lets the verifier continue.
    private static func note(_ isFine: CInt, _ context: OpaquePointer?) -> CInt {
        guard isFine == 0 else { return isFine }
        if unsafe isLastSecond(context) { return 1 }
        // The signer of a revocation list must be valid without any error.
        guard let observer = unsafe observer(of: context) else { return 0 }
        let code = unsafe X509_STORE_CTX_get_error(context)
        let certificate = unsafe X509_STORE_CTX_get_current_cert(context)
        let subject = unsafe certificate.map {
            unsafe DistinguishedName(reading: X509_get_subject_name($0))
        }
        observer.add(
            Int(code), depth: unsafe Int(X509_STORE_CTX_get_error_depth(context)), subject: subject)
        return code == X509_V_ERR_OUT_OF_MEM || code == X509_V_ERR_UNSPECIFIED ? 0 : 1
    }

    /// A verify callback that accepts a certificate in the last second of its validity period, and no other error.
    static func acceptLastSecond(_ isFine: CInt, _ context: OpaquePointer?) -> CInt {
        unsafe isFine != 0 || isLastSecond(context) ? 1 : 0
    }

    /// Whether the error is that a certificate or list ends in the second of the verification. RFC 5280 4.1.2.5 and
    /// 5.1.2.5 include that second; OpenSSL excludes it (X509_cmp_time(3)).
    private static func isLastSecond(_ context: OpaquePointer?) -> Bool {
        let end: UnsafePointer<ASN1_TIME>?
        switch unsafe X509_STORE_CTX_get_error(context) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            unsafe end = unsafe X509_STORE_CTX_get_current_cert(context).flatMap {
                unsafe X509_get0_notAfter($0)
            }
        case X509_V_ERR_CRL_HAS_EXPIRED:
            unsafe end = unsafe X509_STORE_CTX_get0_current_crl(context).flatMap {
                unsafe X509_CRL_get0_nextUpdate($0)
            }
        default: return false
        }
        guard let end = unsafe end else { return false }
        let now = unsafe X509_VERIFY_PARAM_get_time(X509_STORE_CTX_get0_param(context))
        return unsafe ASN1_TIME_cmp_time_t(end, now) == 0
    }

    /// OpenSSL's check_issued callback: whether `issuer` may be the issuer of `certificate`.
    ///
    /// On a given path, the next certificate is the issuer if its name matches. The key identifiers are ignored: they
    /// help to find paths and are not part of validation (RFC 5280 4.2.1.1).
    private static func mayIssue(
        _ context: OpaquePointer?, _ certificate: OpaquePointer?, _ issuer: OpaquePointer?
    ) -> CInt {
        guard let certificate = unsafe certificate, let issuer = unsafe issuer else { return 0 }
        guard let issuers = unsafe observer(of: context)?.issuers, unsafe certificate != issuer else {
            return unsafe Defaults.standard.mayIssue?(context, certificate, issuer) ?? 0
        }
        guard unsafe issuers[certificate] == issuer else { return 0 }
        let difference = unsafe X509_NAME_cmp(
            X509_get_subject_name(issuer), X509_get_issuer_name(certificate))
        return difference == 0 ? 1 : 0
    }

    /// OpenSSL's cert_crl callback: looks up a certificate in a list and records the lookup.
    private static func lookUp(
        _ context: OpaquePointer?, _ list: OpaquePointer?, _ certificate: OpaquePointer?
    ) -> CInt {
        let verdict = unsafe Defaults.standard.lookUp?(context, list, certificate) ?? 0
        guard let observer = unsafe observer(of: context), let list = unsafe list,
            let decoded = unsafe observer.objects.list(list)
        else { return verdict }
        let depth = unsafe Int(X509_STORE_CTX_get_error_depth(context))
        let subject = unsafe certificate.flatMap { unsafe observer.objects.certificate($0) }
        let entry = subject.flatMap { observer.objects.entry(of: $0, in: decoded) }
        let revocation: CertificateRevocation? = if case .revoked(let found)? = entry { found } else { nil }
        let signer = unsafe X509_STORE_CTX_get0_current_issuer(context)
        unsafe observer.consulted[depth, default: []].append((list, signer, revocation))
        // OpenSSL returns 2 for removeFromCRL, also if another entry revokes the certificate.
        guard verdict == 2, revocation != nil else { return verdict }
        observer.add(Int(X509_V_ERR_CERT_REVOKED), depth: depth, subject: subject?.subject)
        return 1
    }

    /// OpenSSL's check_revocation callback, which requires a list for each certificate of the path, or of the path of a
    /// list's signer.
    ///
    /// It requires none for the signer if it is another key of an authority of the path, certified with its own key, and if
    /// its status is only in the authority's lists. OpenSSL does not use lists of that key for the key's own certificate.
    /// ``RevocationSearch`` finds revocations by the first key.
    private static func checkRevocation(_ context: OpaquePointer?) -> CInt {
        if let observer = unsafe observer(of: X509_STORE_CTX_get0_parent_ctx(context)) {
            let chain = unsafe OpenSSLASN1.elements(X509_STORE_CTX_get0_chain(context)).map {
                OpaquePointer($0)
            }
            if unsafe chain.count > 1, unsafe observer.issuers.values.contains(chain[1]),
                let signer = unsafe observer.objects.certificate(chain[0]),
                observer.objects.hasStatusOnlyInOwnLists(signer)
            {
                return 1
            }
        }
        return unsafe Defaults.standard.checkRevocation?(context) ?? 0
    }

    /// OpenSSL's own functions, to which the callbacks delegate.
    ///
    /// `@unchecked Sendable`: they are functions of the library, set once, without state.
    @unsafe private struct Defaults: @unchecked Sendable {
        let mayIssue: X509_STORE_CTX_check_issued_fn?
        let lookUp: X509_STORE_CTX_cert_crl_fn?
        let checkRevocation: X509_STORE_CTX_check_revocation_fn?

        static let standard = unsafe Defaults()

        /// Reads the functions from a new context, which has the library's defaults because no callbacks were set.
        private init() {
            let store = unsafe X509_STORE_new()
            defer { unsafe X509_STORE_free(store) }
            let context = unsafe X509_STORE_CTX_new()
            defer { unsafe X509_STORE_CTX_free(context) }
            unsafe X509_STORE_CTX_init(context, store, nil, nil)
            unsafe mayIssue = unsafe X509_STORE_CTX_get_check_issued(context)
            unsafe lookUp = unsafe X509_STORE_CTX_get_cert_crl(context)
            unsafe checkRevocation = unsafe X509_STORE_CTX_get_check_revocation(context)
        }
    }
}
