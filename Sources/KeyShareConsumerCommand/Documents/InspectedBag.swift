package import OpenSSL
internal import StandardExtensions

/// A bag that is neither part of an identity nor a readable X.509 certificate, such as a key without its certificate,
/// an unreadable key, or a secret.
package struct InspectedBag: Codable, Sendable {
    /// The kinds of contents of a bag.
    package enum Kind: String, Codable, Sendable {
        case key
        case unusableKey = "unusable-key"
        case lockedKey = "locked-key"
        case unreadableKey = "unreadable-key"
        case unreadableCertificate = "unreadable-certificate"
        case revocationList = "revocation-list"
        case secret
        case otherCertificate = "other-certificate"
        case unknown
    }

    /// The contents of the bag.
    package let kind: Kind
    /// The position of the bag in the file, if it is known.
    package private(set) var place: String?
    /// The algorithm of the key or of its encryption, or the dotted identifier of the bag's type.
    package private(set) var type: String?
    /// The length of the key in bits; nil if it is not known.
    package private(set) var keyBits: Int?
    /// The friendly name of the bag; nil if absent.
    package private(set) var friendlyName: String?
    /// The local key identifier of the bag in hexadecimal; nil if absent.
    package private(set) var localKeyID: String?

    /// Returns the bags of a file that contain neither a key of an identity nor a readable X.509 certificate.
    package static func all(in contents: PKCS12Contents) -> [InspectedBag] {
        contents.keys.map { key in
            let curve = if case .ec(let curve) = key.privateKey.type { " \(curve)" } else { "" }
            return InspectedBag(
                kind: .key, type: key.privateKey.type.name + curve, keyBits: key.privateKey.bits,
                friendlyName: key.friendlyName, localKeyID: key.localKeyID?.upperHex)
        }
            + contents.unknownKeys.map {
                InspectedBag(
                    kind: .unusableKey, type: $0.name, friendlyName: $0.friendlyName,
                    localKeyID: $0.localKeyID?.upperHex)
            }
            + contents.lockedKeys.map {
                InspectedBag(
                    kind: .lockedKey, place: $0.place, type: $0.encryption, friendlyName: $0.friendlyName,
                    localKeyID: $0.localKeyID?.upperHex)
            }
            + contents.unreadableKeys.map {
                InspectedBag(kind: .unreadableKey, place: $0.place, friendlyName: $0.friendlyName)
            }
            + contents.unreadableCertificates.map {
                InspectedBag(kind: .unreadableCertificate, place: $0.place, friendlyName: $0.friendlyName)
            }
            + contents.otherBags.map { bag in
                let (kind, type): (Kind, String?) =
                    switch bag.kind {
                    case .revocationList: (.revocationList, nil)
                    case .secret(let type): (.secret, type)
                    case .certificate(let type): (.otherCertificate, type)
                    case .unknown(let type): (.unknown, type)
                    }
                return InspectedBag(kind: kind, type: type, friendlyName: bag.friendlyName)
            }
    }

    /// The contents of the bag, as a heading.
    package var title: String {
        switch kind {
        case .key: "key without certificate"
        case .unusableKey: "key of an unsupported kind"
        case .lockedKey: "key that cannot be decrypted"
        case .unreadableKey: "key that cannot be read"
        case .unreadableCertificate: "certificate that cannot be read"
        case .revocationList: "revocation list"
        case .secret: "secret"
        case .otherCertificate: "certificate that is not X.509"
        case .unknown: "bag of an unknown type"
        }
    }

    /// The fields with their values, for text output.
    package var fields: [(name: String, value: String)] {
        let bits = keyBits.map { ", \($0) bits" } ?? ""
        return [
            ("place", place), ("type", type.map { $0 + bits }), ("friendly name", friendlyName),
            ("local key ID", localKeyID),
        ].compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}
