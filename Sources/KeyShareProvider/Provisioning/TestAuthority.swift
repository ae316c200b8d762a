package import Foundation
package import OpenSSL

/// A certificate authority of the test PKI, by what it does.
package enum TestAuthorityRole: String, Sendable, CaseIterable, Codable {
    case root
    /// Issues signature and encryption certificates.
    case email
    /// Issues authentication certificates.
    case identity
    /// Issues device certificates.
    case device

    package var commonName: String {
        switch self {
        case .root: "Test Root CA 1"
        case .email: "Test Email CA 1"
        case .identity: "Test ID CA 1"
        case .device: "Test Device CA 1"
        }
    }

    /// The name of its files in the repository.
    package var fileStem: String { commonName.replacingOccurrences(of: " ", with: "").uppercased() }
}

/// A root with three issuing authorities below it, as identities are issued from.
package struct TestAuthority: Sendable {
    private let root: CertificateIssuer
    private let issuing: [TestAuthorityRole: CertificateIssuer]

    /// The authority of a role.
    package subscript(role: TestAuthorityRole) -> CertificateIssuer { issuing[role] ?? root }

    /// Takes them over; nil where one is missing.
    package init?(_ issuers: [TestAuthorityRole: CertificateIssuer]) {
        guard let root = issuers[.root], issuers.count == TestAuthorityRole.allCases.count else { return nil }
        self.root = root
        issuing = issuers
    }

    /// Makes new authorities with new keys.
    ///
    /// - Parameter validity: what the identities below will need; the authorities outlast it on both sides.
    /// - Throws: `OpenSSLError` and `CertificateError` where OpenSSL refuses.
    package init(
        algorithm: KeyAlgorithm, validity: Range<Date>, locations: PKILocations = .example,
        from source: RandomSource
    ) throws {
        let calendar = Calendar.utc
        let start = calendar.adding(years: -5, to: validity.lowerBound)
        let end = calendar.adding(years: 20, to: validity.upperBound)
        func make(_ role: TestAuthorityRole, below root: CertificateIssuer?) throws -> CertificateIssuer {
            let source = source.child("authority \(role.rawValue)")
            var random = source.generator()
            var template = CertificateTemplate(
                subject: try TestNames.subject(role.commonName),
                serialNumber: SerialNumber.random(using: &random), notBefore: start, notAfter: end)
            template.basicConstraints = .init(isCertificateAuthority: true, pathLength: root.map { _ in 0 })
            template.keyUsage = [.keyCertSign, .cRLSign]
            let key = try PrivateKey.generate(algorithm, seed: source.child("key").seed)
            let signing = source.child("signature").seed
            guard let root else {
                return try CertificateIssuer(selfSigned: template, privateKey: key, seed: signing)
            }
            template.policies = [TestNames.anyPolicy]
            template.point(at: .root, in: locations)
            return CertificateIssuer(
                certificate: try root.issue(template, to: key, seed: signing), privateKey: key)
        }
        let root = try make(.root, below: nil)
        var issuing: [TestAuthorityRole: CertificateIssuer] = [.root: root]
        for role in TestAuthorityRole.allCases where role != .root {
            issuing[role] = try make(role, below: root)
        }
        self.root = root
        self.issuing = issuing
    }

    /// Every authority, the root first.
    package var issuers: [(role: TestAuthorityRole, issuer: CertificateIssuer)] {
        TestAuthorityRole.allCases.map { ($0, self[$0]) }
    }

    /// Whether every authority is valid over the whole range, so that chains below it can be.
    package func covers(_ validity: Range<Date>) -> Bool {
        issuers.map(\.issuer.certificate).allSatisfy {
            $0.notBefore <= validity.lowerBound && $0.notAfter >= validity.upperBound
        }
    }

    /// One revocation list of each authority, good for thirty days, with the certificates it issued among
    /// `revoked`.
    ///
    /// - Throws: `CertificateError` where OpenSSL refuses.
    package func revocationLists(
        revoked: [Certificate], at date: Date, from source: RandomSource
    ) throws(CertificateError) -> [CertificateRevocationList] {
        var lists: [CertificateRevocationList] = []
        for (role, issuer) in issuers {
            let entries = revoked.filter { $0.issuer == issuer.certificate.subject }.map {
                CertificateRevocationList.Entry(serialNumber: $0.serialNumber, date: date, reason: 1)
            }
            let days = UInt32(clamping: Int(date.timeIntervalSince1970 / 86_400))
            lists.append(
                try issuer.revocationList(
                    entries, thisUpdate: date, nextUpdate: date.addingTimeInterval(30 * 86_400),
                    number: [UInt8(days >> 16 & 255), UInt8(days >> 8 & 255), UInt8(days & 255)],
                    seed: source.child("revocation list \(role.rawValue)").seed))
        }
        return lists
    }
}

extension CertificateTemplate {
    /// Says where the issuer's certificate, revocation list and responder would be.
    mutating func point(at issuer: TestAuthorityRole, in locations: PKILocations) {
        revocationListURLs = ["\(locations.repository)/crl/\(issuer.fileStem).crl"]
        issuerURLs = ["\(locations.repository)/sign/\(issuer.fileStem).cer"]
        responderURLs = [locations.responder]
    }
}

/// Serial numbers of test certificates.
enum SerialNumber {
    /// Sixteen octets, positive and without a leading zero (RFC 5280 4.1.2.2).
    ///
    /// They are what tells an interrupted run which identities were made.
    static func random(using random: inout some RandomNumberGenerator) -> [UInt8] {
        [UInt8.random(in: 1...127, using: &random)]
            + (1..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}

extension Calendar {
    /// The Gregorian calendar in UTC.
    static var utc: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }

    /// The same day and time, years earlier or later.
    func adding(years: Int, to date: Date) -> Date {
        self.date(byAdding: .year, value: years, to: date) ?? date
    }
}
