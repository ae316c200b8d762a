internal import CertificateLint
package import CommandSupport
package import Foundation
internal import KeyShareConsumer
internal import OpenSSL
internal import StandardExtensions

/// A private or public key in a file. It contains no secret.
package struct KeyDocument: Codable, Sendable {
    /// Whether a password encrypts the key; the other values are then unknown.
    package let encrypted: Bool
    /// The encryption scheme of an encrypted key; nil if it is unknown or the key is not encrypted.
    package let encryption: String?
    /// The parameters of the encryption scheme; nil if they are unknown or the key is not encrypted.
    package let encryptionParameters: InspectionDocument.Encryption?
    /// The parameters as text; nil if they are unknown or the key is not encrypted.
    package let encryptionText: String?
    /// The kind of key, such as `RSA`; nil if it is encrypted.
    package let type: String?
    /// The curve of an elliptic-curve key; nil for other keys.
    package let curve: String?
    /// The size in bits; nil if it is unknown.
    package let bits: Int?
    /// The SHA-256 of the public key (SubjectPublicKeyInfo) in hexadecimal digits; nil if it is unknown.
    package let publicKeySHA256: String?
    /// The findings about the key.
    package let findings: [FindingDocument]

    init(_ key: PublicKey) { self.init(key: key, encryption: nil) }

    init(_ file: PrivateKeyFile) {
        switch file {
        case .plain(let key): self.init(key: key.publicKey, encryption: nil)
        case .encrypted(let scheme, let layer):
            self.init(key: nil, encryption: LintedKeyEncryption(scheme: scheme, layer: layer))
        }
    }

    /// Creates the description of a key. A nil `key` means that the key is encrypted.
    private init(key: PublicKey?, encryption linted: LintedKeyEncryption?) {
        encrypted = key == nil
        encryption = linted?.scheme
        encryptionParameters = linted?.layer.map { InspectionDocument.Encryption($0, covers: "keys") }
        encryptionText = linted?.layer?.description
        type = key?.type.name
        curve = key?.curve
        bits = key?.bits
        publicKeySHA256 = key.map { Digest.sha256($0.spki).upperHex }
        let found =
            key.map { CertificateLinter.findings(in: $0) }
            ?? linted.map { CertificateLinter.findings(in: $0) } ?? []
        findings = found.map { FindingDocument($0) }
    }

    /// The names and values for text output.
    var fields: [(name: String, value: String)] {
        if encrypted {
            let salt = encryptionParameters?.saltLength.map { [(name: "salt", value: "\($0) bytes")] }
            return [(name: "encrypted", value: encryptionText ?? encryption ?? "yes")] + (salt ?? [])
        }
        let kind = [type ?? "", curve ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
        return [
            (name: "key", value: "\(kind), \(bits ?? 0) bits"),
            (name: "public key SHA-256", value: publicKeySHA256 ?? ""),
        ]
    }
}

/// A certificate revocation list.
package struct RevocationListDocument: Codable, Sendable {
    /// One revoked certificate.
    package struct Entry: Codable, Sendable {
        /// The serial number in hexadecimal digits.
        package let serial: String
        /// The date of the revocation.
        package let date: Date
        /// The name of the reason (RFC 5280 5.3.1), or its number; null without a reason.
        @Nullable package private(set) var reason: String?

        fileprivate init(_ entry: CertificateRevocationList.Entry) {
            serial = entry.serialNumber.upperHex
            date = entry.date
            reason = entry.reason.map(RevocationReasonCode.name)
        }
    }

    /// The issuer in the string format of RFC 4514.
    package let issuer: String
    /// The time of issue.
    package let thisUpdate: Date
    /// The time by which the next list will be issued; null if the list does not state it.
    @Nullable package private(set) var nextUpdate: Date?
    /// The list number in hexadecimal digits; null if it is missing.
    @Nullable package private(set) var number: String?
    /// The name of the signature algorithm.
    package let signatureAlgorithm: String
    /// The extensions, in order.
    package let extensions: [ExtensionDocument]
    /// The number of revoked certificates.
    package let entryCount: Int
    /// The revoked certificates; at most the first 10,000.
    package let entries: [Entry]
    /// The findings about the list.
    package let findings: [FindingDocument]

    private static let mostEntries = 10_000
    private static let mostLines = 20

    init(_ list: CertificateRevocationList, at date: Date) {
        issuer = "\(list.issuer)"
        thisUpdate = list.thisUpdate
        signatureAlgorithm = list.signatureAlgorithm
        extensions = list.extensions.map { ExtensionDocument($0) }
        entryCount = list.entries.count
        entries = list.entries.prefix(Self.mostEntries).map(Entry.init)
        findings = CertificateLinter.findings(in: list, at: date).map { FindingDocument($0) }
        nextUpdate = list.nextUpdate
        number = list.number?.upperHex
    }

    /// The names and values for text output, with the first entries.
    var fields: [(name: String, value: String)] {
        var fields = [
            ("issuer", issuer), ("this update", thisUpdate.utcText),
            ("next update", nextUpdate?.utcText ?? "none"), ("number", number ?? "none"),
            ("signature algorithm", signatureAlgorithm),
        ]
        if !extensions.isEmpty { fields.append(("extensions", ExtensionDocument.text(extensions))) }
        fields.append(("entries", "\(entryCount)"))
        fields += entries.prefix(Self.mostLines).map { entry in
            ("revoked", "\(entry.serial) on \(entry.date.utcText)" + (entry.reason.map { ", \($0)" } ?? ""))
        }
        if entryCount > Self.mostLines { fields.append(("revoked", "\(entryCount - Self.mostLines) more")) }
        return fields.map { (name: $0.0, value: $0.1) }
    }
}

/// The names of the reasons for a revocation.
enum RevocationReasonCode {
    /// The names in the order of their numbers (RFC 5280 5.3.1).
    private static let names = [
        "unspecified", "keyCompromise", "cACompromise", "affiliationChanged", "superseded",
        "cessationOfOperation", "certificateHold", "7", "removeFromCRL", "privilegeWithdrawn", "aACompromise",
    ]

    static func name(_ number: Int) -> String { names.indices.contains(number) ? names[number] : "\(number)" }
}

/// An OCSP response.
package struct StatusResponseDocument: Codable, Sendable {
    /// The status of one certificate.
    package struct Single: Codable, Sendable {
        /// The serial number in hexadecimal digits.
        package let serial: String
        /// `good`, `revoked` or `unknown`.
        package let status: String
        /// The date of the revocation; nil for other statuses.
        package let revokedAt: Date?
        /// The reason for the revocation; nil if the response contains none.
        package let reason: String?
        /// The time at which the responder knew the status to be correct; null if it cannot be read.
        @Nullable package private(set) var thisUpdate: Date?
        /// The time by which a newer status will be available; null if the response does not state it.
        @Nullable package private(set) var nextUpdate: Date?

        fileprivate init(_ single: StatusResponse.Contents.Single) {
            serial = single.serialNumber.upperHex
            switch single.status {
            case .good: (status, revokedAt, reason) = ("good", nil, nil)
            case .unknown: (status, revokedAt, reason) = ("unknown", nil, nil)
            case .revoked(let date, let number):
                (status, revokedAt, reason) = ("revoked", date, number.map(RevocationReasonCode.name))
            }
            thisUpdate = single.thisUpdate
            nextUpdate = single.nextUpdate
        }

        fileprivate var text: String {
            var parts = ["\(serial) \(status)"]
            if let revokedAt { parts.append("on \(revokedAt.utcText)") }
            if let reason { parts.append(reason) }
            parts.append("as of \(thisUpdate?.utcText ?? "an unreadable time")")
            if let nextUpdate { parts.append("until \(nextUpdate.utcText)") }
            return parts.joined(separator: ", ")
        }
    }

    /// The error that the responder returned instead of statuses; nil for a successful response.
    package let refusal: String?
    /// The signer: a name, or the hash of its key; nil for an unsuccessful response.
    package let responder: String?
    /// The time of the signature; nil for an unsuccessful response.
    package let producedAt: Date?
    /// The name of the signature algorithm; nil for an unsuccessful response.
    package let signatureAlgorithm: String?
    /// The statuses; at most the first 10,000.
    package let statuses: [Single]
    /// The extensions of the response.
    package let extensions: [ExtensionDocument]
    /// The certificates in the response.
    package let certificates: [CertificateDocument]
    /// The findings about the response.
    package let findings: [FindingDocument]

    init(_ response: StatusResponse, at date: Date) {
        let contents = response.contents()
        refusal = response.refusal
        responder =
            switch contents?.responder {
            case .name(let name): "\(name)"
            case .keyHash(let hash): "key \(hash.upperHex)"
            case nil: nil
            }
        producedAt = contents?.producedAt
        signatureAlgorithm = contents.map {
            "\(NamedIdentifier.signature($0.signatureAlgorithm).name ?? $0.signatureAlgorithm)"
        }
        statuses = (contents?.singles ?? []).prefix(10_000).map(Single.init)
        extensions = (contents?.extensions ?? []).map { ExtensionDocument($0) }
        let certificates = contents?.certificates ?? []
        let examination = CertificateDocument.Examination(at: date, among: certificates)
        self.certificates = certificates.map { CertificateDocument($0, examination) }
        findings = CertificateLinter.findings(in: response, at: date).map { FindingDocument($0) }
    }

    /// The names and values for text output.
    var fields: [(name: String, value: String)] {
        if let refusal { return [(name: "responder", value: "no status: \(refusal)")] }
        var fields = [
            ("responder", responder ?? "unknown"), ("produced at", producedAt?.utcText ?? "unknown"),
            ("signature algorithm", signatureAlgorithm ?? "unknown"),
        ]
        fields += statuses.prefix(20).map { ("status", $0.text) }
        if statuses.count > 20 { fields.append(("status", "\(statuses.count - 20) more")) }
        if !extensions.isEmpty { fields.append(("extensions", ExtensionDocument.text(extensions))) }
        return fields.map { (name: $0.0, value: $0.1) }
    }
}

/// A configuration profile.
package struct ProfileDocument: Codable, Sendable {
    /// One dictionary of `PayloadContent`.
    package struct Payload: Codable, Sendable {
        /// The type, such as `com.apple.security.root`; null if it is missing.
        @Nullable package private(set) var type: String?
        /// The identifier; null if it is missing.
        @Nullable package private(set) var identifier: String?
        /// The UUID; null if it is missing.
        @Nullable package private(set) var uuid: String?
        /// The display name; null if it is missing.
        @Nullable package private(set) var name: String?
        /// The certificates in the payload.
        package let certificates: [CertificateDocument]

        fileprivate init(_ payload: ProfileFile.Payload, _ examination: CertificateDocument.Examination) {
            certificates = payload.certificates.map { CertificateDocument($0, examination) }
            type = payload.type
            identifier = payload.identifier
            uuid = payload.uuid
            name = payload.name
        }

        /// The names and values for text output, without the certificates.
        var fields: [(name: String, value: String)] {
            [
                (name: "payload type", value: type ?? "none"), (name: "name", value: name ?? "none"),
                (name: "identifier", value: identifier ?? "none"), (name: "UUID", value: uuid ?? "none"),
            ]
        }
    }

    /// The display name; null if it is missing.
    @Nullable package private(set) var name: String?
    /// The identifier; null if it is missing.
    @Nullable package private(set) var identifier: String?
    /// The UUID; null if it is missing.
    @Nullable package private(set) var uuid: String?
    /// The organization; null if it is missing.
    @Nullable package private(set) var organization: String?
    /// The description; null if it is missing.
    @Nullable package private(set) var description: String?
    /// Whether the profile is signed. The signature is not verified.
    package let signed: Bool
    /// The certificates in the signature.
    package let signerCertificates: [CertificateDocument]
    /// The payloads, in order.
    package let payloads: [Payload]
    /// The findings about the profile itself.
    package let findings: [FindingDocument]

    init(_ profile: ProfileFile, at date: Date) {
        let all = profile.payloads.flatMap(\.certificates) + profile.signerCertificates
        let examination = CertificateDocument.Examination(at: date, among: all)
        signed = profile.isSigned
        signerCertificates = profile.signerCertificates.map { CertificateDocument($0, examination) }
        payloads = profile.payloads.map { Payload($0, examination) }
        findings = CertificateLinter.findings(in: LintedProfile(profile)).map { FindingDocument($0) }
        name = profile.header.name
        identifier = profile.header.identifier
        uuid = profile.header.uuid
        organization = profile.organization
        description = profile.description
    }

    /// The names and values for text output, without payloads.
    var fields: [(name: String, value: String)] {
        var fields = [
            ("name", name ?? "none"), ("identifier", identifier ?? "none"), ("UUID", uuid ?? "none"),
            ("signed", signed ? "yes (the signature is not verified)" : "no"),
        ]
        if let organization { fields.append(("organization", organization)) }
        if let description { fields.append(("description", description)) }
        fields.append(("payloads", "\(payloads.count)"))
        return fields.map { (name: $0.0, value: $0.1) }
    }
}

extension LintedProfile {
    fileprivate init(_ profile: ProfileFile) {
        func payload(_ payload: ProfileFile.Payload) -> Payload {
            Payload(
                type: payload.type, identifier: payload.identifier, uuid: payload.uuid,
                lacksCertificate: payload.lacksCertificate, certificates: payload.certificates)
        }
        self.init(
            header: payload(profile.header), payloads: profile.payloads.map(payload),
            isSigned: profile.isSigned)
    }
}
