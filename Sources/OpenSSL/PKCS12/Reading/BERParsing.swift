internal import COpenSSL
internal import SwiftASN1

/// Reading helpers that turn what swift-asn1 finds into this module's errors and say where it was.
///
/// Files in the field are BER as often as DER, so every reader here takes both.
extension ASN1Node {
    /// Parses exactly one object.
    static func parse(_ bytes: ArraySlice<UInt8>, at place: String) throws(PKCS12Error) -> ASN1Node {
        do {
            return try BER.parse(bytes)
        } catch {
            throw .malformed(place, expected: "one BER object")
        }
    }

    /// Parses the first object, behind which other octets may stand, as some writers leave them there and every
    /// other reader takes them.
    ///
    /// - Returns: the object, and how many octets follow it.
    static func parseFirst(
        _ bytes: ArraySlice<UInt8>, at place: String
    ) throws(PKCS12Error) -> (node: ASN1Node, trailing: Int) {
        let count = unsafe bytes.withUnsafeBytes { unsafe objectCount($0) } ?? bytes.count
        return (try parse(bytes.prefix(count), at: place), bytes.count - count)
    }

    /// How many octets the first object has; nil where its header is none or has no length.
    static func objectCount(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var cursor: UnsafePointer<UInt8>? = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
        var count = 0
        var tag: CInt = 0
        var tagClass: CInt = 0
        let form = unsafe ASN1_get_object(&cursor, &count, &tag, &tagClass, bytes.count)
        // The lowest bit stands for the indefinite length, the highest for what is no header.
        guard form & 0x81 == 0, let start = bytes.baseAddress, let body = unsafe cursor else {
            OpenSSLError.discardQueue()
            return nil
        }
        return unsafe UnsafeRawPointer(body) - start + count
    }

    /// The children of a constructed node.
    func children(
        _ identifier: ASN1Identifier = .sequence, at place: String
    ) throws(PKCS12Error) -> ASN1NodeCollection.Iterator {
        guard self.identifier == identifier, case .constructed(let children) = content else {
            throw .malformed(place, expected: identifier == .set ? "a SET" : "a SEQUENCE")
        }
        return children.makeIterator()
    }

    /// The one child of an explicit context-specific tag.
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

    /// An object identifier as dotted text.
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

    /// The octets of an OCTET STRING, in one piece or many.
    func octets(
        _ identifier: ASN1Identifier = .octetString, at place: String
    ) throws(PKCS12Error) -> ArraySlice<UInt8> {
        do {
            return try ASN1OctetString(berEncoded: self, withIdentifier: identifier).bytes
        } catch {
            throw .malformed(place, expected: "an OCTET STRING")
        }
    }

    /// An INTEGER that fits, or nil for one that does not; padding octets are forgiven.
    func integer(at place: String) throws(PKCS12Error) -> Int? {
        guard identifier == .integer, case .primitive(let bytes) = content, let first = bytes.first else {
            throw .malformed(place, expected: "an INTEGER")
        }
        let isNegative = first >= 0x80
        let digits = bytes.drop { $0 == (isNegative ? 0xFF : 0) }
        guard digits.count < MemoryLayout<Int>.size else { return nil }
        return digits.reduce(isNegative ? -1 : 0) { $0 << 8 | Int($1) }
    }

    /// Whether the node uses what BER has and DER has not, at its own level.
    var isConstructedString: Bool {
        if case .constructed = content { return identifier == .octetString }
        return false
    }
}

extension ASN1Identifier {
    /// A context-specific tag.
    static func context(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }
}

extension ASN1NodeCollection.Iterator {
    /// The next node, which must be there.
    mutating func required(_ expected: String, at place: String) throws(PKCS12Error) -> ASN1Node {
        guard let node = next() else { throw .malformed(place, expected: expected) }
        return node
    }

    /// The next node if it has this tag; else nothing is consumed.
    mutating func optional(_ identifier: ASN1Identifier) -> ASN1Node? {
        var ahead = self
        guard let node = ahead.next(), node.identifier == identifier else { return nil }
        self = ahead
        return node
    }

    /// Throws where something is left that has no place there.
    mutating func end(at place: String) throws(PKCS12Error) {
        guard next() == nil else { throw .malformed(place, expected: "nothing more") }
    }
}

/// AlgorithmIdentifier (RFC 5280, 4.1.1.2): an object identifier and what belongs to it.
struct AlgorithmIdentifier {
    let oid: String
    let parameters: ASN1Node?

    init(_ node: ASN1Node, at place: String) throws(PKCS12Error) {
        var fields = try node.children(at: place)
        oid = try fields.required("an algorithm", at: place).objectIdentifier(at: place)
        parameters = fields.next()
        try fields.end(at: place)
    }

    /// The parameters where they must be there.
    func requiredParameters(at place: String) throws(PKCS12Error) -> ASN1Node {
        guard let parameters else { throw .malformed(place, expected: "the parameters of the algorithm") }
        return parameters
    }
}
