package import OpenSSL

/// The certificates that paths are built from, found by subject: those that may be trusted and the others.
///
/// A pool is made once and serves any number of leaves. Each certificate is held once, however often it is given.
package struct CertificatePool: Sendable {
    /// One certificate with what path building asks of it again and again.
    struct Member: Sendable {
        let certificate: Certificate
        /// The issuer's name.
        let issuer: NameMatchingKey
        /// Whether the certificate was given as one that trust may start from.
        let isTrusted: Bool
        /// Whether subject and issuer are the same name.
        let isSelfIssued: Bool
    }

    /// Whether a trusted certificate ends a path though its own key did not sign it.
    package let allowsPartialChain: Bool

    private var members: [Member] = []
    /// Whether each certificate was given as trusted.
    private var trust: [Certificate: Bool] = [:]
    /// The keys of the names of members, since computing one takes as long as many comparisons.
    private var keys: [DistinguishedName: NameMatchingKey] = [:]
    private var bySubject: [NameMatchingKey: [Int]] = [:]
    /// The least number of certificates from one with this subject up to a trusted one, both counted.
    private var distances: [NameMatchingKey: Int] = [:]

    /// A pool of certificates.
    ///
    /// - Parameters:
    ///   - trusted: those that trust may start from. One that is not self-signed is an anchor only under
    ///     `allowsPartialChain`, and helps to build paths otherwise.
    ///   - untrusted: those that only help to build paths.
    ///   - allowsPartialChain: whether a trusted certificate ends a path though it is not self-signed.
    package init(trusted: [Certificate], untrusted: [Certificate], allowsPartialChain: Bool = false) {
        self.allowsPartialChain = allowsPartialChain
        for (certificates, isTrusted) in [(trusted, true), (untrusted, false)] {
            for certificate in certificates where !holds(certificate) {
                add(certificate, isTrusted: isTrusted)
            }
        }
        distances = Self.distances(members, bySubject, allowsPartialChain)
    }

    private mutating func add(_ certificate: Certificate, isTrusted: Bool) {
        let subject = key(adding: certificate.subject)
        let issuer = key(adding: certificate.issuer)
        trust[certificate] = isTrusted
        bySubject[subject, default: []].append(members.count)
        members.append(
            Member(
                certificate: certificate, issuer: issuer, isTrusted: isTrusted,
                isSelfIssued: subject == issuer))
    }

    private mutating func key(adding name: DistinguishedName) -> NameMatchingKey {
        let key = key(of: name)
        keys[name] = key
        return key
    }

    /// The number to look a name up by, which is remembered for the names of members.
    func key(of name: DistinguishedName) -> NameMatchingKey { keys[name] ?? name.matchingKey }

    /// This pool and further certificates, which only help to build paths; those that are there already change
    /// nothing.
    package func adding(_ certificates: some Sequence<Certificate>) -> CertificatePool {
        var pool = self
        for certificate in certificates where !pool.holds(certificate) {
            pool.add(certificate, isTrusted: false)
        }
        guard pool.count > count else { return self }
        pool.distances = Self.distances(pool.members, pool.bySubject, allowsPartialChain)
        return pool
    }

    /// Whether `certificate` is there, trusted or not.
    package func holds(_ certificate: Certificate) -> Bool { trust[certificate] != nil }

    /// How many certificates there are.
    package var count: Int { members.count }

    /// The certificates with this subject, the trusted ones first.
    func members(named subject: NameMatchingKey) -> [Member] {
        (bySubject[subject] ?? []).map { members[$0] }
    }

    /// The least number of certificates that a path still takes whose next certificate has this subject; nil where
    /// no path from there reaches a trusted certificate.
    func distance(from subject: NameMatchingKey) -> Int? { distances[subject] }

    /// Whether `certificate` was given as one that trust may start from.
    func isTrusted(_ certificate: Certificate) -> Bool { trust[certificate] == true }

    /// Goes from the trusted names down to the names their certificates issue to, one link at a time.
    private static func distances(
        _ members: [Member], _ bySubject: [NameMatchingKey: [Int]], _ allowsPartialChain: Bool
    ) -> [NameMatchingKey: Int] {
        var subjects: [NameMatchingKey?] = Array(repeating: nil, count: members.count)
        for (subject, indices) in bySubject { for index in indices { subjects[index] = subject } }
        var byIssuer: [NameMatchingKey: [NameMatchingKey]] = [:]
        var distances: [NameMatchingKey: Int] = [:]
        var frontier: [NameMatchingKey] = []
        for (member, subject) in zip(members, subjects) {
            guard let subject else { continue }
            if member.isTrusted, member.isSelfIssued || allowsPartialChain {
                if distances.updateValue(1, forKey: subject) == nil { frontier.append(subject) }
            }
            if !member.isSelfIssued { byIssuer[member.issuer, default: []].append(subject) }
        }
        var distance = 1
        while !frontier.isEmpty {
            distance += 1
            var next: [NameMatchingKey] = []
            for issuer in frontier {
                for subject in byIssuer[issuer] ?? [] where distances[subject] == nil {
                    distances[subject] = distance
                    next.append(subject)
                }
            }
            frontier = next
        }
        return distances
    }
}
