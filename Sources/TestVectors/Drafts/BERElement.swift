internal import SwiftASN1

/// A BER element that can be changed, and encoded in the forms that BER allows and DER forbids, or with a wrong length.
///
/// Values are encoded by swift-asn1. Only identifiers and lengths are written here, because swift-asn1 writes DER.
package struct BERElement: Sendable, Hashable {
    /// The contents octets.
    package enum Content: Sendable, Hashable {
        case primitive([UInt8])
        case constructed([BERElement])
    }

    /// The form of the length octets (X.690, 8.1.3).
    package enum Length: Sendable, Hashable {
        /// The shortest definite form, as in DER.
        case shortest
        /// The long definite form with this number of subsequent octets, at most 126.
        case long(octets: Int)
        /// The indefinite form, which ends with two zero octets. It is valid only for constructed elements.
        case indefinite
        /// The shortest definite form of a wrong length: the true one plus this number.
        case wrong(by: Int)
    }

    /// The class and the number of the tag, without the bit of constructed elements.
    package var tag: UInt8
    /// The contents octets.
    package var content: Content
    /// The form of the length octets.
    package var length = Length.shortest
    /// Octets that follow the element.
    package var trailer: [UInt8] = []

    /// Creates an element.
    package init(tag: UInt8, _ content: Content) {
        self.tag = tag
        self.content = content
    }

    /// Parses one BER element with all elements inside. The forms of lengths are not kept.
    ///
    /// - Throws: `ASN1Error` of swift-asn1 for bytes that are not one BER element.
    package init(parsing bytes: some Collection<UInt8>) throws {
        self.init(try BER.parse(Array(bytes)))
    }

    private init(_ node: ASN1Node) {
        let number = UInt8(truncatingIfNeeded: node.identifier.tagNumber) & 0x1F
        let tagClass: UInt8 =
            switch node.identifier.tagClass {
            case .universal: 0
            case .application: 0x40
            case .contextSpecific: 0x80
            case .private: 0xC0
            }
        tag = tagClass | number
        switch node.content {
        case .primitive(let bytes): content = .primitive(Array(bytes))
        case .constructed(let nodes): content = .constructed(nodes.map { BERElement($0) })
        }
    }

    /// The child elements; empty for a primitive element. Setting them has no effect on a primitive element.
    package var children: [BERElement] {
        get { if case .constructed(let children) = content { children } else { [] } }
        set { if case .constructed = content { content = .constructed(newValue) } }
    }

    /// The octets of a primitive element; empty for a constructed one. Setting them has no effect on a constructed
    /// element.
    package var octets: [UInt8] {
        get { if case .primitive(let octets) = content { octets } else { [] } }
        set { if case .primitive = content { content = .primitive(newValue) } }
    }

    /// The encoded element.
    package var bytes: [UInt8] {
        var first = tag
        let body: [UInt8]
        switch content {
        case .primitive(let octets): body = octets
        case .constructed(let children):
            first |= 0x20
            body = children.flatMap(\.bytes)
        }
        let encoded: [UInt8] =
            switch length {
            case .shortest: [first] + Self.lengthOctets(body.count) + body
            case .long(let octets): [first, 0x80 | UInt8(octets)] + Self.number(body.count, octets) + body
            case .indefinite: [first, 0x80] + body + [0, 0]
            case .wrong(let difference): [first] + Self.lengthOctets(max(0, body.count + difference)) + body
            }
        return encoded + trailer
    }

    private static func lengthOctets(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        let octets = (count.bitWidth - count.leadingZeroBitCount + 7) / 8
        return [0x80 | UInt8(octets)] + number(count, octets)
    }

    private static func number(_ value: Int, _ octets: Int) -> [UInt8] {
        (0..<octets).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> (8 * $0)) : 0 }
    }
}

extension BERElement {
    /// No element has the given path.
    package struct NoSuchElement: Error {}

    /// Changes the element at a path, which consists of one index for each level.
    ///
    /// - Throws: `NoSuchElement` if no element has this path. Otherwise a test vector could lose its defect unnoticed.
    package mutating func edit(_ path: [Int], _ body: (inout BERElement) throws -> Void) throws {
        guard let index = path.first else { return try body(&self) }
        guard children.indices.contains(index) else { throw NoSuchElement() }
        try children[index].edit(Array(path.dropFirst()), body)
    }

    /// Changes every element, from the inside to the outside.
    package mutating func editAll(_ body: (inout BERElement) -> Void) {
        children = children.map { child in
            var child = child
            child.editAll(body)
            return child
        }
        body(&self)
    }

    /// The paths of all elements, the element itself first.
    package var paths: [[Int]] {
        [[]] + children.enumerated().flatMap { index, child in child.paths.map { [index] + $0 } }
    }

    /// The element at a path, or nil.
    package func element(at path: [Int]) -> BERElement? {
        guard let index = path.first else { return self }
        guard children.indices.contains(index) else { return nil }
        return children[index].element(at: Array(path.dropFirst()))
    }

    /// Makes the lengths of all constructed elements indefinite.
    package mutating func makeIndefinite() {
        editAll { if case .constructed = $0.content { $0.length = .indefinite } }
    }

    /// Splits a primitive string into a constructed string of pieces (X.690, 8.7.3).
    ///
    /// - Parameters:
    ///   - size: The size of each piece, in octets.
    ///   - piece: The tag of the pieces.
    package mutating func split(every size: Int, into piece: UInt8 = Self.octetStringTag) {
        guard case .primitive(let octets) = content else { return }
        content = .constructed(
            stride(from: 0, to: octets.count, by: max(1, size)).map {
                BERElement(tag: piece, .primitive(Array(octets[$0..<min($0 + max(1, size), octets.count)])))
            })
    }
}

// The elements of a PKCS #12 file.
extension BERElement {
    /// The tag of OCTET STRING.
    package static let octetStringTag: UInt8 = 0x04

    /// A SEQUENCE of `elements`.
    package static func sequence(_ elements: [BERElement]) -> BERElement {
        BERElement(tag: 0x10, .constructed(elements))
    }

    /// A SET. The elements are written in the given order.
    package static func set(_ elements: [BERElement]) -> BERElement {
        BERElement(tag: 0x11, .constructed(elements))
    }

    /// The explicit context-specific tag `[tag]` around an element.
    package static func explicit(_ tag: UInt8, _ element: BERElement) -> BERElement {
        BERElement(tag: 0x80 | tag, .constructed([element]))
    }

    /// An OCTET STRING.
    package static func octetString(_ octets: [UInt8]) -> BERElement {
        BERElement(tag: octetStringTag, .primitive(octets))
    }

    /// A string of any type, by the number of its universal tag.
    package static func string(_ tag: UInt8, _ octets: [UInt8]) -> BERElement {
        BERElement(tag: tag, .primitive(octets))
    }

    /// A BMPString.
    package static func bmpString(_ text: String) -> BERElement {
        string(0x1E, text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
    }

    /// NULL.
    package static let null = BERElement(tag: 0x05, .primitive([]))

    /// An INTEGER.
    ///
    /// - Throws: `ASN1Error`, which does not happen for numbers.
    package static func integer(_ value: Int) throws -> BERElement {
        var coder = DER.Serializer()
        try coder.serialize(value)
        return try BERElement(parsing: coder.serializedBytes)
    }

    /// An OBJECT IDENTIFIER.
    ///
    /// - Throws: `ASN1Error` if `dotted` does not consist of dotted numbers.
    package static func objectIdentifier(_ dotted: String) throws -> BERElement {
        var coder = DER.Serializer()
        try coder.serialize(ASN1ObjectIdentifier(dotRepresentation: dotted))
        return try BERElement(parsing: coder.serializedBytes)
    }

    /// An AlgorithmIdentifier.
    ///
    /// - Throws: `ASN1Error` if `dotted` does not consist of dotted numbers.
    package static func algorithm(_ dotted: String, _ parameters: BERElement? = .null) throws -> BERElement {
        .sequence([try objectIdentifier(dotted)] + (parameters.map { [$0] } ?? []))
    }
}
