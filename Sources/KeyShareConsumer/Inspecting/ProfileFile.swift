internal import DeviceSimulation
internal import Foundation
package import OpenSSL
internal import SimulatedKeychain

/// A configuration profile of an Apple device (`.mobileconfig`): its description and its payloads. Nothing is verified.
package struct ProfileFile: Sendable {
    /// One dictionary of `PayloadContent`.
    package struct Payload: Sendable {
        /// The type, such as `com.apple.security.root`; nil if it is missing.
        package let type: String?
        /// The identifier in reverse DNS notation; nil if it is missing.
        package let identifier: String?
        /// The UUID; nil if it is missing.
        package let uuid: String?
        /// The name that is shown to the user; nil if it is missing.
        package let name: String?
        /// The certificates in the payload.
        package let certificates: [Certificate]
        /// Whether the payload should contain a certificate but contains none that can be read.
        package let lacksCertificate: Bool

        fileprivate init(_ values: [String: Any]) {
            type = values["PayloadType"] as? String
            identifier = values["PayloadIdentifier"] as? String
            uuid = values["PayloadUUID"] as? String
            name = values["PayloadDisplayName"] as? String
            guard Self.certificateTypes.contains(type ?? "") else {
                (certificates, lacksCertificate) = ([], false)
                return
            }
            let content = (values["PayloadContent"] as? Data).map { [UInt8]($0) } ?? []
            certificates =
                (try? Certificate(der: content)).map { [$0] } ?? (try? Certificate.pem(content)) ?? []
            lacksCertificate = certificates.isEmpty
        }

        /// The types of payloads that contain a certificate. A payload with PKCS #12 also contains a password and is
        /// not opened.
        private static let certificateTypes: Set<String> = [
            "com.apple.security.root", "com.apple.security.pkcs1", "com.apple.security.pem",
        ]
    }

    /// The keys of the profile itself.
    package let header: Payload
    /// The organization; nil if it is missing.
    package let organization: String?
    /// The description for the user; nil if it is missing.
    package let description: String?
    /// Whether the user is prevented from removing the profile; nil if it is missing.
    package let isRemovalDisallowed: Bool?
    /// The payloads, in order.
    package let payloads: [Payload]
    /// Whether the profile is wrapped in a signed message (RFC 5652, 5).
    package let isSigned: Bool
    /// The certificates in the signed message.
    package let signerCertificates: [Certificate]

    /// The maximum size of a profile in bytes.
    static let largest = 4 << 20
    /// The maximum number of lists and mappings in a profile.
    static let mostContainers = 1_000

    /// Reads a profile: a property list in XML or binary form, or a signed message that contains one. Nil if the bytes
    /// are not a profile, or exceed the limits.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.largest else { return nil }
        if bytes.first == 0x30 {
            guard let signed = Self.signed(bytes) else { return nil }
            self.init(plist: signed.content, isSigned: true, signed.certificates)
        } else {
            self.init(plist: bytes, isSigned: false, [])
        }
    }

    private init?(plist bytes: [UInt8], isSigned: Bool, _ certificates: [Certificate]) {
        let data = Data(bytes)
        guard Self.isLikely(bytes),
            BoundedPropertyList.isBounded(data, largest: Self.largest, mostContainers: Self.mostContainers),
            let values = unsafe (try? PropertyListSerialization.propertyList(from: data, format: nil))
                as? [String: Any],
            values["PayloadType"] != nil || values["PayloadContent"] != nil
        else { return nil }
        header = Payload(values.filter { $0.key != "PayloadContent" })
        organization = values["PayloadOrganization"] as? String
        description = values["PayloadDescription"] as? String
        isRemovalDisallowed = values["PayloadRemovalDisallowed"] as? Bool
        payloads = ((values["PayloadContent"] as? [Any]) ?? []).compactMap {
            ($0 as? [String: Any]).map(Payload.init)
        }
        self.isSigned = isSigned
        signerCertificates = certificates
    }

    /// Whether the bytes begin like a property list.
    private static func isLikely(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: Array("bplist00".utf8)) { return true }
        return bytes.prefix(1_024).firstRange(of: Array("<plist".utf8)) != nil
    }

    /// The content and the certificates of a signed message; nil for other messages.
    private static func signed(_ bytes: [UInt8]) -> (content: [UInt8], certificates: [Certificate])? {
        var content: [UInt8] = []
        guard let structure = try? CMSStructure(reading: ArraySource(bytes), content: { content += $0 }),
            structure.kind == .signedData, isLikely(content)
        else { return nil }
        return (content, (try? CMSSignature(structure))?.certificates ?? [])
    }
}
