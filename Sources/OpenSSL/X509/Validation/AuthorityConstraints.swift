internal import COpenSSL

/// What an authority's certificate asks of the path below it (RFC 5280 4.2.1.5, 4.2.1.9 to 4.2.1.11, 4.2.1.14).
///
/// An extension that cannot be decoded reads as absent here; OpenSSL's verifier refuses it.
package struct AuthorityConstraints: Sendable, Hashable {
    /// A policy of the issuer's that stands for one of the subject's.
    package struct PolicyMapping: Sendable, Hashable {
        /// The policy in the issuer's domain, dotted.
        package let issuerPolicy: String
        /// The policy in the subject's domain, dotted.
        package let subjectPolicy: String
    }

    /// The greatest number of authorities below that are not self-issued; nil for no limit.
    package var pathLength: Int?
    /// The subtrees that names below must be in; empty for no limit.
    package var permittedNames: [GeneralName] = []
    /// The subtrees that names below must not be in.
    package var excludedNames: [GeneralName] = []
    /// Whether there is a name constraints extension.
    package var hasNameConstraints = false
    /// The policy mappings, in order.
    package var policyMappings: [PolicyMapping] = []
    /// After how many certificates an acceptable policy is required; nil where none is.
    package var requireExplicitPolicy: Int?
    /// After how many certificates policies are no longer mapped; nil where they are.
    package var inhibitPolicyMapping: Int?
    /// After how many certificates anyPolicy counts for nothing; nil where it counts.
    package var inhibitAnyPolicy: Int?

    /// Whether anything is asked of the path below.
    package var isAny: Bool {
        pathLength != nil || hasNameConstraints || !policyMappings.isEmpty || requireExplicitPolicy != nil
            || inhibitPolicyMapping != nil || inhibitAnyPolicy != nil
    }

    /// No constraint at all.
    init() {}

    /// Reads the constraints of one certificate, parsed anew.
    package init(of certificate: Certificate) {
        self =
            (try? unsafe certificate.withPointer { unsafe AuthorityConstraints(reading: $0) })
            ?? AuthorityConstraints()
    }

    /// Copies what a C certificate (`X509`) holds; it stays its owner's.
    init(reading certificate: OpaquePointer) {
        unsafe readPathLength(certificate)
        unsafe readNames(certificate)
        unsafe readPolicies(certificate)
        OpenSSLError.discardQueue()
    }

    private mutating func readPathLength(_ certificate: OpaquePointer) {
        guard let decoded = unsafe X509_get_ext_d2i(certificate, NID_basic_constraints, nil, nil) else {
            return
        }
        let constraints = unsafe decoded.assumingMemoryBound(to: BASIC_CONSTRAINTS.self)
        defer { unsafe BASIC_CONSTRAINTS_free(constraints) }
        pathLength = unsafe Self.number(constraints.pointee.pathlen)
    }

    private mutating func readNames(_ certificate: OpaquePointer) {
        hasNameConstraints = unsafe X509_get_ext_by_NID(certificate, NID_name_constraints, -1) >= 0
        guard let decoded = unsafe X509_get_ext_d2i(certificate, NID_name_constraints, nil, nil) else {
            return
        }
        let constraints = unsafe decoded.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
        defer { unsafe NAME_CONSTRAINTS_free(constraints) }
        permittedNames = unsafe Self.names(constraints.pointee.permittedSubtrees)
        excludedNames = unsafe Self.names(constraints.pointee.excludedSubtrees)
    }

    private mutating func readPolicies(_ certificate: OpaquePointer) {
        if let decoded = unsafe X509_get_ext_d2i(certificate, NID_policy_mappings, nil, nil) {
            let mappings = OpaquePointer(decoded)
            defer {
                unsafe OPENSSL_sk_pop_free(mappings) {
                    unsafe POLICY_MAPPING_free($0?.assumingMemoryBound(to: POLICY_MAPPING.self))
                }
            }
            policyMappings = unsafe OpenSSLASN1.elements(mappings).map {
                let mapping = unsafe $0.assumingMemoryBound(to: POLICY_MAPPING.self).pointee
                return unsafe PolicyMapping(
                    issuerPolicy: OpenSSLASN1.dotted(mapping.issuerDomainPolicy),
                    subjectPolicy: OpenSSLASN1.dotted(mapping.subjectDomainPolicy))
            }
        }
        if let decoded = unsafe X509_get_ext_d2i(certificate, NID_policy_constraints, nil, nil) {
            let constraints = unsafe decoded.assumingMemoryBound(to: POLICY_CONSTRAINTS.self)
            defer { unsafe POLICY_CONSTRAINTS_free(constraints) }
            requireExplicitPolicy = unsafe Self.number(constraints.pointee.requireExplicitPolicy)
            inhibitPolicyMapping = unsafe Self.number(constraints.pointee.inhibitPolicyMapping)
        }
        if let decoded = unsafe X509_get_ext_d2i(certificate, NID_inhibit_any_policy, nil, nil) {
            let integer = unsafe decoded.assumingMemoryBound(to: ASN1_INTEGER.self)
            defer { unsafe ASN1_INTEGER_free(integer) }
            inhibitAnyPolicy = unsafe Self.number(integer)
        }
    }

    /// A count; one that is no sensible number is taken for the greatest.
    private static func number(_ integer: UnsafeMutablePointer<ASN1_INTEGER>?) -> Int? {
        guard let integer = unsafe integer else { return nil }
        let number = unsafe ASN1_INTEGER_get(integer)
        return number < 0 ? .max : number
    }

    private static func names(_ subtrees: OpaquePointer?) -> [GeneralName] {
        unsafe OpenSSLASN1.elements(subtrees).compactMap {
            guard let base = unsafe $0.assumingMemoryBound(to: GENERAL_SUBTREE.self).pointee.base else {
                return nil
            }
            return unsafe GeneralName(reading: base)
        }
    }
}
