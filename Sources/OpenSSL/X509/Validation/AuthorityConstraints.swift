internal import COpenSSL

/// The constraints that an authority's certificate puts on the path below it (RFC 5280 4.2.1.5, 4.2.1.9 to 4.2.1.11,
/// 4.2.1.14).
///
/// An extension that cannot be decoded counts as absent here, because OpenSSL's verifier rejects the certificate.
package struct AuthorityConstraints: Sendable, Hashable {
    /// A policy in the issuer's domain that is equivalent to one in the subject's domain.
    package struct PolicyMapping: Sendable, Hashable {
        /// The policy in the issuer's domain, dotted.
        package let issuerPolicy: String
        /// The policy in the subject's domain, dotted.
        package let subjectPolicy: String
    }

    /// The maximum number of authorities below this one that are not self-issued; nil for no limit.
    package var pathLength: Int?
    /// The subtrees that must contain the names in certificates below this one; empty for no limit.
    package var permittedNames: [GeneralName] = []
    /// The subtrees that must not contain any name in certificates below this one.
    package var excludedNames: [GeneralName] = []
    /// The directory names in ``excludedNames``.
    var excludedDirectories: [PreparedName] = []
    /// Whether the certificate has a name constraints extension.
    package var hasNameConstraints = false
    /// The policy mappings, in order.
    package var policyMappings: [PolicyMapping] = []
    /// The number of certificates after which an acceptable policy is required; nil if none is required.
    package var requireExplicitPolicy: Int?
    /// The number of certificates after which policies are no longer mapped; nil if mapping is unlimited.
    package var inhibitPolicyMapping: Int?
    /// The number of certificates after which anyPolicy no longer matches other policies; nil for no limit.
    package var inhibitAnyPolicy: Int?

    /// The number of the certificate's own policies.
    package var policyCount = 0
    /// Whether the certificate's own policies are critical and have a qualifier of an unknown type, which
    /// validation cannot interpret (RFC 5280 4.2.1.4). This concerns the certificate, not the path below.
    package var hasUnknownCriticalQualifier = false

    /// Whether the certificate constrains the path below it in any way.
    package var isAny: Bool {
        pathLength != nil || hasNameConstraints || !policyMappings.isEmpty || requireExplicitPolicy != nil
            || inhibitPolicyMapping != nil || inhibitAnyPolicy != nil
    }

    /// Creates an empty set of constraints.
    init() {}

    /// Reads the constraints of a certificate. Each call parses the certificate again.
    package init(of certificate: Certificate) {
        self =
            (try? unsafe certificate.withFields { unsafe AuthorityConstraints(reading: $0) })
            ?? AuthorityConstraints()
    }

    /// Copies the constraints of a C certificate (`X509`) without taking ownership of it.
    init(reading certificate: OpaquePointer) {
        unsafe readPathLength(certificate)
        unsafe readNames(certificate)
        unsafe readPolicies(certificate)
        unsafe readQualifiers(certificate)
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
        excludedDirectories = PreparedName.names(
            excludedNames.compactMap(\.directory), most: 16 * PreparedName.mostCharacters)
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

    private mutating func readQualifiers(_ certificate: OpaquePointer) {
        var criticality: CInt = 0
        guard
            let decoded = unsafe X509_get_ext_d2i(certificate, NID_certificate_policies, &criticality, nil)
        else { return }
        let policies = OpaquePointer(decoded)
        defer {
            unsafe OPENSSL_sk_pop_free(policies) {
                unsafe POLICYINFO_free($0?.assumingMemoryBound(to: POLICYINFO.self))
            }
        }
        policyCount = unsafe Int(OPENSSL_sk_num(policies))
        guard criticality == 1 else { return }
        hasUnknownCriticalQualifier = unsafe OpenSSLASN1.elements(policies).contains {
            unsafe OpenSSLASN1.elements($0.assumingMemoryBound(to: POLICYINFO.self).pointee.qualifiers)
                .contains {
                    let kind = unsafe OBJ_obj2nid(
                        $0.assumingMemoryBound(to: POLICYQUALINFO.self).pointee.pqualid)
                    return kind != NID_id_qt_cps && kind != NID_id_qt_unotice
                }
        }
    }

    /// Returns a count. Negative and overlong values become the maximum.
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
