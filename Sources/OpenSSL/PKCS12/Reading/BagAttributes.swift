internal import SwiftASN1

/// The attributes of a bag (RFC 7292, 4.2). An invalid value is noted, but never makes the file unreadable.
struct BagAttributes {
    /// The readable name; nil if it is absent or not text.
    private(set) var friendlyName: String?
    /// The octets that link a key to a certificate.
    private(set) var localKeyID: [UInt8]?
    /// Whether the bag has the attribute with which Java marks a certificate as trusted.
    private(set) var isTrusted = false
    /// The attributes other than the friendly name, the localKeyID and Java's trust attribute.
    private(set) var others: [PKCS12Attribute] = []
    /// Whether the friendly name is not a BMPString, has an odd length, or was truncated.
    private(set) var isFriendlyNameOdd = false
    /// The number of friendly names and localKeyIDs that have no value or several values.
    private(set) var oddCount = 0

    /// Reads the attributes of a bag; `node` is nil for a bag without attributes.
    ///
    /// - Parameter count: The number of attributes in the file so far, to which the attributes of the bag are added.
    /// - Throws: `malformed` if `node` is not a SET of attributes; `refused` if the file has too many attributes.
    init(
        _ node: ASN1Node?, limits: PKCS12Limits, count: inout Int, at place: String
    ) throws(PKCS12Error) {
        guard let node else { return }
        var attributes = try node.children(.set, at: "\(place), attributes")
        while let attribute = attributes.next() {
            count += 1
            guard count <= limits.attributes else {
                throw .refused(
                    .attributes,
                    reason: "refused: the bags of the file have more than \(limits.attributes) attributes")
            }
            var fields = try attribute.children(at: "\(place), attribute")
            let oid = try fields.required("an attribute type", at: "\(place), attribute")
                .objectIdentifier(at: "\(place), attribute")
            let (value, isOnly) = fields.next().map(Self.firstValue) ?? (nil, false)
            switch oid {
            case OID.friendlyName:
                take(friendlyName: value, limits: limits)
                if !isOnly { oddCount += 1 }
            case OID.localKeyID:
                localKeyID = value.flatMap { try? Array($0.octets(at: "")) } ?? localKeyID
                if !isOnly { oddCount += 1 }
            case OID.javaTrustedKeyUsage: isTrusted = true
            default:
                others.append(
                    PKCS12Attribute(
                        oid: oid, name: ObjectIdentifierName.name(of: oid),
                        text: value.flatMap { AttributeText($0, most: limits.friendlyName) }?.text))
            }
        }
    }

    private mutating func take(friendlyName value: ASN1Node?, limits: PKCS12Limits) {
        guard let decoded = value.flatMap({ AttributeText($0, most: limits.friendlyName) }) else {
            isFriendlyNameOdd = true
            return
        }
        isFriendlyNameOdd = decoded.isOdd || decoded.isCut || value?.identifier != .bmpString
        friendlyName = decoded.text
    }

    /// Returns the first value of an attribute, if any, and whether it is the only value.
    private static func firstValue(_ values: ASN1Node) -> (value: ASN1Node?, isOnly: Bool) {
        guard values.identifier == .set, case .constructed(let children) = values.content else {
            return (nil, false)
        }
        var iterator = children.makeIterator()
        let first = iterator.next()
        return (first, first != nil && iterator.next() == nil)
    }
}

/// The text of an attribute's value, in any ASN.1 string type.
private struct AttributeText {
    /// The text up to the first zero character or the maximum length.
    let text: String
    /// Whether the text is longer than the maximum length.
    let isCut: Bool
    /// Whether the octets are malformed for their type, such as a BMPString of odd length.
    let isOdd: Bool

    /// Decodes a value; nil for a value that is not text.
    ///
    /// - Parameters:
    ///   - node: The value.
    ///   - most: The maximum length in Unicode scalars. Octets beyond that length are not decoded, because many text
    ///     operations take more than linear time, and the file's author chooses the length.
    init?(_ node: ASN1Node, most: Int) {
        guard case .primitive(let bytes) = node.content else { return nil }
        // A character takes at most four octets in any encoding. One more character shows that the text is longer.
        let octets = Array(bytes.prefix(4 * (most + 1)))
        let decoded: String.UnicodeScalarView
        switch node.identifier {
        case .bmpString:
            let units = stride(from: 0, to: octets.count - 1, by: 2).map { index -> UInt16 in
                UInt16(octets[index]) << 8 | UInt16(octets[index + 1])
            }
            decoded = String(decoding: units, as: UTF16.self).unicodeScalars
            isOdd = bytes.count % 2 != 0 || decoded.contains("\u{FFFD}")
        case .universalString:
            let units = stride(from: 0, to: octets.count - 3, by: 4).map { index in
                octets[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            decoded = String(decoding: units, as: UTF32.self).unicodeScalars
            isOdd = bytes.count % 4 != 0
        case .teletexString:
            decoded = String.UnicodeScalarView(octets.map(Unicode.Scalar.init))
            isOdd = false
        case .utf8String, .printableString, .ia5String, .visibleString, .octetString, .numericString:
            decoded = String(decoding: octets, as: UTF8.self).unicodeScalars
            isOdd = decoded.contains("\u{FFFD}")
        default: return nil
        }
        // Some writers include the zero character that ends a C string. Scalars are compared, because comparing
        // characters normalizes them, in quadratic time for combining marks.
        let whole = decoded.prefix { $0 != "\0" }
        let kept = whole.prefix(most)
        isCut = kept.endIndex < whole.endIndex
        text = String(kept)
    }
}
