internal import KeySharing
package import Foundation
package import OpenSSL

/// The role of a certificate authority in the test PKI.
package enum TestAuthorityRole: String, Sendable, CaseIterable, Codable {
    case root
    /// Issues signature and encryption certificates.
    case email
    /// Issues authentication certificates.
    case identity
    /// Issues device certificates.
    case device

    /// The common name of the authority in the PKI of a number.
    func commonName(_ number: Int) -> String {
        switch self {
        case .root: "Test Root CA \(number)"
        case .email: "Test Email CA \(number)"
        case .identity: "Test ID CA \(number)"
        case .device: "Test Device CA \(number)"
        }
    }
}

/// A test PKI: a root and three authorities below it, which issue certificates.
package struct TestAuthority: Sendable {
    private let root: CertificateIssuer
    private let issuing: [TestAuthorityRole: CertificateIssuer]
    /// The number at the end of the authorities' names, from 1.
    let number: Int

    /// The authority of a role.
    package subscript(role: TestAuthorityRole) -> CertificateIssuer { issuing[role] ?? root }

    /// A PKI of authorities that were made before; nil where a role is missing.
    package init?(_ issuers: [TestAuthorityRole: CertificateIssuer]) {
        guard let root = issuers[.root], issuers.count == TestAuthorityRole.allCases.count else { return nil }
        self.root = root
        issuing = issuers
        number = root.certificate.subject.commonName?.split(separator: " ").last.flatMap { Int($0) } ?? 1
    }

    /// Makes new authorities with new keys.
    ///
    /// - Parameters:
    ///   - algorithm: the algorithm of the authorities' keys.
    ///   - validity: the period of the certificates to be issued. The authorities are valid from five years
    ///     before it to twenty years after it.
    ///   - locations: where the authorities' certificates say that the PKI answers.
    ///   - number: distinguishes the names from those of other PKIs in one keychain.
    ///   - source: where keys, serial numbers and signatures come from.
    /// - Throws: `OpenSSLError` and `CertificateError` where OpenSSL refuses.
    package init(
        algorithm: KeyAlgorithm, validity: Range<Date>, locations: PKILocations = .example, number: Int = 1,
        from source: RandomSource
    ) throws {
        let calendar = Calendar.utc
        let start = calendar.adding(years: -5, to: validity.lowerBound)
        let end = calendar.adding(years: 20, to: validity.upperBound)
        func make(_ role: TestAuthorityRole, below root: CertificateIssuer?) throws -> CertificateIssuer {
            let source = source.child("authority \(role.rawValue)")
            var random = source.generator()
            var template = CertificateTemplate(
                subject: try TestNames.subject(role.commonName(number)),
                serialNumber: SerialNumber.random(using: &random), notBefore: start, notAfter: end)
            template.basicConstraints = .init(isCertificateAuthority: true, pathLength: root.map { _ in 0 })
            template.keyUsage = [.keyCertSign, .cRLSign]
            let key = try PrivateKey.generate(algorithm, seed: source.child("key").seed)
            let signing = source.child("signature").seed
            guard let root else {
                return try CertificateIssuer(selfSigned: template, privateKey: key, seed: signing)
            }
            template.policies = [TestNames.anyPolicy]
            template.point(at: .root, root.certificate, in: locations)
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
        self.number = number
    }

    /// The authorities with their roles, the root first.
    package var issuers: [(role: TestAuthorityRole, issuer: CertificateIssuer)] {
        TestAuthorityRole.allCases.map { ($0, self[$0]) }
    }

    /// The path of `file` in the repository of this PKI.
    func path(of file: PKIFile) -> String { file.path(self[file.role].certificate) }

    /// Whether every authority is valid over the whole period, so that chains are.
    package func covers(_ validity: Range<Date>) -> Bool {
        issuers.map(\.issuer.certificate).allSatisfy {
            $0.notBefore <= validity.lowerBound && $0.notAfter >= validity.upperBound
        }
    }

    /// Makes the revocation list of each authority, which is good for thirty days.
    ///
    /// - Parameters:
    ///   - revoked: records of the register, of any authorities; those that are not revoked are left out.
    ///   - date: the moment of issuing.
    /// - Throws: `CertificateError` where OpenSSL refuses.
    func revocationLists(
        revoked: [IssuanceRecord], at date: Date, from source: RandomSource
    ) throws(CertificateError) -> [CertificateRevocationList] {
        var lists: [CertificateRevocationList] = []
        for (role, _) in issuers {
            lists.append(try revocationList(of: role, revoked: revoked, at: date, from: source))
        }
        return lists
    }

    /// Makes the revocation list of one authority, which is good for thirty days.
    ///
    /// - Parameters:
    ///   - revoked: records of the register, of any authorities; those that are not revoked are left out.
    ///   - date: the moment of issuing.
    ///
    /// - Throws: `CertificateError` where OpenSSL refuses.
    func revocationList(
        of role: TestAuthorityRole, revoked: [IssuanceRecord], at date: Date, from source: RandomSource
    ) throws(CertificateError) -> CertificateRevocationList {
        let issuer = self[role]
        let identifier = (issuer.certificate.subjectKeyIdentifier ?? []).upperHex
        let entries = revoked.compactMap { record in
            record.issuer == identifier ? CertificateRevocationList.Entry(record) : nil
        }
        // A later list has a greater number (RFC 5280 section 5.2.3).
        let seconds = UInt64(clamping: Int64(date.timeIntervalSince1970))
        let number = stride(from: 32, through: 0, by: -8).map { UInt8(truncatingIfNeeded: seconds >> $0) }
        return try issuer.revocationList(
            entries, thisUpdate: date, nextUpdate: date.addingTimeInterval(30 * 86_400), number: number,
            seed: source.child("revocation list \(role.rawValue)").seed)
    }
}

extension CertificateRevocationList.Entry {
    /// The entry of a record; nil for a certificate that was not revoked, and for a negative serial number, which no list
    /// can hold.
    fileprivate init?(_ record: IssuanceRecord) {
        guard let date = record.revoked, !record.serialNumber.hasPrefix("-") else { return nil }
        self.init(
            serialNumber: record.serialNumber.hexOctets, date: date, reason: record.reason.number)
    }
}

extension CertificateTemplate {
    /// Names the URLs of the issuer's certificate, of its revocation list and of the responder (RFC 5280 sections
    /// 4.2.1.13 and 4.2.2.1).
    mutating func point(at role: TestAuthorityRole, _ issuer: Certificate, in locations: PKILocations) {
        revocationListURLs = [locations.repository + PKIFile.revocationList(role).path(issuer)]
        issuerURLs = [locations.repository + PKIFile.certificate(role).path(issuer)]
        responderURLs = [locations.responder]
    }
}

/// The serial numbers of test certificates.
enum SerialNumber {
    /// Draws sixteen octets, positive and without a leading zero (RFC 5280 section 4.1.2.2).
    ///
    /// A run that is continued after an interruption knows by serial numbers which identities were made.
    static func random(using random: inout some RandomNumberGenerator) -> [UInt8] {
        [UInt8.random(in: 1...127, using: &random)]
            + (1..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}
