package import OpenSSL

/// The certificates from which paths are built, indexed by subject. Some of them are trusted.
///
/// One pool serves any number of leaves. Duplicate certificates are stored once.
package struct CertificatePool: Sendable {
    /// One certificate, with the properties that path building needs often.
    struct Member: Sendable {
        let certificate: Certificate
        /// The matching key of the issuer's name.
        let issuer: NameMatchingKey
        /// Whether the certificate was added as trusted.
        let isTrusted: Bool
        /// Whether subject and issuer have the same name.
        let isSelfIssued: Bool
    }

    /// Whether a trusted certificate that is not self-signed can end a path.
    package let allowsPartialChain: Bool

    private var members: [Member] = []
    /// Whether each certificate was added as trusted.
    private var trust: [Certificate: Bool] = [:]
    /// The matching keys of the members' names. They are cached, because computing one takes as long as many
    /// comparisons.
    private var keys: [DistinguishedName: NameMatchingKey] = [:]
    private var bySubject: [NameMatchingKey: [Int]] = [:]
    /// For each subject, the length of the shortest path to a trusted certificate, counting both ends.
    private var distances: [NameMatchingKey: Int] = [:]

    /// Creates a pool of certificates.
    ///
    /// - Parameters:
    ///   - trusted: The trusted certificates. A certificate that is not self-signed is an anchor only if
    ///     `allowsPartialChain` is true; otherwise it can only be an intermediate certificate.
    ///   - untrusted: Certificates that can only be intermediate certificates.
    ///   - allowsPartialChain: Whether a trusted certificate that is not self-signed can end a path.
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

    /// The matching key of a name, which is cached for the names of members.
    func key(of name: DistinguishedName) -> NameMatchingKey { keys[name] ?? name.matchingKey }

    /// Returns this pool with additional untrusted certificates. Certificates that are already in the pool are not
    /// changed.
    package func adding(_ certificates: some Sequence<Certificate>) -> CertificatePool {
        var pool = self
        for certificate in certificates where !pool.holds(certificate) {
            pool.add(certificate, isTrusted: false)
        }
        guard pool.count > count else { return self }
        pool.distances = Self.distances(pool.members, pool.bySubject, allowsPartialChain)
        return pool
    }

    /// Whether the pool contains `certificate`, trusted or not.
    package func holds(_ certificate: Certificate) -> Bool { trust[certificate] != nil }

    /// The number of certificates.
    package var count: Int { members.count }

    /// All certificates, trusted or not, in the order in which they were added.
    package var certificates: [Certificate] { members.map(\.certificate) }

    /// The certificates with this subject, trusted ones first.
    func members(named subject: NameMatchingKey) -> [Member] {
        (bySubject[subject] ?? []).map { members[$0] }
    }

    /// The minimum number of certificates from one with this subject up to a trusted certificate, both included; nil if
    /// no path leads to a trusted certificate.
    func distance(from subject: NameMatchingKey) -> Int? { distances[subject] }

    /// Whether `certificate` was added as trusted.
    func isTrusted(_ certificate: Certificate) -> Bool { trust[certificate] == true }

    /// Computes the distances breadth-first, from the trusted certificates down to the certificates that they issued.
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
