import Foundation
import OpenSSL

/// A UTCTime or GeneralizedTime, in its encoded form.
struct EncodedTime: Sendable {
    let isGeneralized: Bool
    let text: String

    /// Reads a time; nil if the element is neither a UTCTime nor a GeneralizedTime.
    init?(_ element: DERElement) {
        switch element.tag {
        case .utcTime: isGeneralized = false
        case .generalizedTime: isGeneralized = true
        default: return nil
        }
        text = String(decoding: element.octets, as: UTF8.self)
    }

    /// Whether the time is in UTC with seconds and without a fraction (RFC 5280 4.1.2.5.1 and 4.1.2.5.2).
    var isWellFormed: Bool {
        text.utf8.count == (isGeneralized ? 15 : 13) && text.utf8.last == UInt8(ascii: "Z")
            && text.utf8.dropLast().allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether octets are a GeneralizedTime in UTC with seconds and without a fraction.
    static func isGeneralizedTime(_ octets: ArraySlice<UInt8>) -> Bool {
        octets.count == 15 && octets.last == UInt8(ascii: "Z")
            && octets.dropLast().allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether the time type matches the year: UTCTime through 2049, GeneralizedTime from 2050.
    var hasRightType: Bool { !isGeneralized || !isWellFormed || text >= "2050" }
}

/// An AlgorithmIdentifier, in its encoded form.
struct EncodedAlgorithm: Sendable {
    let identifier: String
    /// The algorithm's parameters; nil if they are absent.
    let parameters: DERElement?
    let encoded: [UInt8]

    init?(_ element: DERElement?) {
        guard let element, element.tag == .sequence, let first = element.children.first,
            let identifier = first.objectIdentifier
        else { return nil }
        self.identifier = identifier
        parameters = element.children.dropFirst().first
        encoded = Array(element.encoded)
    }
}

/// A certificate or list extension, in its encoded form.
struct EncodedExtension: Sendable {
    let oid: String
    let isCritical: Bool
    /// Whether `critical` is encoded as false. DER requires omitting this default value.
    let encodesDefault: Bool
    /// Whether `critical` is encoded as neither 00 nor FF.
    let hasMalformedFlag: Bool
    let value: [UInt8]
    /// The extension's contents as DER; nil if they are not DER.
    let element: DERElement?

    init?(_ item: DERElement) {
        let fields = item.children
        guard item.tag == .sequence, let oid = fields.first?.objectIdentifier, let last = fields.last,
            last.tag == .octetString
        else { return nil }
        self.oid = oid
        let flag = fields.count == 3 && fields[1].tag == .boolean ? fields[1] : nil
        isCritical = flag?.octets.first.map { $0 != 0 } ?? false
        encodesDefault = flag?.octets.first == 0
        hasMalformedFlag = flag?.isMalformedBoolean ?? false
        value = Array(last.octets)
        element = DERElement(value)
    }

    /// The name of the extension's type, with its object identifier.
    var name: String { "\(NamedIdentifier.extension(oid))" }
}

extension DERElement {
    /// Whether the element is a BOOLEAN that is encoded as neither 00 nor FF (X.690 11.1).
    var isMalformedBoolean: Bool { tag == .boolean && octets != [0] && octets != [0xFF] }

    /// Whether the contents are those of a BIT STRING with named bits: the unused bits are zero, and the last used bit
    /// is not (X.690 11.2).
    var isNamedBitList: Bool {
        guard let unused = octets.first, unused < 8 else { return false }
        guard let last = octets.dropFirst().last else { return unused == 0 }
        return last.trailingZeroBitCount == Int(unused)
    }
}

/// An attribute of a distinguished name, in its encoded form.
struct EncodedAttribute: Sendable {
    let type: String
    let value: DERElement

    /// Returns all attributes of a distinguished name.
    static func all(in name: DERElement?) -> [EncodedAttribute] {
        (name?.children ?? []).flatMap(\.children).compactMap {
            guard let type = $0.children.first?.objectIdentifier, let value = $0.children.last else {
                return nil
            }
            return EncodedAttribute(type: type, value: value)
        }
    }
}

/// The fields of a certificate, in their encoded form (RFC 5280 4.1).
struct EncodedCertificate: Sendable {
    let innerAlgorithm: EncodedAlgorithm?
    let outerAlgorithm: EncodedAlgorithm?
    let times: [EncodedTime]
    let issuer: [EncodedAttribute]
    let subject: [EncodedAttribute]
    let keyAlgorithm: EncodedAlgorithm?
    let hasUniqueIdentifiers: Bool
    let extensions: [EncodedExtension]
    /// Whether the certificate contains an empty list of extensions.
    let hasEmptyExtensions: Bool

    /// The maximum size of a certificate whose encoding is examined, in bytes. A person's certificate has about 2,000
    /// bytes.
    static let largest = 1 << 20

    /// Reads a certificate's encoding; nil if it is not DER, lacks fields, or is too large.
    init?(_ der: [UInt8]) {
        guard der.count <= Self.largest, let certificate = DERElement(der) else { return nil }
        let outer = certificate.children
        guard outer.count == 3 else { return nil }
        var fields = outer[0].children
        if fields.first?.tag == .context(0) { fields.removeFirst() }
        guard fields.count >= 6 else { return nil }
        innerAlgorithm = EncodedAlgorithm(fields[1])
        outerAlgorithm = EncodedAlgorithm(outer[1])
        issuer = EncodedAttribute.all(in: fields[2])
        times = fields[3].children.compactMap(EncodedTime.init)
        subject = EncodedAttribute.all(in: fields[4])
        keyAlgorithm = EncodedAlgorithm(fields[5].children.first)
        let rest = fields.dropFirst(6)
        hasUniqueIdentifiers = rest.contains { [.context(1), .context(2)].contains($0.tag) }
        let list = rest.first { $0.tag == .context(3) }?.children.first
        extensions = list?.children.prefix(Self.mostExtensions).compactMap(EncodedExtension.init) ?? []
        hasEmptyExtensions = list.map { $0.children.isEmpty } ?? false
    }

    /// The maximum number of extensions that are examined.
    static let mostExtensions = 1_000
}
