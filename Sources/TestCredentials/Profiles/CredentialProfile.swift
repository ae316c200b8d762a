package import Foundation
package import KeySharing
internal import OpenSSL

/// What the certificates of a kind of credential hold: one of the data files in `Profiles`.
///
/// A series is the same kind of credential through the years, each of its profiles from a date on.
package struct CredentialProfile: Sendable, Decodable {
    package let name: String
    /// One sentence about it.
    package let summary: String
    /// The series it belongs to; nil for a profile that stands alone.
    package let series: String?
    /// From when on its series uses it, `yyyy-mm-dd`.
    private let since: String?
    /// For how many years a certificate is valid.
    let years: Int
    private let key: String
    /// The types that are made unless others are asked for, in order.
    package let types: [CredentialType]
    private let certificates: [String: CertificateProfile]

    /// The key that is made unless another is asked for.
    var algorithm: KeyAlgorithm { KeyAlgorithm(rawValue: key) ?? .rsa(bits: 2048) }

    /// What a certificate of a type holds; nil where the profile has no such type.
    func certificate(_ type: CredentialType) -> CertificateProfile? { certificates[type.rawValue] }

    /// Whether it has certificates of a type.
    package func has(_ type: CredentialType) -> Bool { certificate(type) != nil }
}

/// What a certificate of one type holds.
struct CertificateProfile: Sendable, Decodable {
    /// Whose key it is.
    enum Subject: String, Decodable {
        case person, device
    }

    /// One of the subject's other names.
    enum Name: String, Decodable {
        case email
        /// The principal name of the person's identifier.
        case upn
        /// The principal name of identifier, category, organisation and association, as on PIV certificates.
        case cardholderUPN = "cardholder-upn"
        case fascn, uuid, dns
        /// The Windows account, in an extension of its own.
        case sid
    }

    /// An extension that has no field of its own.
    struct Extension: Decodable {
        let oid: String
        let critical: Bool
        /// The contents, hexadecimal DER.
        let value: String
    }

    let issuer: TestAuthorityRole
    let subject: Subject
    private let keyUsage: [String]
    private let keyUsageOfCurves: [String]?
    /// Names of `TestNames.Purpose`, or dotted.
    private let extendedKeyUsage: [String]
    /// Dotted policies by the name of their arc.
    let policies: [String: [String]]
    let names: [Name]
    private let extensions: [Extension]?

    func keyUsage(_ algorithm: KeyAlgorithm) -> KeyUsage {
        let names = algorithm.isEllipticCurve ? keyUsageOfCurves ?? keyUsage : keyUsage
        return KeyUsage(names.compactMap { name in KeyUsage.bits.first { $0.names == [name] } })
    }

    /// Whether a principal name says whose account it is.
    var namesPrincipal: Bool { names.contains { $0 == .upn || $0 == .cardholderUPN } }

    var purposes: [String] { extendedKeyUsage.map { TestNames.purposes[$0] ?? $0 } }

    var otherExtensions: [CertificateExtension] {
        (extensions ?? []).map {
            CertificateExtension(oid: $0.oid, isCritical: $0.critical, value: $0.value.hexOctets)
        }
    }
}

extension CredentialProfile {
    /// Every profile; a test holds their number against the files.
    package static let all: [CredentialProfile] = [
        PackageResources.dod_2018_json, PackageResources.dod_2021_json, PackageResources.dod_2024_json,
        PackageResources.derived_piv_json, PackageResources.piv_i_json, PackageResources.device_json,
    ].compactMap { try? JSONDecoder().decode(CredentialProfile.self, from: Data($0)) }

    /// What `--profile` takes: every profile and every series.
    package static let names: [String] = {
        var names: [String] = []
        for name in all.flatMap({ ($0.series.map { [$0] } ?? []) + [$0.name] }) where !names.contains(name) {
            names.append(name)
        }
        return names
    }()

    /// The profile of a name; of a series the one in use at a date, or the oldest there is.
    package static func named(_ name: String, at date: Date) -> CredentialProfile? {
        if let profile = all.first(where: { $0.name == name }) { return profile }
        let series = all.filter { $0.series == name }
        let day = date.formatted(.iso8601.year().month().day())
        return series.last { ($0.since ?? "") <= day } ?? series.first
    }
}

extension KeyUsage {
    fileprivate static let bits = (0..<9).map { KeyUsage(rawValue: 1 << $0) }
}

extension String {
    /// The octets that pairs of hexadecimal digits stand for.
    var hexOctets: [UInt8] {
        stride(from: 0, to: utf8.count - 1, by: 2).compactMap { offset in
            UInt8(dropFirst(offset).prefix(2), radix: 16)
        }
    }
}

/// Which policies certificates claim.
package enum PolicyArc: String, Sendable, CaseIterable {
    /// The federal test arc: nobody takes these for real.
    case test
    /// The arcs that real credentials have.
    case dod
}
