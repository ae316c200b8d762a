package import Foundation
package import OpenSSL

/// A certificate authority of the test PKI, by what it does.
package enum TestAuthorityRole: String, Sendable, CaseIterable {
    case root
    /// Issues signature and encryption certificates.
    case email
    /// Issues authentication and device certificates.
    case identity

    var commonName: String {
        switch self {
        case .root: "Test Root CA 1"
        case .email: "Test Email CA 1"
        case .identity: "Test ID CA 1"
        }
    }

    /// The name of its files in the repository.
    var fileStem: String { commonName.replacingOccurrences(of: " ", with: "").uppercased() }
}

/// A root with two issuing authorities below it, as identities are issued from.
package struct TestAuthority: Sendable {
    private let root: CertificateIssuer
    private let email: CertificateIssuer
    private let identity: CertificateIssuer

    /// The authority of a role.
    package subscript(role: TestAuthorityRole) -> CertificateIssuer {
        switch role {
        case .root: root
        case .email: email
        case .identity: identity
        }
    }

    /// Takes the three over; nil where one is missing.
    package init?(_ issuers: [TestAuthorityRole: CertificateIssuer]) {
        guard let root = issuers[.root], let email = issuers[.email], let identity = issuers[.identity] else {
            return nil
        }
        self.root = root
        self.email = email
        self.identity = identity
    }

    /// Makes new authorities with new keys.
    ///
    /// - Parameter validity: what the identities below will need; the authorities outlast it on both sides.
    /// - Throws: `OpenSSLError` and `CertificateError` where OpenSSL refuses.
    package init(
        algorithm: KeyAlgorithm, validity: Range<Date>, using random: inout some RandomNumberGenerator
    ) throws {
        let calendar = Calendar.utc
        let start = calendar.adding(years: -5, to: validity.lowerBound)
        let end = calendar.adding(years: 20, to: validity.upperBound)
        func template(_ role: TestAuthorityRole, pathLength: Int?) throws -> CertificateTemplate {
            var template = CertificateTemplate(
                subject: try TestNames.subject(role.commonName),
                serialNumber: SerialNumber.random(using: &random),
                notBefore: start, notAfter: end)
            template.basicConstraints = .init(isCertificateAuthority: true, pathLength: pathLength)
            template.keyUsage = [.keyCertSign, .cRLSign]
            return template
        }
        let rootTemplate = try template(.root, pathLength: nil)
        let root = try CertificateIssuer(selfSigned: rootTemplate, privateKey: .generate(algorithm))
        func issuing(_ role: TestAuthorityRole) throws -> CertificateIssuer {
            var issuing = try template(role, pathLength: 0)
            issuing.policies = [
                TestNames.Policy.software, TestNames.Policy.devices, TestNames.Policy.authentication,
            ]
            issuing.point(at: .root)
            let key = try PrivateKey.generate(algorithm)
            return CertificateIssuer(certificate: try root.issue(issuing, to: key), privateKey: key)
        }
        self.root = root
        email = try issuing(.email)
        identity = try issuing(.identity)
    }

    /// Whether every authority is valid over the whole range, so that chains below it can be.
    package func covers(_ validity: Range<Date>) -> Bool {
        [root, email, identity].map(\.certificate).allSatisfy {
            $0.notBefore <= validity.lowerBound && $0.notAfter >= validity.upperBound
        }
    }
}

extension CertificateTemplate {
    /// Says where the issuer's certificate, revocation list and responder would be.
    mutating func point(at issuer: TestAuthorityRole) {
        revocationListURLs = ["\(TestNames.repository)/crl/\(issuer.fileStem).crl"]
        issuerURLs = ["\(TestNames.repository)/sign/\(issuer.fileStem).cer"]
        responderURLs = ["http://ocsp.mil.example"]
    }
}

/// Serial numbers of test certificates.
enum SerialNumber {
    /// Sixteen octets, positive and without a leading zero (RFC 5280 4.1.2.2).
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
