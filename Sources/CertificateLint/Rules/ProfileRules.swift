import Foundation
package import OpenSSL

/// The values of a configuration profile that the rules examine. The caller parses the profile.
package struct LintedProfile: Sendable {
    /// One payload of the profile.
    package struct Payload: Sendable {
        /// The payload type, such as `com.apple.security.root`; nil if it is missing.
        package var type: String?
        /// The payload identifier; nil if it is missing.
        package var identifier: String?
        /// The payload UUID as text; nil if it is missing.
        package var uuid: String?
        /// Whether a payload that must contain a certificate contains none that can be read.
        package var lacksCertificate: Bool
        /// The certificates in the payload.
        package var certificates: [Certificate]

        /// Creates a payload from its values.
        package init(
            type: String?, identifier: String?, uuid: String?, lacksCertificate: Bool = false,
            certificates: [Certificate] = []
        ) {
            self.type = type
            self.identifier = identifier
            self.uuid = uuid
            self.lacksCertificate = lacksCertificate
            self.certificates = certificates
        }
    }

    /// The top-level keys of the profile, represented as a payload without certificates.
    package var header: Payload
    /// The payloads in the profile.
    package var payloads: [Payload]
    /// Whether the profile is signed.
    package var isSigned: Bool

    /// Creates a profile from its values.
    package init(header: Payload, payloads: [Payload], isSigned: Bool) {
        self.header = header
        self.payloads = payloads
        self.isSigned = isSigned
    }
}

/// Rules about configuration profiles (Apple, Device Management: Top Level and CommonPayloadKeys).
enum ProfileRules {
    typealias Rule = LintRule<LintedProfile>

    static let all: [Rule] = [
        Rule(
            "profile-unsigned", .notice, "Apple Device Management", "the profile is not signed",
            if: { !$0.isSigned }),
        Rule(
            "profile-type", .error, "Apple Device Management", "the profile's type is not Configuration",
            if: { $0.header.type != "Configuration" }),
        Rule(
            "profile-key-missing", .error, "Apple Device Management",
            "the profile or a payload has no type, identifier or UUID",
            if: {
                ([$0.header] + $0.payloads).contains {
                    $0.type == nil || $0.identifier == nil || $0.uuid == nil
                }
            }),
        Rule(
            "profile-uuid-malformed", .error, "Apple Device Management", "a PayloadUUID is not a UUID",
            if: {
                ([$0.header] + $0.payloads).contains { $0.uuid.map { UUID(uuidString: $0) == nil } ?? false }
            }),
        Rule(
            "profile-uuid-duplicate", .error, "Apple Device Management", "two payloads have the same UUID",
            if: {
                let uuids = ([$0.header] + $0.payloads).compactMap { $0.uuid?.uppercased() }
                return Set(uuids).count < uuids.count
            }),
        Rule(
            "profile-certificate-unreadable", .error, "Apple Device Management, CertificateRoot",
            "a certificate payload contains no readable certificate",
            if: { $0.payloads.contains(where: \.lacksCertificate) }),
        Rule(
            "profile-root-not-self-signed", .warning, "Apple Device Management, CertificateRoot",
            "a root payload contains a certificate that is not self-signed",
            if: {
                $0.payloads.contains {
                    $0.type == "com.apple.security.root" && !$0.certificates.allSatisfy(\.isSelfSigned)
                }
            }),
    ]
}
