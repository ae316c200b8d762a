internal import COpenSSL
internal import Foundation

/// One run of OpenSSL's verifier: the chain it built and every error it met.
struct VerifierRun {
    /// The chain, leaf first.
    let chain: [Certificate]
    /// Every error, in the order found.
    let problems: [Verification.Problem]
    /// Whether the chain reached a trust anchor, so that what is checked along it has been checked.
    let isComplete: Bool

    /// A run that could not start.
    init(failure: CertificateError) {
        chain = []
        problems = [
            .init(code: Int(X509_V_ERR_UNSPECIFIED), reason: failure.reason, depth: 0, subject: nil)
        ]
        isComplete = false
    }

    /// Verifies `leaf` as `verifier` asks.
    init(_ verifier: CertificateVerifier, _ leaf: Certificate, _ date: Date) throws(CertificateError) {
        let store = unsafe X509_STORE_new()
        defer { unsafe X509_STORE_free(store) }
        let context = unsafe X509_STORE_CTX_new_ex(LibraryContext.standard.pointer, nil)
        defer { unsafe X509_STORE_CTX_free(context) }
        let untrusted = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_pop_free(untrusted) { unsafe X509_free($0.map(OpaquePointer.init)) } }

        for anchor in verifier.trustAnchors {
            unsafe try anchor.withPointer { (pointer: OpaquePointer) throws(CertificateError) in
                unsafe _ = X509_STORE_add_cert(store, pointer)
            }
        }
        for list in verifier.revocationLists {
            let pointer = unsafe try list.makePointer()
            unsafe X509_STORE_add_crl(store, pointer)
            unsafe X509_CRL_free(pointer)
        }
        for intermediate in verifier.intermediates {
            unsafe try intermediate.withPointer { (pointer: OpaquePointer) throws(CertificateError) in
                unsafe X509_up_ref(pointer)
                unsafe _ = OPENSSL_sk_push(untrusted, UnsafeRawPointer(pointer))
            }
        }
        let collector = Collector()
        chain = unsafe try leaf.withPointer {
            (pointer: OpaquePointer) throws(CertificateError) -> [Certificate] in
            guard unsafe X509_STORE_CTX_init(context, store, pointer, untrusted) == 1 else {
                throw .draining(.malformed, "preparing to verify")
            }
            unsafe Self.configure(X509_STORE_CTX_get0_param(context), verifier, date)
            return withExtendedLifetime(collector) {
                // Index 0 is the slot OpenSSL keeps for its caller (X509_STORE_CTX_set_app_data).
                unsafe X509_STORE_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(collector).toOpaque())
                unsafe X509_STORE_CTX_set_verify_cb(context) { unsafe Collector.note($0, $1) }
                let verdict = unsafe X509_verify_cert(context)
                if verdict < 0 { collector.add(Int(X509_V_ERR_UNSPECIFIED), depth: 0, subject: nil) }
                return unsafe OpenSSLASN1.elements(X509_STORE_CTX_get0_chain(context)).compactMap { element in
                    try? Certificate(
                        der: unsafe OpenSSLASN1.der(OpaquePointer(element)) { unsafe i2d_X509($0, $1) })
                }
            }
        }
        OpenSSLError.discardQueue()
        problems = collector.problems
        isComplete = !problems.contains { Self.incompleteness.contains(CInt($0.code)) }
    }

    /// A check that fails with the problems of its kind and was not made where the chain is incomplete.
    func check(_ kind: Verification.Kind, passed explanation: String) -> Verification.Check {
        let failures = problems.filter { $0.kind == kind }
        if !failures.isEmpty {
            return .init(kind, .failed, failures.map(\.description).joined(separator: "; "))
        }
        return isComplete
            ? .init(kind, .passed, explanation) : .init(kind, .notChecked, "the chain is incomplete")
    }

    private static let incompleteness: Set<CInt> = [
        X509_V_ERR_UNSPECIFIED, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
        X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
        X509_V_ERR_CERT_CHAIN_TOO_LONG, X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_OUT_OF_MEM,
    ]

    private static func configure(_ parameters: OpaquePointer?, _ verifier: CertificateVerifier, _ date: Date)
    {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(exactly: seconds) ?? (seconds < 0 ? .min : .max))
        var flags = 0
        if verifier.isStrict { flags |= Int(X509_V_FLAG_X509_STRICT) }
        if verifier.allowsPartialChain { flags |= Int(X509_V_FLAG_PARTIAL_CHAIN) }
        if !verifier.revocationLists.isEmpty {
            flags |= Int(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL)
        }
        if !verifier.acceptedPolicies.isEmpty {
            flags |= Int(X509_V_FLAG_POLICY_CHECK | X509_V_FLAG_EXPLICIT_POLICY)
            for policy in verifier.acceptedPolicies {
                guard let object = try? unsafe OpenSSLASN1.object(policy) else { continue }
                unsafe X509_VERIFY_PARAM_add0_policy(parameters, object)
            }
        }
        if let level = verifier.securityLevel {
            unsafe X509_VERIFY_PARAM_set_auth_level(parameters, CInt(clamping: level))
        }
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(flags))
    }

    /// Takes down what OpenSSL's verifier complains about. Used by one thread, inside one run.
    private final class Collector {
        private(set) var problems: [Verification.Problem] = []

        /// OpenSSL's verify callback: notes the error and lets the verifier go on.
        static func note(_ isFine: CInt, _ context: OpaquePointer?) -> CInt {
            guard isFine == 0 else { return isFine }
            guard let stored = unsafe X509_STORE_CTX_get_ex_data(context, 0) else { return 0 }
            let collector = unsafe Unmanaged<Collector>.fromOpaque(stored).takeUnretainedValue()
            let code = unsafe X509_STORE_CTX_get_error(context)
            let certificate = unsafe X509_STORE_CTX_get_current_cert(context)
            let subject = unsafe certificate.map {
                unsafe DistinguishedName(reading: X509_get_subject_name($0))
            }
            collector.add(
                Int(code), depth: unsafe Int(X509_STORE_CTX_get_error_depth(context)), subject: subject)
            return code == X509_V_ERR_OUT_OF_MEM || code == X509_V_ERR_UNSPECIFIED ? 0 : 1
        }

        func add(_ code: Int, depth: Int, subject: DistinguishedName?) {
            let reason = unsafe X509_verify_cert_error_string(code).map { unsafe String(cString: $0) } ?? ""
            let problem = Verification.Problem(code: code, reason: reason, depth: depth, subject: subject)
            if !problems.contains(problem) { problems.append(problem) }
        }
    }
}

extension Verification.Problem {
    /// Which check the error belongs to.
    var kind: Verification.Kind {
        switch CInt(truncatingIfNeeded: code) {
        case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED,
            X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD:
            .validity
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
            X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
            .nameConstraints
        case X509_V_ERR_INVALID_POLICY_EXTENSION, X509_V_ERR_NO_EXPLICIT_POLICY: .policies
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE,
            X509_V_ERR_CRL_SIGNATURE_FAILURE, X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_HAS_EXPIRED,
            X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD, X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD,
            X509_V_ERR_CERT_REVOKED, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER, X509_V_ERR_KEYUSAGE_NO_CRL_SIGN,
            X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION, X509_V_ERR_DIFFERENT_CRL_SCOPE,
            X509_V_ERR_CRL_PATH_VALIDATION_ERROR:
            .revocation
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .strength
        default: .chain
        }
    }
}
