package import Foundation
package import OpenSSL
internal import PrivateFiles
internal import StandardExtensions

/// A configuration profile (`.mobileconfig`) that makes an Apple device trust authorities. It contains one payload for
/// each certificate, in the format of Apple's "Device Management Profile".
///
/// Identifiers and bytes depend only on the certificates, so installing the profile again replaces it.
package struct ConfigurationProfile: Codable, Sendable {
    /// The payload of one certificate.
    package struct Payload: Codable, Sendable {
        private enum CodingKeys: String, CodingKey {
            case type = "PayloadType"
            case version = "PayloadVersion"
            case identifier = "PayloadIdentifier"
            case uuid = "PayloadUUID"
            case displayName = "PayloadDisplayName"
            case fileName = "PayloadCertificateFileName"
            case content = "PayloadContent"
        }

        /// The purpose of the certificate: `com.apple.security.root` for an anchor, `com.apple.security.pkcs1` for any
        /// other.
        package let type: String
        /// The version of the format of the payload.
        package let version: Int
        /// The name of the payload, in reverse DNS notation.
        package let identifier: String
        /// The UUID of the payload, derived from the certificate.
        package let uuid: String
        /// The name of the payload that is shown to the user.
        package let displayName: String
        /// The file name of the payload's certificate.
        package let fileName: String
        /// The payload's certificate in DER.
        package let content: Data
    }

    private enum CodingKeys: String, CodingKey {
        case type = "PayloadType"
        case version = "PayloadVersion"
        case identifier = "PayloadIdentifier"
        case uuid = "PayloadUUID"
        case displayName = "PayloadDisplayName"
        case description = "PayloadDescription"
        case organization = "PayloadOrganization"
        case removalDisallowed = "PayloadRemovalDisallowed"
        case content = "PayloadContent"
    }

    /// The type of a profile: always `Configuration`.
    package let type: String
    /// The version of the profile's format.
    package let version: Int
    /// The name of the profile, in reverse DNS notation.
    package let identifier: String
    /// The UUID of the profile, derived from all its certificates.
    package let uuid: String
    /// The name of the profile that is shown to the user.
    package let displayName: String
    /// The purpose of the profile, in a sentence for the user.
    package let description: String
    /// The creator of the profile.
    package let organization: String
    /// Whether the user is prevented from removing the profile.
    package let removalDisallowed: Bool
    /// The payloads, in the order of the certificates.
    package let content: [Payload]

    /// Creates a profile that installs authorities. Self-signed certificates become anchors.
    package init(trusting certificates: [Certificate]) {
        let uuid = Self.uuid(Digest.sha256(certificates.flatMap(\.sha256)))
        identifier = "\(Self.name).\(uuid)"
        type = "Configuration"
        version = 1
        self.uuid = uuid
        displayName = "Test PKI"
        description = "Trusts the authorities of test credentials. For test devices only."
        organization = "KeySharing"
        removalDisallowed = false
        content = certificates.map { certificate in
            let uuid = Self.uuid(certificate.sha256)
            return Payload(
                type: certificate.isSelfSigned ? "com.apple.security.root" : "com.apple.security.pkcs1",
                version: 1, identifier: "\(Self.name).certificate.\(uuid)", uuid: uuid,
                displayName: certificate.subject.commonName ?? "\(certificate.subject)",
                fileName: certificate.authorityFileName("cer"), content: Data(certificate.der))
        }
    }

    /// The profile as an XML property list.
    ///
    /// - Throws: `EncodingError` if a name cannot be represented in a property list.
    package func plist() throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return [UInt8](try encoder.encode(self))
    }

    private static let name = "red.hound.keyshare.test-pki"

    /// A UUID of version 8 (RFC 9562, 5.8): the first octets of a SHA-256, with the bits of version and variant set.
    private static func uuid(_ digest: [UInt8]) -> String {
        var octets = Array(digest.prefix(16))
        octets[6] = octets[6] & 0x0F | 0x80
        octets[8] = octets[8] & 0x3F | 0x80
        let hex = octets.upperHex
        var text = ""
        for (index, digit) in hex.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }
}

extension Certificate {
    /// Returns the name of a file of the authority. It consists of the common name and the start of the key identifier,
    /// as in the URLs in the certificates that the authority issues.
    ///
    /// - Parameter ending: `cer` for the certificate, `crl` for the revocation list.
    package func authorityFileName(_ ending: String) -> String {
        let path = PKIFile.certificate(.root).path(self)
        let name = String((PrivateFolder.name(of: path) ?? "").dropLast(4))
        let isPlain = PrivateFolder.isPlainName(name) && name.utf8.count <= 200
        return "\(isPlain ? name : label).\(ending)"
    }

    /// The certificate in PEM, preceded by its subject and SHA-256 as explanatory text (RFC 7468, section 2).
    package var annotatedPEM: String { "# Subject: \(subject)\n# SHA-256: \(label)\n\(pem)" }
}
