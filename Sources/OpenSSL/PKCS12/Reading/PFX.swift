internal import COpenSSL
internal import SwiftASN1

/// The outer structure of a file, called PFX (RFC 7292, 4): version, AuthenticatedSafe and MacData.
struct PFX {
    /// The AuthenticatedSafe: the content of the field authSafe, over which the MAC is computed.
    let authenticatedSafe: ArraySlice<UInt8>
    /// The undecoded MacData; nil if the file has no MAC.
    let macData: ASN1Node?
    /// The number of zero bytes after the file's object.
    let trailingZeroes: Int
    /// Whether the encoding is BER but not DER.
    let isBasicEncoding: Bool

    /// Reads the outer structure (docs/rules.md R7.12).
    ///
    /// - Throws: `refused` for a file that is too large, `unsupportedAlgorithm` for a file that is protected by a
    ///   signature, `malformed`.
    init(_ bytes: [UInt8], limits: PKCS12Limits) throws(PKCS12Error) {
        guard bytes.count <= limits.fileSize else {
            throw .refused(
                .fileSize, reason: "refused: the file has more than \(limits.fileSize) bytes")
        }
        let (root, trailing) = try Self.onlyObject(in: bytes, limits: limits)
        trailingZeroes = trailing

        var fields = try root.children(at: "PFX")
        let first = try fields.required("a version", at: "PFX")
        guard first.identifier != .objectIdentifier else {
            throw .malformed("the file", expected: "PKCS #12, not PKCS #7 (as .p7b files are)")
        }
        let version = try first.integer(at: "PFX version")
        guard version == 3 else { throw .malformed("PFX version", expected: "3") }
        let content = try ContentInfo(fields.required("the authSafe", at: "PFX"), at: "authSafe")
        macData = fields.optional(.sequence)
        try fields.end(at: "PFX")

        switch content.type {
        case OID.data: break
        case OID.signedData:
            throw .unsupported(
                oid: content.type, reason: "the file is protected by a signature instead of a password")
        default: throw .malformed("authSafe", expected: "Data or SignedData, not \(content.type)")
        }
        let octets = try content.requiredContent(at: "authSafe")
        authenticatedSafe = try octets.octets(at: "authSafe content")
        isBasicEncoding = octets.isConstructedString || (try? DER.parse(root.encodedBytes)) == nil
    }

    /// Returns the file's only object, and the number of zero bytes after it.
    private static func onlyObject(
        in bytes: [UInt8], limits: PKCS12Limits
    ) throws(PKCS12Error) -> (ASN1Node, Int) {
        guard bytes.first == 0x30 else { throw .malformed("start of file", expected: "a SEQUENCE") }
        guard let end = extent(of: bytes) else {
            throw .malformed("the file", expected: "one whole BER object")
        }
        let rest = bytes[end...]
        guard rest.count <= limits.trailingZeroes, rest.allSatisfy({ $0 == 0 }) else {
            throw .malformed("end of file", expected: "at most \(limits.trailingZeroes) zero bytes")
        }
        return (try ASN1Node.parse(bytes[..<end], at: "the file"), rest.count)
    }

    /// Returns the number of bytes of the file's first object; nil if the object is incomplete.
    ///
    /// The end of the object cannot be found by skipping the trailing zero bytes, because an object of indefinite
    /// length also ends in zero bytes. OpenSSL finds it in one pass; swift-asn1 would have to build a tree for each
    /// possible length.
    private static func extent(of bytes: [UInt8]) -> Int? {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return nil }
            var cursor: UnsafePointer<UInt8>? = unsafe start
            guard let object = unsafe d2i_ASN1_TYPE(nil, &cursor, buffer.count) else {
                OpenSSLError.discardQueue()
                return nil
            }
            unsafe ASN1_TYPE_free(object)
            return unsafe cursor.map { unsafe $0 - start }
        }
    }
}

/// A ContentInfo (RFC 5652, 3): a content type, and content of that type.
struct ContentInfo {
    /// The content type, a dotted identifier.
    let type: String
    /// The undecoded content, if any.
    let content: ASN1Node?

    /// Reads a ContentInfo.
    ///
    /// - Throws: `malformed`.
    init(_ node: ASN1Node, at place: String) throws(PKCS12Error) {
        var fields = try node.children(at: place)
        type = try fields.required("a content type", at: place).objectIdentifier(at: place)
        content = try fields.next().map { node throws(PKCS12Error) in try node.explicit(0, at: place) }
        try fields.end(at: place)
    }

    /// Returns the content.
    ///
    /// - Throws: `malformed` if the ContentInfo has no content.
    func requiredContent(at place: String) throws(PKCS12Error) -> ASN1Node {
        guard let content else { throw .malformed(place, expected: "content") }
        return content
    }
}
