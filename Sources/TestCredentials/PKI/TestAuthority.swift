internal import KeySharing
package import Foundation
package import OpenSSL
internal import StandardExtensions

/// The role of a certificate authority in the test PKI.
package enum TestAuthorityRole: String, Sendable, CaseIterable, Codable {
    case root
    /// Issues signature and encryption certificates.
    case email
    /// Issues authentication certificates.
    case identity
    /// Issues device certificates.
    case device

    /// Returns the common name of the authority with this role in the PKI number `number`.
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
    /// The number at the end of the authorities' names, starting at 1.
    package let number: Int

    /// The authority with a role.
    package subscript(role: TestAuthorityRole) -> CertificateIssuer { issuing[role] ?? root }

    /// Creates a PKI from existing authorities. Returns nil if a role is missing.
    package init?(_ issuers: [TestAuthorityRole: CertificateIssuer]) {
        guard let root = issuers[.root], issuers.count == TestAuthorityRole.allCases.count else { return nil }
        self.root = root
        issuing = issuers
        number = root.certificate.subject.commonName?.split(separator: " ").last.flatMap { Int($0) } ?? 1
    }

    /// Creates new authorities with new keys.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm of the authorities' keys.
    ///   - validity: The period of the certificates to be issued. The authorities are valid from five years before it
    ///     to twenty years after it.
    ///   - locations: The URLs of the PKI in the authorities' certificates.
    ///   - number: Distinguishes the names from those of other PKIs in one keychain.
    ///   - source: The randomness of keys, serial numbers and signatures.
    /// - Throws: `OpenSSLError` and `CertificateError` if OpenSSL fails.
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

    /// Whether every authority, and therefore every chain, is valid throughout the period.
    package func covers(_ validity: Range<Date>) -> Bool {
        issuers.map(\.issuer.certificate).allSatisfy {
            $0.notBefore <= validity.lowerBound && $0.notAfter >= validity.upperBound
        }
    }

    /// Creates the revocation list of each authority, valid for thirty days.
    ///
    /// - Parameters:
    ///   - revoked: Records of the register, of any authorities. Records without a revocation are ignored.
    ///   - date: The date of issue.
    /// - Throws: `CertificateError` if OpenSSL fails.
    package func revocationLists(
        revoked: [IssuanceRecord], at date: Date, from source: RandomSource
    ) throws(CertificateError) -> [CertificateRevocationList] {
        var lists: [CertificateRevocationList] = []
        for (role, _) in issuers {
            lists.append(try revocationList(of: role, revoked: revoked, at: date, from: source))
        }
        return lists
    }

    /// Creates the revocation list of one authority, valid for thirty days.
    ///
    /// - Parameters:
    ///   - revoked: Records of the register, of any authorities. Records without a revocation are ignored.
    ///   - date: The date of issue.
    /// - Throws: `CertificateError` if OpenSSL fails.
    func revocationList(
        of role: TestAuthorityRole, revoked: [IssuanceRecord], at date: Date, from source: RandomSource
    ) throws(CertificateError) -> CertificateRevocationList {
        let issuer = self[role]
        let identifier = (issuer.certificate.subjectKeyIdentifier ?? []).upperHex
        let entries = revoked.compactMap { record in
            record.issuer == identifier ? CertificateRevocationList.Entry(record) : nil
        }
        // A later list must have a greater number (RFC 5280, section 5.2.3).
        let seconds = UInt64(clamping: Int64(date.timeIntervalSince1970))
        let number = stride(from: 32, through: 0, by: -8).map { UInt8(truncatingIfNeeded: seconds >> $0) }
        return try issuer.revocationList(
            entries, thisUpdate: date, nextUpdate: date.addingTimeInterval(30 * 86_400), number: number,
            seed: source.child("revocation list \(role.rawValue)").seed)
    }
}

extension CertificateRevocationList.Entry {
    /// Creates the entry of a record. Returns nil if the certificate is not revoked, or if its serial number is
    /// negative. A list cannot contain negative numbers.
    fileprivate init?(_ record: IssuanceRecord) {
        guard let date = record.revoked, !record.serialNumber.hasPrefix("-") else { return nil }
        self.init(
            serialNumber: record.serialNumber.hexOctets, date: date, reason: record.reason.number)
    }
}

extension CertificateTemplate {
    /// Adds the URLs of the issuer's certificate, of its revocation list and of the responder (RFC 5280, sections
    /// 4.2.1.13 and 4.2.2.1).
    mutating func point(at role: TestAuthorityRole, _ issuer: Certificate, in locations: PKILocations) {
        revocationListURLs = [locations.repository + PKIFile.revocationList(role).path(issuer)]
        issuerURLs = [locations.repository + PKIFile.certificate(role).path(issuer)]
        responderURLs = [locations.responder]
    }
}
