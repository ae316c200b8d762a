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

    private let members: [Member]
    private let bySubject: [NameMatchingKey: [Int]]
    /// The least number of certificates from one with this subject up to a trusted one, both counted.
    private let distances: [NameMatchingKey: Int]

    /// A pool of certificates.
    ///
    /// - Parameters:
    ///   - trusted: those that trust may start from. One that is not self-signed is an anchor only under
    ///     `allowsPartialChain`, and helps to build paths otherwise.
    ///   - untrusted: those that only help to build paths.
    ///   - allowsPartialChain: whether a trusted certificate ends a path though it is not self-signed.
    package init(trusted: [Certificate], untrusted: [Certificate], allowsPartialChain: Bool = false) {
        self.allowsPartialChain = allowsPartialChain
        var seen: Set<Certificate> = []
        var members: [Member] = []
        var bySubject: [NameMatchingKey: [Int]] = [:]
        func add(_ certificate: Certificate, isTrusted: Bool) {
            guard seen.insert(certificate).inserted else { return }
            let subject = certificate.subject.matchingKey
            let issuer = certificate.isSelfIssued ? subject : certificate.issuer.matchingKey
            bySubject[subject, default: []].append(members.count)
            members.append(
                Member(
                    certificate: certificate, issuer: issuer, isTrusted: isTrusted,
                    isSelfIssued: subject == issuer))
        }
        for certificate in trusted { add(certificate, isTrusted: true) }
        for certificate in untrusted { add(certificate, isTrusted: false) }
        self.members = members
        self.bySubject = bySubject
        distances = Self.distances(members, bySubject, allowsPartialChain)
    }

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
    func isTrusted(_ certificate: Certificate) -> Bool {
        members(named: certificate.subject.matchingKey).contains {
            $0.isTrusted && $0.certificate == certificate
        }
    }

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
