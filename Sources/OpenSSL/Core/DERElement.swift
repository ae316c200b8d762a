internal import SwiftASN1

/// One element of DER and everything inside it, as it is encoded.
///
/// OpenSSL's values hide the encoding: a time has no type, and an absent field looks like a default value. Checks of
/// the encoding itself read elements instead. The bytes are parsed once, by swift-asn1, to a depth of at most 50.
package struct DERElement: Sendable {
    /// The type of an element (Rec. ITU-T X.680, 8).
    package enum Tag: Sendable, Hashable {
        /// A tag of the class universal, such as 16 for a SEQUENCE.
        case universal(Int)
        /// A context-specific tag. Its meaning depends on the enclosing type.
        case context(Int)
        /// A tag of another class.
        case other

        /// BOOLEAN.
        package static let boolean = Tag.universal(1)
        /// INTEGER.
        package static let integer = Tag.universal(2)
        /// BIT STRING.
        package static let bitString = Tag.universal(3)
        /// OCTET STRING.
        package static let octetString = Tag.universal(4)
        /// NULL.
        package static let null = Tag.universal(5)
        /// OBJECT IDENTIFIER.
        package static let objectIdentifier = Tag.universal(6)
        /// ENUMERATED.
        package static let enumerated = Tag.universal(10)
        /// UTF8String.
        package static let utf8String = Tag.universal(12)
        /// SEQUENCE and SEQUENCE OF.
        package static let sequence = Tag.universal(16)
        /// SET and SET OF.
        package static let set = Tag.universal(17)
        /// PrintableString.
        package static let printableString = Tag.universal(19)
        /// TeletexString.
        package static let teletexString = Tag.universal(20)
        /// IA5String.
        package static let ia5String = Tag.universal(22)
        /// UTCTime.
        package static let utcTime = Tag.universal(23)
        /// GeneralizedTime.
        package static let generalizedTime = Tag.universal(24)
        /// VisibleString.
        package static let visibleString = Tag.universal(26)
        /// UniversalString.
        package static let universalString = Tag.universal(28)
        /// BMPString.
        package static let bmpString = Tag.universal(30)
    }

    private let node: ASN1Node

    /// Parses DER; nil if the bytes are not exactly one element in DER.
    package init?(_ der: some Collection<UInt8>) {
        guard let node = try? DER.parse(Array(der)) else { return nil }
        self.node = node
    }

    private init(node: ASN1Node) { self.node = node }

    /// The type of the element.
    package var tag: Tag {
        let number = Int(clamping: node.identifier.tagNumber)
        return switch node.identifier.tagClass {
        case .universal: .universal(number)
        case .contextSpecific: .context(number)
        default: .other
        }
    }

    /// The elements inside; empty for a primitive element.
    package var children: [DERElement] {
        guard case .constructed(let nodes) = node.content else { return [] }
        return nodes.map { DERElement(node: $0) }
    }

    /// The contents of a primitive element; empty for a constructed one.
    package var octets: ArraySlice<UInt8> {
        guard case .primitive(let octets) = node.content else { return [] }
        return octets
    }

    /// Whether the element contains other elements.
    package var isConstructed: Bool {
        if case .constructed = node.content { true } else { false }
    }

    /// The element with its tag and length.
    package var encoded: ArraySlice<UInt8> { node.encodedBytes }

    /// The dotted object identifier; nil if the element is of another type or damaged.
    package var objectIdentifier: String? {
        tag == .objectIdentifier ? ObjectIdentifierName.dotted(encoded: encoded) : nil
    }
}
