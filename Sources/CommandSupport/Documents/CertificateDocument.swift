internal import CertificateReading
package import Foundation
internal import KeySharing
package import OpenSSL

/// What `inspect` and `browse --details` say of a certificate, in JSON and in text.
package struct CertificateDocument: Encodable, Sendable {
    /// One thing that is not as it should be.
    package struct Finding: Encodable, Sendable {
        package let code: String
        package let message: String
    }

    package let label: String
    package let type: String
    package let legacyType: String
    package let subject: String
    package let issuer: String
    package let serial: String
    package let notBefore: Date
    package let notAfter: Date
    package let keyUsage: [String]?
    package let extendedKeyUsage: [String]?
    package let subjectAltNames: [String]
    package let policies: [String]
    /// The Windows account; octets where the extension is damaged, nil without one.
    package let securityIdentifier: String?
    package let keyType: String
    /// Of elliptic-curve keys; nil for others.
    package let curve: String?
    package let keyBits: Int
    /// What is not as it should be, though the certificate can be used.
    package let findings: [Finding]
    package var friendlyName: String?
    package var localKeyID: String?
    /// Whether Java's attribute marks it as a trust anchor; nil where nothing asks.
    package var trusted: Bool?

    package init(_ certificate: Certificate) {
        let facts = CertificateFacts(certificate)
        label = certificate.label
        type = Classification(facts, under: .keySharing2025).type.rawValue
        legacyType = Classification(facts, under: .legacy).type.rawValue
        subject = "\(certificate.subject)"
        issuer = "\(certificate.issuer)"
        serial = certificate.serialHex
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
        keyUsage = certificate.keyUsage?.names
        extendedKeyUsage = certificate.extendedKeyUsage
        subjectAltNames = certificate.subjectAlternativeNames.map(\.description)
        policies = certificate.policies
        securityIdentifier = certificate.extensions.first {
            $0.oid == SecurityIdentifier.extensionType
        }.map { SecurityIdentifier(extensionValue: $0.value)?.description ?? "#\($0.value.upperHex)" }
        keyType = certificate.publicKey.type.name
        curve = certificate.publicKey.curve
        keyBits = certificate.publicKey.bits
        findings = CertificateFinding.all(in: certificate).map {
            Finding(code: $0.code.rawValue, message: $0.message)
        }
    }

    /// The same with the names a PKCS #12 file gives the identity.
    package init(_ identity: PKCS12Identity) {
        self.init(identity.certificate)
        friendlyName = identity.friendlyName
        localKeyID = identity.localKeyID?.upperHex
    }

    /// The same with what a PKCS #12 file says of a certificate that stands alone.
    package init(_ entry: PKCS12CertificateEntry) {
        self.init(entry.certificate)
        friendlyName = entry.friendlyName
        localKeyID = entry.localKeyID?.upperHex
        trusted = entry.isTrusted
    }

    /// Field names with their values, for text.
    package var fields: [(name: String, value: String)] {
        var fields = [
            ("type", type == legacyType ? type : "\(type) (legacy: \(legacyType))"), ("label", label),
            ("subject", subject), ("issuer", issuer), ("serial number", serial),
            ("not before", notBefore.utcText), ("not after", notAfter.utcText),
            ("key", "\(keyType)\(curve.map { " \($0)" } ?? ""), \(keyBits) bits"),
            ("key usage", keyUsage?.joined(separator: ", ") ?? "none"),
        ]
        if let extendedKeyUsage {
            fields.append(("extended key usage", extendedKeyUsage.joined(separator: ", ")))
        }
        fields += subjectAltNames.map { ("alternative name", $0) }
        fields += policies.map { ("policy", $0) }
        if let securityIdentifier { fields.append(("security identifier", securityIdentifier)) }
        if let friendlyName { fields.append(("friendly name", friendlyName)) }
        if let localKeyID { fields.append(("local key ID", localKeyID)) }
        if trusted == true { fields.append(("trusted", "yes, by Java's attribute")) }
        fields += findings.map { ("finding", "\($0.message) (\($0.code))") }
        return fields.map { (name: $0.0, value: $0.1) }
    }
}
