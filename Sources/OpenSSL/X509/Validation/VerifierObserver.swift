internal import COpenSSL

/// What OpenSSL's verifier calls back during one run: takes its errors down, keeps it to one path, and notes which
/// revocation lists it uses. Used by one thread, inside one run.
@safe final class VerifierObserver {
    /// Every error, in the order found.
    private(set) var problems: [Verification.Problem] = []
    /// The lists that certificates were looked up in, by the certificate's depth; the pointers are the caller's.
    private(set) var consulted: [Int: [OpaquePointer]] = unsafe [:]

    /// For each certificate of the path the next one.
    private var issuers: [OpaquePointer: OpaquePointer] = unsafe [:]

    /// Allows no other path than this one, leaf first.
    func pin(_ path: [OpaquePointer]) {
        unsafe issuers = unsafe Dictionary(zip(path, path.dropFirst())) { first, _ in unsafe first }
    }

    /// Sets the callbacks of a store that only one run uses, before a context is made from it.
    static func attach(to store: OpaquePointer?) {
        unsafe X509_STORE_set_check_issued(store) { unsafe VerifierObserver.mayIssue($0, $1, $2) }
        unsafe X509_STORE_set_cert_crl(store) { unsafe VerifierObserver.lookUp($0, $1, $2) }
    }

    /// Takes down what a context complains about; the observer must outlive the verification.
    func watch(_ context: OpaquePointer?) {
        // Index 0 is the slot OpenSSL keeps for its caller (X509_STORE_CTX_set_app_data).
        unsafe X509_STORE_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(self).toOpaque())
        unsafe X509_STORE_CTX_set_verify_cb(context) { unsafe VerifierObserver.note($0, $1) }
    }

    /// Adds an error once.
    func add(_ code: Int, depth: Int, subject: DistinguishedName?) {
        let reason = unsafe X509_verify_cert_error_string(code).map { unsafe String(cString: $0) } ?? ""
        let problem = Verification.Problem(code: code, reason: reason, depth: depth, subject: subject)
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// The observer of a context; nil for the one that OpenSSL makes to verify the signer of a revocation list.
    private static func observer(of context: OpaquePointer?) -> VerifierObserver? {
        unsafe X509_STORE_CTX_get_ex_data(context, 0).map {
            unsafe Unmanaged<VerifierObserver>.fromOpaque($0).takeUnretainedValue()
        }
    }

    // MARK: - Callbacks

    /// OpenSSL's verify callback: notes the error and lets the verifier go on.
    private static func note(_ isFine: CInt, _ context: OpaquePointer?) -> CInt {
        guard isFine == 0 else { return isFine }
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

    /// OpenSSL's check_issued callback: whether `issuer` may stand above `certificate`.
    ///
    /// On a path that is given, the next certificate may if its name is right, whatever the key identifiers say:
    /// these help to find paths and are no part of validation (RFC 5280 4.2.1.1).
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

    /// OpenSSL's cert_crl callback: looks a certificate up in a list, and notes that.
    private static func lookUp(
        _ context: OpaquePointer?, _ list: OpaquePointer?, _ certificate: OpaquePointer?
    ) -> CInt {
        if let observer = unsafe observer(of: context), let list = unsafe list {
            let depth = unsafe Int(X509_STORE_CTX_get_error_depth(context))
            unsafe observer.consulted[depth, default: []].append(list)
        }
        return unsafe Defaults.standard.lookUp?(context, list, certificate) ?? 0
    }

    /// OpenSSL's own functions, which the callbacks go on to.
    ///
    /// `@unchecked Sendable`: they are functions of the library, set once, and hold no state.
    @unsafe private struct Defaults: @unchecked Sendable {
        let mayIssue: X509_STORE_CTX_check_issued_fn?
        let lookUp: X509_STORE_CTX_cert_crl_fn?

        static let standard = unsafe Defaults()

        /// A context without callbacks of its own has the library's.
        private init() {
            let store = unsafe X509_STORE_new()
            defer { unsafe X509_STORE_free(store) }
            let context = unsafe X509_STORE_CTX_new()
            defer { unsafe X509_STORE_CTX_free(context) }
            unsafe X509_STORE_CTX_init(context, store, nil, nil)
            unsafe mayIssue = unsafe X509_STORE_CTX_get_check_issued(context)
            unsafe lookUp = unsafe X509_STORE_CTX_get_cert_crl(context)
        }
    }
}
