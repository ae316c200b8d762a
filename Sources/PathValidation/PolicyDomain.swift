internal import OpenSSL

/// The policies that a path can still be valid for, seen from its lower end (RFC 5280 6.1.3 (d), 6.1.4 (b)).
///
/// Validation goes from the anchor down; this goes up with the search, and takes each step for allowed that some
/// certificate above might forbid (inhibited mapping, inhibited anyPolicy). It rejects no path that is valid.
struct PolicyDomain {
    private static let any = "2.5.29.32.0"

    /// The policies, named as the uppermost certificate's subject names them.
    private var policies: Set<String>
    private var hasAny: Bool

    /// Begins with what the leaf asserts.
    init(leaf policies: [String]) {
        self.policies = Set(policies)
        hasAny = policies.contains(Self.any)
    }

    /// Whether no policy is left.
    var isEmpty: Bool { policies.isEmpty && !hasAny }

    /// Whether one of the policies that are wanted is left.
    func meets(_ wanted: Set<String>) -> Bool {
        if isEmpty { return false }
        return hasAny || wanted.contains(Self.any) || !policies.isDisjoint(with: wanted)
    }

    /// Goes up over an authority's certificate with these policies and mappings.
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
