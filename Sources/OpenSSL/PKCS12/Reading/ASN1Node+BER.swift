internal import SwiftASN1

// Files in practice are BER as often as DER, so everything here reads both. Errors of swift-asn1 become `PKCS12Error`
// with the position in the file.

extension ASN1Node {
    /// Parses bytes that consist of exactly one BER object.
    ///
    /// - Throws: `malformed` for any other bytes; `refused` for more than `PKCS12Limits.objects` nested objects.
    static func parse(_ bytes: ArraySlice<UInt8>, at place: String) throws(PKCS12Error) -> ASN1Node {
        // Parsing a million objects takes seconds. swift-asn1 parses tag numbers that OpenSSL rejects, so the objects
        // after such a tag would not be counted.
        let most = PKCS12Limits.objects
        guard let count = unsafe bytes.withUnsafeBytes({ unsafe ObjectHeader.count(in: $0, most: most) })
        else {
            throw .malformed(place, expected: "one BER object")
        }
        guard count <= most else {
            throw .refused(
                .objects, reason: "refused: \(place) consists of more than \(most) ASN.1 objects")
        }
        do {
            return try BER.parse(bytes)
        } catch {
            throw .malformed(place, expected: "one BER object")
        }
    }

    /// Parses the first object and counts the octets after it. Some writers leave octets after the object, and every
    /// other reader accepts them.
    ///
    /// - Returns: The object, and the number of octets after it.
    /// - Throws: `malformed`.
    static func parseFirst(
        _ bytes: ArraySlice<UInt8>, at place: String
    ) throws(PKCS12Error) -> (node: ASN1Node, trailing: Int) {
        let count = unsafe bytes.withUnsafeBytes { unsafe objectCount($0) } ?? bytes.count
        return (try parse(bytes.prefix(count), at: place), bytes.count - count)
    }

    /// Returns the number of octets of the first object, including its header. Nil if the bytes do not start with a
    /// valid header, or if the length is indefinite.
    static func objectCount(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let header = unsafe ObjectHeader(bytes), !header.isIndefinite else { return nil }
        return header.length + header.contentLength
    }

    /// Returns an iterator over the children of a constructed node.
    ///
    /// - Throws: `malformed` for a node of a different tag or a primitive one.
    func children(
        _ identifier: ASN1Identifier = .sequence, at place: String
    ) throws(PKCS12Error) -> ASN1NodeCollection.Iterator {
        guard self.identifier == identifier, case .constructed(let children) = content else {
            throw .malformed(place, expected: identifier == .set ? "a SET" : "a SEQUENCE")
        }
        return children.makeIterator()
    }

    /// Returns the only child of the explicit context-specific tag `[tag]`.
    ///
    /// - Throws: `malformed` for another tag, no child or several.
    func explicit(_ tag: UInt, at place: String) throws(PKCS12Error) -> ASN1Node {
        guard identifier == .context(tag), case .constructed(let children) = content else {
            throw .malformed(place, expected: "[\(tag)]")
        }
        var iterator = children.makeIterator()
        guard let child = iterator.next(), iterator.next() == nil else {
            throw .malformed(place, expected: "one object inside [\(tag)]")
        }
        return child
    }

    /// Returns the object identifier in the node, as dotted text.
    ///
    /// - Throws: `malformed` for a node of a different type.
    func objectIdentifier(at place: String) throws(PKCS12Error) -> String {
        guard identifier == .objectIdentifier, case .primitive = content else {
            throw .malformed(place, expected: "an OBJECT IDENTIFIER")
        }
        if let oid = try? ASN1ObjectIdentifier(berEncoded: self) {
            return oid.oidComponents.map(String.init).joined(separator: ".")
        }
        guard let dotted = ObjectIdentifierName.dotted(encoded: encodedBytes) else {
            throw .malformed(place, expected: "an OBJECT IDENTIFIER")
        }
        return dotted
    }

    /// Returns the octets of an OCTET STRING, primitive or constructed.
    ///
    /// - Throws: `malformed` for a node of a different type.
    func octets(
        _ identifier: ASN1Identifier = .octetString, at place: String
    ) throws(PKCS12Error) -> ArraySlice<UInt8> {
        do {
            return try ASN1OctetString(berEncoded: self, withIdentifier: identifier).bytes
        } catch {
            throw .malformed(place, expected: "an OCTET STRING")
        }
    }

    /// Returns the INTEGER in the node; nil if the number has more than seven significant octets. Padding octets,
    /// which DER forbids, are accepted.
    ///
    /// - Throws: `malformed` for a node of a different type.
    func integer(at place: String) throws(PKCS12Error) -> Int? {
        guard identifier == .integer, case .primitive(let bytes) = content, let first = bytes.first else {
            throw .malformed(place, expected: "an INTEGER")
        }
        let isNegative = first >= 0x80
        let digits = bytes.drop { $0 == (isNegative ? 0xFF : 0) }
        guard digits.count < MemoryLayout<Int>.size else { return nil }
        return digits.reduce(isNegative ? -1 : 0) { $0 << 8 | Int($1) }
    }

    /// Whether the node is a constructed OCTET STRING, one that is split into pieces. BER allows it and DER does not.
    var isConstructedString: Bool {
        if case .constructed = content { return identifier == .octetString }
        return false
    }
}

extension ASN1Identifier {
    /// The context-specific tag `[number]`.
    static func context(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }
}

extension ASN1NodeCollection.Iterator {
    /// Returns the next node.
    ///
    /// - Parameter expected: The name of the required node, for the error, such as `a salt`.
    /// - Throws: `malformed` if no node is left.
    mutating func required(_ expected: String, at place: String) throws(PKCS12Error) -> ASN1Node {
        guard let node = next() else { throw .malformed(place, expected: expected) }
        return node
    }

    /// Returns the next node if it has the tag `identifier`; otherwise returns nil without moving past the node.
    mutating func optional(_ identifier: ASN1Identifier) -> ASN1Node? {
        var ahead = self
        guard let node = ahead.next(), node.identifier == identifier else { return nil }
        self = ahead
        return node
    }

    /// Checks that no node is left.
    ///
    /// - Throws: `malformed` if a node is left.
    mutating func end(at place: String) throws(PKCS12Error) {
        guard next() == nil else { throw .malformed(place, expected: "nothing more") }
    }
}

/// An AlgorithmIdentifier (RFC 5280, 4.1.1.2): an object identifier with its parameters.
struct AlgorithmIdentifier {
    /// The algorithm, dotted.
    let oid: String
    /// The undecoded parameters, if any.
    let parameters: ASN1Node?

    /// Reads an AlgorithmIdentifier, which may have an implicit tag.
    ///
    /// - Throws: `malformed`.
    init(
        _ node: ASN1Node, tag: ASN1Identifier = .sequence, at place: String
    ) throws(PKCS12Error) {
        var fields = try node.children(tag, at: place)
        oid = try fields.required("an algorithm", at: place).objectIdentifier(at: place)
        parameters = fields.next()
        try fields.end(at: place)
    }

    /// Returns the parameters of an algorithm that requires parameters.
    ///
    /// - Throws: `malformed` if they are absent.
    func requiredParameters(at place: String) throws(PKCS12Error) -> ASN1Node {
        guard let parameters else { throw .malformed(place, expected: "the parameters of the algorithm") }
        return parameters
    }
}
