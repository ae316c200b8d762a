import PKCS12Compatibility
import CommandSupport
import KeyShareConsumer
import OpenSSL

/// The JSON document of `inspect`.
struct InspectionDocument: Encodable {
    struct MAC: Encodable {
        let present: Bool
        let algorithm: String?
        let iterations: Int?
    }

    struct UnknownKey: Encodable {
        let algorithm: String
        let name: String
    }

    struct Reader: Encodable {
        let reader: String
        let title: String
        let outcome: String
        let reasons: [String]
    }

    let verdict: String
    let message: String
    let mac: MAC
    let encryption: [String]
    let identities: [CertificateDocument]
    let certificates: Int
    /// Those that no key of the file belongs to.
    let certificatesWithoutKey: [CertificateDocument]
    let otherBags: Int
    let keysWithoutCertificate: Int
    let unusableKeys: [UnknownKey]
    /// Everything in the file that is neither identity nor certificate.
    let bags: [InspectedBag]
    let notes: [String]
    /// Only where they were asked for.
    let readers: [Reader]?
    let error: FailureDocument.Body?

    init(_ report: PKCS12Report, _ failure: CommandFailure?, _ verdicts: [ReaderModel.Verdict]?) {
        let contents = report.contents
        verdict = report.verdict.rawValue
        message = report.message
        mac = MAC(
            present: contents.mac != nil, algorithm: contents.mac?.algorithm,
            iterations: contents.mac?.iterations)
        encryption = contents.encryption
        identities = contents.identities.map { CertificateDocument($0) }
        certificates = contents.certificateCount
        certificatesWithoutKey = contents.certificateEntries.map { CertificateDocument($0) }
        otherBags = contents.otherBags.count
        keysWithoutCertificate = contents.keys.count
        unusableKeys = contents.unknownKeys.map { UnknownKey(algorithm: $0.algorithm, name: $0.name) }
        bags = InspectedBag.all(in: contents)
        notes = contents.notes.map(\.description)
        readers = verdicts?.map { verdict in
            Reader(
                reader: verdict.reader.rawValue, title: verdict.reader.title,
                outcome: verdict.outcome.rawValue, reasons: verdict.reasons)
        }
        error = failure.map(FailureDocument.Body.init)
    }
}

/// A key without its certificate, or something that is neither key nor certificate.
struct InspectedBag: Encodable {
    enum Kind: String, Encodable {
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

    let kind: Kind
    /// Which bag it is, where that is known.
    private(set) var place: String?
    /// The key's or the encryption's algorithm in words, or the dotted identifier of a bag's type.
    private(set) var type: String?
    private(set) var keyBits: Int?
    private(set) var friendlyName: String?
    private(set) var localKeyID: String?

    static func all(in contents: PKCS12Contents) -> [InspectedBag] {
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

    /// What it is, for text.
    var title: String {
        switch kind {
        case .key: "key without certificate"
        case .unusableKey: "key of a kind that cannot be used"
        case .lockedKey: "key that does not open"
        case .unreadableKey: "key that cannot be read"
        case .unreadableCertificate: "certificate that cannot be read"
        case .revocationList: "revocation list"
        case .secret: "secret"
        case .otherCertificate: "certificate of another kind than X.509"
        case .unknown: "bag of an unknown type"
        }
    }

    /// Field names with their values, for text.
    var fields: [(name: String, value: String)] {
        let bits = keyBits.map { ", \($0) bits" } ?? ""
        return [
            ("place", place), ("type", type.map { $0 + bits }), ("friendly name", friendlyName),
            ("local key ID", localKeyID),
        ].compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}

extension CommandFailure {
    /// The same, with a word on what the bytes are where they are something else that people have.
    func advising(on bytes: [UInt8]) -> CommandFailure {
        guard status == .malformed else { return self }
        let advice: String
        if FileReader.isZip(bytes) {
            advice = "this is a zip; keyshare-consumer import --file takes it"
        } else if bytes.starts(with: Array("-----BEGIN ".utf8)) {
            advice = "this is PEM; keyshare-consumer classify shows certificates"
        } else if (try? Certificate(der: bytes)) != nil {
            advice = "this is a certificate; keyshare-consumer classify shows it"
        } else {
            return self
        }
        return CommandFailure(status, code: code, message, hint: advice)
    }
}
