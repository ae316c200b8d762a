internal import Diagnostics
internal import COpenSSL
internal import Foundation

/// One run of OpenSSL's verifier: the resulting chain and all errors.
struct VerifierRun {
    /// The input of the verifier.
    struct Input {
        /// The certificate to verify.
        var leaf: Certificate
        /// The trust anchors.
        var anchors: [Certificate]
        /// The other certificates of the chain, and those that may have signed a revocation list.
        var untrusted: [Certificate]
        /// The whole chain, leaf first. OpenSSL uses no other certificate.
        var path: [Certificate]
        /// The lists that may cover a certificate of the chain.
        var lists: [EncodedRevocationList]
        /// Whether each certificate requires a list, even if `lists` is empty.
        var requiresLists: Bool
        /// The time of the verification.
        var date: Date
    }

    /// The chain, leaf first.
    private(set) var chain: [Certificate] = []
    /// Every error, in the order of discovery.
    private(set) var problems: [Verification.Problem] = []
    /// The policies that are valid at each certificate of the chain, leaf first, dotted; empty for certificates that
    /// the verifier did not reach.
    private(set) var policies: [[String]] = []
    /// The required policies for which the chain is valid; anyPolicy if it is valid for all.
    private(set) var acceptedPolicies: [String] = []
    /// A list in which a certificate was looked up, its signer, and the certificate's entry.
    typealias Lookup = (
        list: EncodedRevocationList, signer: Certificate?, revocation: CertificateRevocation?
    )

    /// The lookups, keyed by the certificate's depth in the chain.
    private(set) var consulted: [Int: [Lookup]] = [:]
    /// Whether the chain reached a trust anchor. If not, the checks along the chain are incomplete.
    private(set) var isComplete = false
    /// Whether the verifier was not called, because it would take too long.
    private(set) var isRefused = false

    /// Creates a run that could not start.
    init(failure: CertificateError) {
        problems = [
            .init(code: Int(X509_V_ERR_UNSPECIFIED), reason: failure.description, depth: 0, subject: nil)
        ]
    }

    /// The reason not to verify a path, because it would take too long, as an error of OpenSSL's verifier; nil if there is
    /// none.
    private static func refusal(
        of input: Input, _ objects: VerificationObjects
    ) -> Verification.Problem? {
        let signers = input.untrusted.filter { !input.path.contains($0) }
        let comparisons = objects.nameComparisons(on: input.path, listSigners: signers)
        if comparisons > CertificateVerifier.mostNameComparisons {
            // OpenSSL limits the comparisons only for each pair of certificates.
            return .init(
                code: Int(X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX),
                reason: "the path requires more than \(CertificateVerifier.mostNameComparisons) "
                    + "comparisons of names with name constraints, which is too many",
                depth: 0, subject: nil)
        }
        return input.path.first(where: objects.hasTooManyPolicies).map { certificate in
            .init(
                code: Int(X509_V_ERR_INVALID_POLICY_EXTENSION),
                reason: "\(certificate.subject) has more than \(CertificateVerifier.mostPolicies) "
                    + "policies or policy mappings, which is too many",
                depth: 0, subject: nil)
        }
    }

    /// Verifies `input` with the settings of `verifier`. Decoded objects are cached in `objects`.
    ///
    /// - Throws: `malformed`, `trailingBytes` if a certificate or list cannot be decoded.
    init(
        _ verifier: CertificateVerifier, _ input: Input, _ objects: VerificationObjects
    ) throws(CertificateError) {
        if let refusal = Self.refusal(of: input, objects) {
            (isRefused, chain, problems) = (true, input.path, [refusal])
            return
        }
        let store = unsafe X509_STORE_new()
        defer { unsafe X509_STORE_free(store) }
        let context = unsafe X509_STORE_CTX_new_ex(LibraryContext.standard.pointer, nil)
        // The stacks only borrow the objects that `objects` owns.
        let untrusted = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(untrusted) }
        let lists = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(lists) }
        defer { unsafe X509_STORE_CTX_free(context) }

        for anchor in input.anchors { unsafe X509_STORE_add_cert(store, try objects.pointer(anchor)) }
        for certificate in input.untrusted {
            unsafe OPENSSL_sk_push(untrusted, UnsafeRawPointer(try objects.pointer(certificate)))
        }
        for list in input.lists {
            unsafe OPENSSL_sk_push(lists, UnsafeRawPointer(try objects.pointer(list)))
        }
        let observer = VerifierObserver(objects)
        unsafe try observer.pin(
            input.path.map { (item) throws(CertificateError) in unsafe try objects.pointer(item) })
        unsafe VerifierObserver.attach(to: store)
        let leaf = unsafe try objects.pointer(input.leaf)
        guard unsafe X509_STORE_CTX_init(context, store, leaf, untrusted) == 1 else {
            throw .draining(.malformed, "preparing to verify")
        }
        if input.requiresLists { unsafe X509_STORE_CTX_set0_crls(context, lists) }
        unsafe Self.configure(X509_STORE_CTX_get0_param(context), verifier, input)
        withExtendedLifetime(observer) {
            unsafe observer.watch(context)
            let verdict = unsafe X509_verify_cert(context)
            if verdict < 0 {
                let code = unsafe X509_STORE_CTX_get_error(context)
                observer.add(
                    // The verifier stops with this error if a policy tree exceeds its limit (CVE-2023-0464).
                    Int(code == X509_V_ERR_OUT_OF_MEM ? code : X509_V_ERR_UNSPECIFIED), depth: 0, subject: nil
                )
            }
        }
        unsafe readResults(of: context, observer, verifier, objects)
        discardForeignLists(input, objects)
        discardListsOfOtherPoints(objects)
    }

    /// Stores the results of the verifier, which still owns the chain and the policies.
    private mutating func readResults(
        of context: OpaquePointer?, _ observer: VerifierObserver, _ verifier: CertificateVerifier,
        _ objects: VerificationObjects
    ) {
        chain = unsafe OpenSSLASN1.elements(X509_STORE_CTX_get0_chain(context)).compactMap {
            unsafe objects.certificate(OpaquePointer($0))
        }
        OpenSSLError.discardQueue()
        isComplete = !observer.problems.contains { Self.incompleteness.contains(CInt($0.code)) }
        unsafe readPolicies(X509_STORE_CTX_get0_policy_tree(context))
        consulted = unsafe observer.consulted.mapValues {
            unsafe $0.compactMap { item in
                unsafe objects.list(item.list).map {
                    unsafe ($0, item.signer.flatMap(objects.certificate), item.revocation)
                }
            }
        }
        let revocations = unsafe observer.consulted.compactMapValues {
            unsafe $0.lazy.compactMap { unsafe $0.revocation }.first
        }
        let review = PathReview(chain, verifier, revocations, objects)
        problems =
            review.inPlainWords(observer.problems)
            + (isComplete ? review.furtherProblems(than: observer.problems) : [])
    }

    /// Replaces the errors of lists with the error that no list was found, for each certificate whose issuers have no
    /// list in `input`. OpenSSL reports the defects of any other list instead, for example of an indirect list.
    private mutating func discardForeignLists(_ input: Input, _ objects: VerificationObjects) {
        guard input.requiresLists else { return }
        let signers = Set(input.lists.map(\.issuerKey))
        for depth in chain.indices {
            let keys = objects.listSignerKeys(of: chain[depth])
            let own = problems.filter { $0.kind == .revocation && $0.depth == depth }
            guard signers.isDisjoint(with: keys), own.contains(where: { !$0.isMissingList }),
                !own.contains(where: \.isRevoked)
            else { continue }
            consulted[depth] = nil
            problems.removeAll { $0.kind == .revocation && $0.depth == depth }
            let code = Int(X509_V_ERR_UNABLE_TO_GET_CRL)
            let reason =
                unsafe X509_verify_cert_error_string(code).map { unsafe String(cString: $0) } ?? ""
            problems.append(.init(code: code, reason: reason, depth: depth, subject: chain[depth].subject))
        }
    }

    /// Replaces each lookup in a list of another distribution point with the error that the list has a different scope. A
    /// revocation remains.
    private mutating func discardListsOfOtherPoints(_ objects: VerificationObjects) {
        for depth in chain.indices {
            let lookups = consulted[depth] ?? []
            let rest = lookups.filter {
                $0.revocation != nil || !objects.isOfOtherPoint($0.list, than: chain[depth])
            }
            guard rest.count < lookups.count else { continue }
            consulted[depth] = rest
            problems.append(
                .init(
                    code: Int(X509_V_ERR_DIFFERENT_CRL_SCOPE),
                    reason: "the list belongs to another distribution point", depth: depth,
                    subject: chain[depth].subject))
        }
    }

    /// Adds the error that a list that covers the certificate at a depth is unusable.
    mutating func addUnusableList(_ reason: String, at depth: Int) {
        let problem = Verification.Problem(
            code: Int(X509_V_ERR_CRL_PATH_VALIDATION_ERROR),
            reason: "its revocation list is unusable: \(reason)", depth: depth, subject: chain[depth].subject)
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// Removes OpenSSL's error that the certificate at a depth is revoked, and the consulted lists that revoke it.
    mutating func removeRevocation(at depth: Int) {
        problems.removeAll { $0.isRevoked && $0.depth == depth }
        consulted[depth]?.removeAll { $0.revocation != nil }
    }

    /// Adds the revocation of the certificate at a depth by a list that OpenSSL did not consult.
    mutating func add(_ lookup: Lookup, _ revocation: CertificateRevocation, at depth: Int) {
        consulted[depth, default: []].append(lookup)
        problems.append(Verification.Problem(revocation, of: chain[depth].subject, depth: depth))
    }

    /// Adds the error that the signer of a list is or may be revoked. The certificate at a depth was looked up in it.
    mutating func addError(_ reason: String, ofListSigner signer: Certificate, at depth: Int) {
        problems.append(
            .init(
                code: Int(X509_V_ERR_CRL_PATH_VALIDATION_ERROR),
                reason: "the signer of its revocation list, \(signer.subject), \(reason)",
                depth: depth,
                subject: chain[depth].subject))
    }

    /// The check of a kind, which fails if errors of that kind occurred. It is not performed if the chain is
    /// incomplete.
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

    private static func configure(
        _ parameters: OpaquePointer?, _ verifier: CertificateVerifier, _ input: Input
    ) {
        let seconds = input.date.timeIntervalSince1970.rounded(.down)
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(exactly: seconds) ?? (seconds < 0 ? .min : .max))
        // Without X509_V_FLAG_POLICY_CHECK, OpenSSL would ignore a critical policyConstraints extension.
        var flags = Int(X509_V_FLAG_POLICY_CHECK)
        if verifier.isStrict { flags |= Int(X509_V_FLAG_X509_STRICT) }
        if verifier.allowsPartialChain { flags |= Int(X509_V_FLAG_PARTIAL_CHAIN) }
        if input.requiresLists {
            flags |= Int(
                X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL | X509_V_FLAG_EXTENDED_CRL_SUPPORT
                    | X509_V_FLAG_USE_DELTAS)
        }
        if verifier.demandsPolicy { flags |= Int(X509_V_FLAG_EXPLICIT_POLICY) }
        if verifier.inhibitsPolicyMapping { flags |= Int(X509_V_FLAG_INHIBIT_MAP) }
        if verifier.inhibitsAnyPolicy { flags |= Int(X509_V_FLAG_INHIBIT_ANY) }
        // Without any policy, OpenSSL would accept none instead of all.
        for policy in verifier.acceptedPolicies.isEmpty ? [anyPolicy] : verifier.acceptedPolicies {
            guard let object = try? unsafe OpenSSLASN1.object(policy) else { continue }
            unsafe X509_VERIFY_PARAM_add0_policy(parameters, object)
        }
        if let level = verifier.securityLevel {
            unsafe X509_VERIFY_PARAM_set_auth_level(parameters, CInt(clamping: level))
        }
        // OpenSSL would compare the names of persons with the constraints of host names.
        if VerificationObjects.hasNamesOfPersons(input.leaf) {
            unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        }
        unsafe X509_VERIFY_PARAM_set_depth(parameters, CInt(CertificateVerifier.mostLinks))
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(flags))
    }

    /// RFC 5280 4.2.1.4.
    private static let anyPolicy = "2.5.29.32.0"

    /// Copies the policies from the policy tree (RFC 5280 6.1.2), which the verifier still owns.
    private mutating func readPolicies(_ tree: OpaquePointer?) {
        policies = Array(repeating: [], count: chain.count)
        guard let tree = unsafe tree else { return }
        // Level 0 belongs to the anchor, the last level to the leaf.
        let levels = unsafe Int(X509_policy_tree_level_count(tree))
        for level in 0..<levels where chain.indices.contains(levels - 1 - level) {
            let nodes = unsafe X509_policy_tree_get0_level(tree, CInt(level))
            let names = unsafe (0..<max(0, X509_policy_level_node_count(nodes))).map {
                unsafe OpenSSLASN1.dotted(
                    X509_policy_node_get0_policy(X509_policy_level_get0_node(nodes, $0)))
            }
            policies[levels - 1 - level] = Set(names).sorted()
        }
        let accepted = unsafe OpenSSLASN1.elements(X509_policy_tree_get0_user_policies(tree)).map {
            unsafe OpenSSLASN1.dotted(X509_policy_node_get0_policy(OpaquePointer($0)))
        }
        acceptedPolicies = Set(accepted).sorted()
    }
}

extension Verification.Problem {
    /// The check that the error belongs to.
    package var kind: Verification.Kind {
        switch CInt(truncatingIfNeeded: code) {
        case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED,
            X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD:
            .validity
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
            X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
            .nameConstraints
        case X509_V_ERR_INVALID_POLICY_EXTENSION, X509_V_ERR_NO_EXPLICIT_POLICY, X509_V_ERR_OUT_OF_MEM:
            .policies
        case X509_V_ERR_INVALID_PURPOSE: .extendedKeyUsage
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

extension Verification.Problem {
    /// Creates the error for a certificate that an OCSP response revokes.
    init(_ revocation: CertificateRevocation, of subject: DistinguishedName, depth: Int) {
        self.init(
            code: Int(X509_V_ERR_CERT_REVOKED), reason: "\(revocation)", depth: depth, subject: subject)
    }

    /// Whether the certificate is revoked.
    package var isRevoked: Bool { code == Int(X509_V_ERR_CERT_REVOKED) }

    /// Whether the certificate has expired.
    package var isExpired: Bool { code == Int(X509_V_ERR_CERT_HAS_EXPIRED) }

    /// Whether the start or the end of the validity period is not a time, such as the 30th of February.
    package var hasMalformedTime: Bool {
        code == Int(X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD)
            || code == Int(X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD)
    }

    /// Whether the signature was not made with the key of the next certificate, or that key cannot be used.
    package var isWrongSignature: Bool {
        code == Int(X509_V_ERR_CERT_SIGNATURE_FAILURE)
            || code == Int(X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY)
    }

    /// Whether no list covers the certificate.
    package var isMissingList: Bool { code == Int(X509_V_ERR_UNABLE_TO_GET_CRL) }

    /// Whether the defect is in the certificate itself and thus occurs on every path.
    package var isCertificatesOwn: Bool {
        switch CInt(truncatingIfNeeded: code) {
        case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED,
            X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD,
            X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL,
            X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION, X509_V_ERR_INVALID_EXTENSION, X509_V_ERR_INVALID_CA,
            X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
            true
        default: false
        }
    }
}
