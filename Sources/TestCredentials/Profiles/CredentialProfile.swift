package import Foundation
package import KeySharing
internal import OpenSSL

/// What the certificates of one kind of credential hold: a file of `Data/Profiles`.
///
/// A series is one kind of credential through the years; each of its profiles is in use from a date on.
package struct CredentialProfile: Sendable, Decodable {
    /// The name, which is also the file's.
    package let name: String
    /// One sentence about the kind of credential.
    package let summary: String
    /// The series that the profile belongs to; nil for a profile that stands alone.
    package let series: String?
    /// The first day on which the series uses the profile, `yyyy-mm-dd`.
    private let since: String?
    /// For how many years a certificate is valid.
    let years: Int
    /// The name of the key algorithm.
    private let key: String
    /// The types that are made unless others are asked for, in order.
    package let types: [CredentialType]
    private let certificates: [String: CertificateProfile]

    /// The algorithm of keys unless another one is asked for.
    var algorithm: KeyAlgorithm { KeyAlgorithm(rawValue: key) ?? .rsa(bits: 2048) }

    /// What a certificate of a type holds; nil where the profile has no such type.
    func certificate(_ type: CredentialType) -> CertificateProfile? { certificates[type.rawValue] }

    /// Whether the profile has certificates of a type.
    package func has(_ type: CredentialType) -> Bool { certificate(type) != nil }
}

/// What a certificate of one type holds.
struct CertificateProfile: Sendable, Decodable {
    /// Who holds the key.
    enum Subject: String, Decodable {
        case person, device
    }

    /// A kind of subject alternative name.
    enum Name: String, Decodable {
        case email
        /// The user principal name that is made of the person's EDIPI.
        case upn
        /// The user principal name that is made of EDIPI, category, organisation and association, as on PIV certificates.
        case cardholderUPN = "cardholder-upn"
        case fascn, uuid, dns
        /// The Windows account, which stands in an extension of its own.
        case sid
    }

    /// An extension that profiles give as DER.
    struct Extension: Decodable {
        let oid: String
        let critical: Bool
        /// The value, DER in hexadecimal.
        let value: String
    }

    /// The authority that issues the certificate.
    let issuer: TestAuthorityRole
    /// Who holds the key.
    let subject: Subject
    /// The names of key usages, for RSA keys, and for elliptic curves unless `keyUsageOfCurves` is there.
    private let keyUsage: [String]
    private let keyUsageOfCurves: [String]?
    /// The extended key usages: keys of `TestNames.purposes`, or dotted identifiers.
    private let extendedKeyUsage: [String]
    /// The dotted identifiers of policies by the name of their arc.
    let policies: [String: [String]]
    /// The subject alternative names, in order.
    let names: [Name]
    private let extensions: [Extension]?

    /// The key usage of a certificate with a key of `algorithm`.
    func keyUsage(_ algorithm: KeyAlgorithm) -> KeyUsage {
        let names = algorithm.isEllipticCurve ? keyUsageOfCurves ?? keyUsage : keyUsage
        return KeyUsage(names.compactMap { name in KeyUsage.bits.first { $0.names == [name] } })
    }

    /// Whether the certificate has a user principal name.
    var namesPrincipal: Bool { names.contains { $0 == .upn || $0 == .cardholderUPN } }

    /// The extended key usages as dotted identifiers.
    var purposes: [String] { extendedKeyUsage.map { TestNames.purposes[$0] ?? $0 } }

    /// The extensions that the profile gives as DER.
    var otherExtensions: [CertificateExtension] {
        (extensions ?? []).map {
            CertificateExtension(oid: $0.oid, isCritical: $0.critical, value: $0.value.hexOctets)
        }
    }
}

extension CredentialProfile {
    /// Every profile, those of a series by date.
    package static let all: [CredentialProfile] = files.map { name, text in
        BuiltInData.read("\(name).json") {
            try JSONDecoder().decode(CredentialProfile.self, from: Data(text))
        }
    }

    /// The files of `Data/Profiles`; the compiler gives each a constant, which nothing can list.
    private static let files: [(name: String, text: [UInt8])] = [
        ("dod-2018", PackageResources.dod_2018_json), ("dod-2021", PackageResources.dod_2021_json),
        ("dod-2024", PackageResources.dod_2024_json), ("derived-piv", PackageResources.derived_piv_json),
        ("piv-i", PackageResources.piv_i_json), ("device", PackageResources.device_json),
    ]

    /// The names by which users ask for a profile: those of every profile and of every series.
    package static let names: [String] = {
        var names: [String] = []
        for name in all.flatMap({ ($0.series.map { [$0] } ?? []) + [$0.name] }) where !names.contains(name) {
            names.append(name)
        }
        return names
    }()

    /// Finds the profile of a name. For the name of a series it is the profile in use at `date`, or the oldest one for an
    /// earlier date; nil for an unknown name.
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

/// Which policies certificates claim.
package enum PolicyArc: String, Sendable, CaseIterable {
    /// The federal test arc: nobody takes these for real.
    case test
    /// The arcs that real credentials have.
    case dod
}
