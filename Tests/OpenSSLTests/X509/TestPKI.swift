import Foundation
import KeySharing
import OpenSSL

/// Keys and certificates that the tests of this module share. They are created once in each run.
enum TestPKI {
    static let rootKey = key(.p256)
    static let leafKey = key(.p256)
    static let rsaKey = key(.rsa(bits: 2048))

    /// 2024-12-03 00:00:00 UTC.
    static let start = Date(timeIntervalSince1970: 1_733_184_000)
    static let now = start + 86_400
    static let end = start + 3 * 365 * 86_400

    static let root = issuer("Test Root", pathLength: nil, under: nil)

    static func key(_ algorithm: KeyAlgorithm) -> PrivateKey {
        do { return try PrivateKey.generate(algorithm) } catch { preconditionFailure("\(error)") }
    }

    static func name(_ commonName: String) throws -> DistinguishedName {
        try DistinguishedName([
            .init("C", "US"), .init("O", "Test U.S. Government"), .init("OU", "PKI"), .init("CN", commonName),
        ])
    }

    /// A template for an end entity, which tests can change.
    static func template(_ commonName: String = "DOE.JANE.5557779001") throws -> CertificateTemplate {
        CertificateTemplate(
            subject: try name(commonName), serialNumber: [0x04, 0x8F], notBefore: start, notAfter: end)
    }

    static func issuer(
        _ commonName: String, pathLength: Int?, under parent: CertificateIssuer?, serial: [UInt8] = [1],
        configure: (inout CertificateTemplate) -> Void = { _ in }
    ) -> CertificateIssuer {
        do {
            var template = try template(commonName)
            template.serialNumber = serial
            template.notAfter = start + 20 * 365 * 86_400
            template.basicConstraints = .init(isCertificateAuthority: true, pathLength: pathLength)
            template.keyUsage = [.keyCertSign, .cRLSign]
            configure(&template)
            guard let parent else { return try CertificateIssuer(selfSigned: template, privateKey: rootKey) }
            let key = key(.p256)
            return CertificateIssuer(certificate: try parent.issue(template, to: key), privateKey: key)
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// A certificate for ``leafKey`` that ``root`` issues.
    static func leaf(_ configure: (inout CertificateTemplate) throws -> Void = { _ in }) throws -> Certificate
    {
        var template = try template()
        try configure(&template)
        return try root.issue(template, to: leafKey)
    }
}

extension [UInt8] {
    /// A copy in which the first occurrence of `old` is replaced by `new`; nil if there is none, or if the lengths differ.
    func replacingFirst(_ old: [UInt8], with new: [UInt8]) -> [UInt8]? {
        guard old.count == new.count, let start = firstRange(of: old)?.lowerBound else { return nil }
        var copy = self
        copy.replaceSubrange(start..<start + old.count, with: new)
        return copy
    }
}

extension CertificateExtension {
    /// An extended key usage of purposes of RFC 5280 4.2.1.12, each given by its last number.
    static func purposes(_ numbers: [UInt8], isCritical: Bool) -> CertificateExtension {
        let identifiers = numbers.flatMap { number -> [UInt8] in
            [0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, number]
        }
        return CertificateExtension(
            oid: "2.5.29.37", isCritical: isCritical, value: [0x30, UInt8(identifiers.count)] + identifiers)
    }
}

/// A change to a certificate template, as an argument of a test.
struct TemplateChange: Sendable {
    let apply: @Sendable (inout CertificateTemplate) -> Void

    init(_ apply: @escaping @Sendable (inout CertificateTemplate) -> Void) { self.apply = apply }
}
