internal import CertificateReading
internal import Foundation
internal import KeySharing
internal import OpenSSL
internal import PersistentToken

/// The PKCS #11 objects of the registrations at one moment. The list is rebuilt only after a change, because every
/// program that loads the module requests it.
struct TokenObjectList: Sendable {
    /// The keychain's change count when the registrations were read.
    let changeCount: Int64
    /// The person that all certificates belong to; empty if they belong to several persons.
    let holder: String
    /// The objects, in the order of registration.
    let objects: [TokenObject]

    /// Builds the list from a snapshot. A certificate is omitted if its key is neither RSA nor EC, its serial number is
    /// negative, or it is too long for a message.
    init(_ snapshot: TokenCatalogue.Snapshot) {
        changeCount = snapshot.changeCount
        let certificates = snapshot.registrations.filter {
            $0.certificate.der.count <= TokenExtension.longestObject
        }
        let holders = Set(certificates.map { Self.holder($0.certificate) })
        holder = holders.count == 1 ? holders.first ?? "" : ""
        let labels = Self.labels(certificates.map(\.certificate))
        objects = certificates.compactMap { registration in
            TokenObject(registration, label: labels[registration.label] ?? "")
        }
    }

    private static func holder(_ certificate: Certificate) -> String {
        let name = certificate.subject.commonName ?? ""
        return CommonName(name).edipi ?? name
    }

    /// Returns a unique name for each identity, keyed by label. A name consists of the type and the common name. If
    /// several certificates would have the same name, all but the newest also get the beginning of their serial number.
    private static func labels(_ certificates: [Certificate]) -> [String: String] {
        var labels: [String: String] = [:]
        var used: Set<String> = []
        for certificate in certificates.sorted(by: { $0.notBefore > $1.notBefore }) {
            let facts = CertificateFacts(certificate)
            let type = Classification(facts, under: .keySharing2025).type.rawValue
            let name = "\(type) \(certificate.subject.commonName ?? "\(certificate.subject)")"
            let candidates = [
                name, "\(name) \(certificate.serialHex.prefix(8))", "\(name) \(certificate.label.prefix(16))",
            ]
            let label = candidates.first { !used.contains($0) } ?? certificate.label
            used.insert(label)
            labels[certificate.label] = label
        }
        return labels
    }
}

extension TokenObject {
    /// Creates the object of a registration; nil if its key is neither RSA nor EC, or its serial number is negative.
    fileprivate init?(_ registration: TokenRegistration, label: String) {
        let certificate = registration.certificate
        guard let parts = certificate.publicKey.parts, let serialNumber = certificate.encodedSerialNumber
        else {
            return nil
        }
        let key: Key =
            switch parts {
            case .rsa(let modulus, let exponent): .rsa(modulus: modulus, exponent: exponent)
            case .ec(let parameters, let point): .ec(parameters: parameters, point: point)
            }
        func milliseconds(_ date: Date) -> Int64 {
            Int64(exactly: (date.timeIntervalSince1970 * 1_000).rounded()) ?? 0
        }
        self.init(
            objectID: registration.label, label: label, keyID: certificate.publicKey.keyIdentifier,
            certificate: certificate.der, subject: certificate.subject.der, issuer: certificate.issuer.der,
            serialNumber: serialNumber, publicKeyInfo: certificate.publicKey.spki,
            checkValue: Array(Digest.sha1(certificate.der).prefix(3)),
            notBefore: milliseconds(certificate.notBefore), notAfter: milliseconds(certificate.notAfter),
            key: key, keyBits: registration.keyBits, properties: registration.properties,
            hasKey: registration.hasKey, isAuthority: certificate.isCertificateAuthority)
    }
}
