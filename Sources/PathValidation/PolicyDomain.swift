internal import OpenSSL

/// The policies for which a path can still be valid, computed from the leaf upwards (RFC 5280 6.1.3 (d), 6.1.4 (b)).
///
/// Validation proceeds from the anchor down, but this computation follows the search from the leaf up. It assumes that
/// no certificate above inhibits mapping or anyPolicy, so it never excludes a valid path.
struct PolicyDomain {
    private static let any = "2.5.29.32.0"

    /// The policies, in the policy domain of the uppermost certificate's subject.
    private var policies: Set<String>
    private var hasAny: Bool

    /// Starts with the policies that the leaf asserts.
    init(leaf policies: [String]) {
        self.policies = Set(policies)
        hasAny = policies.contains(Self.any)
    }

    /// Whether no policy is left.
    var isEmpty: Bool { policies.isEmpty && !hasAny }

    /// Whether one of the wanted policies is left.
    func meets(_ wanted: Set<String>) -> Bool {
        if isEmpty { return false }
        return hasAny || wanted.contains(Self.any) || !policies.isDisjoint(with: wanted)
    }

    /// Continues upwards across an authority's certificate with these policies and mappings.
    mutating func rise(over asserted: [String], mappings: [AuthorityConstraints.PolicyMapping]) {
        let asserted = Set(asserted)
        let mapped = Set(mappings.map(\.issuerPolicy))
        let assertsAny = asserted.contains(Self.any)
        var upper: Set<String> = []
        for mapping in mappings where hasAny || policies.contains(mapping.subjectPolicy) {
            if assertsAny || asserted.contains(mapping.issuerPolicy) { upper.insert(mapping.issuerPolicy) }
        }
        for policy in asserted where !mapped.contains(policy) && policy != Self.any {
            if hasAny || policies.contains(policy) { upper.insert(policy) }
        }
        if assertsAny { upper.formUnion(policies.subtracting(mapped).subtracting([Self.any])) }
        policies = upper
        hasAny = hasAny && assertsAny
    }
}
