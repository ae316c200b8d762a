internal import COpenSSL

/// A CMS message without its content: recipients, signatures, certificates and attributes.
///
/// OpenSSL decodes a message in one piece, which would require the content to fit into memory. OpenSSL also accepts a
/// detached content from a separate source (CMS_decrypt(3), CMS_verify(3)). The content is therefore separated while
/// the message is read, and OpenSSL decodes only the rest, which is small.
package struct CMSStructure: Sendable {
    /// The kinds of message that can be opened.
    package enum Kind: Sendable, Hashable {
        /// SignedData (RFC 5652, 5).
        case signedData
        /// EnvelopedData (RFC 5652, 6).
        case envelopedData
        /// AuthEnvelopedData (RFC 5083).
        case authEnvelopedData
    }

    /// The kind of the message.
    package let kind: Kind
    /// Whether the message contained its content. A detached signature does not.
    package let hasContent: Bool
    /// The algorithm that encrypts the content, as a dotted object identifier; nil for a signed message.
    package let contentEncryption: String?
    /// The digest algorithms that a signed message declares (RFC 5652, 5.1), as dotted object identifiers; empty for an
    /// encrypted message.
    let digestAlgorithms: Set<String>
    /// The fields of AuthEnvelopedData that authenticate the content; nil for other messages.
    let authentication: AuthenticationFields?
    /// The message in BER, without its content, OriginatorInfo (RFC 5652, 6.1), and the attributes of AuthEnvelopedData
    /// (RFC 5083, 2.1).
    let encoded: [UInt8]

    /// Reads a message to its end.
    ///
    /// - Parameters:
    ///   - source: The message in BER or DER.
    ///   - content: Receives the content in pieces: the ciphertext, or the signed octets.
    /// - Throws: `CMSError`: `.malformed`, `.unsupported` for a content type without a ``Kind``, `.overLimit`; any
    ///   error of the source or of `content`.
    package init(reading source: any ByteSource, content: (ArraySlice<UInt8>) throws -> Void) throws {
        self = try CMSStructureReader.read(source, content)
    }

    /// Reads the content type at the beginning of a message (ContentInfo, RFC 5652, 3), as a dotted object identifier.
    /// Returns nil if the source does not begin with a ContentInfo. The rest of the source is not read.
    ///
    /// - Throws: Any error of the source.
    package static func contentType(at source: any ByteSource) throws -> String? {
        try CMSStructureReader.contentType(at: source)
    }

    fileprivate init(_ kind: Kind, _ reader: CMSStructureReader) {
        self.kind = kind
        hasContent = reader.hasContent
        contentEncryption = reader.contentEncryption
        digestAlgorithms = reader.digestAlgorithms
        authentication = kind == .authEnvelopedData ? reader.authentication : nil
        encoded = reader.encoded
    }
}

/// Reads a ``CMSStructure``.
private struct CMSStructureReader {
    private var stream: BERStream
    private(set) var encoded: [UInt8] = []
    private(set) var hasContent = false
    private(set) var contentEncryption: String?
    private(set) var digestAlgorithms: Set<String> = []
    private(set) var authentication = AuthenticationFields()
    /// The type of the content of AuthEnvelopedData, as a dotted object identifier.
    private var contentType: String?

    private init(_ source: any ByteSource) { stream = BERStream(source) }

    static func read(
        _ source: any ByteSource, _ content: (ArraySlice<UInt8>) throws -> Void
    ) throws -> CMSStructure {
        var reader = CMSStructureReader(source)
        var kind: CMSStructure.Kind?
        let outer = try reader.stream.header()
        guard outer.is(V_ASN1_SEQUENCE), outer.isConstructed else {
            throw CMSError(.malformed, "the message is not valid CMS")
        }
        try reader.children(of: outer) { reader, header, index in
            switch index {
            case 0:
                guard header.is(V_ASN1_OBJECT) else {
                    throw CMSError(.malformed, "the message has no content type")
                }
                kind = try Self.kind(try reader.identifier(header))
            case 1 where header.isContext(0) && header.isConstructed:
                try reader.children(of: header) { reader, header, index in
                    guard index == 0, header.is(V_ASN1_SEQUENCE), header.isConstructed, let kind else {
                        throw CMSError(.malformed, "the message has more than one content element")
                    }
                    try reader.typedContent(of: header, kind, content)
                }
            default: throw CMSError(.malformed, "the message has more than one content element")
            }
        }
        guard let kind, reader.encoded.count > 16 else {
            throw CMSError(.malformed, "the message has no content")
        }
        try reader.stream.finish()
        return CMSStructure(kind, reader)
    }

    static func contentType(at source: any ByteSource) throws -> String? {
        var reader = CMSStructureReader(source)
        do {
            let outer = try reader.stream.header()
            let type = try reader.stream.header()
            // No content type is that long.
            guard outer.is(V_ASN1_SEQUENCE), outer.isConstructed, type.is(V_ASN1_OBJECT),
                type.length ?? 0 <= 64
            else { return nil }
            return try reader.identifier(type)
        } catch is CMSError {
            return nil
        }
    }

    private static func kind(_ oid: String) throws(CMSError) -> CMSStructure.Kind {
        switch oid {
        case OID.signedData: .signedData
        case OID.envelopedData: .envelopedData
        case OID.authEnvelopedData: .authEnvelopedData
        case OID.compressedData:
            throw CMSError(
                .unsupported(oid: oid),
                "the message is compressed (RFC 3274), which OpenSSL supports only if it was built with zlib")
        default:
            throw CMSError(
                .unsupported(oid: oid),
                "the type of the message, \(ObjectIdentifierName.name(of: oid)), is not supported: it is neither signed nor encrypted for recipients"
            )
        }
    }

    /// Reads SignedData, EnvelopedData or AuthEnvelopedData. In each of them, the first SEQUENCE contains the content.
    private mutating func typedContent(
        of header: BERStream.Header, _ kind: CMSStructure.Kind, _ content: (ArraySlice<UInt8>) throws -> Void
    ) throws {
        var isFound = false
        try children(of: header) { reader, header, index in
            if !isFound, header.is(V_ASN1_SEQUENCE), header.isConstructed {
                isFound = true
                try reader.encapsulatedContent(of: header, kind, content)
            } else if !isFound, kind == .signedData, header.is(V_ASN1_SET), header.isConstructed {
                try reader.digestAlgorithms(of: header)
            } else if index == 1, kind != .signedData, header.isContext(0) {
                // The certificates and lists of the originator (OriginatorInfo, RFC 5652, 6.1) are not used. OpenSSL
                // would load the keys of the certificates, which can take long (`KeyLoadingPolicy`).
                try reader.omit(header)
            } else if isFound, kind == .authEnvelopedData {
                try reader.authenticationField(header)
            } else {
                try reader.copy(header)
            }
        }
        // Only authenticated attributes protect the type of the content.
        if let contentType, contentType != OID.data, !authentication.hasAttributes {
            throw CMSError(
                .malformed,
                "the content of the message has the type \(ObjectIdentifierName.name(of: contentType)), which requires authenticated attributes (RFC 5083, 2.1)"
            )
        }
    }

    /// Reads a field after the content of AuthEnvelopedData (RFC 5083, 2.1): authAttrs, mac or unauthAttrs.
    ///
    /// Both attributes are omitted, because the templates of OpenSSL 3.0 contain other tags for them. `CMSEnvelope`
    /// rejects messages with authAttrs.
    private mutating func authenticationField(_ header: BERStream.Header) throws {
        if header.is(V_ASN1_OCTET_STRING), authentication.tagLength == nil {
            // An attacker could forge a message by guessing a short tag. The length of a constructed string includes the
            // headers of its segments, which may contain a single byte.
            guard !header.isConstructed, let length = header.length, length >= CMSLimits.tag else {
                throw CMSError(
                    .malformed,
                    "the authentication tag of the message is constructed, or shorter than "
                        + "\(CMSLimits.tag) bytes")
            }
            authentication.tagLength = length
            try copy(header)
        } else if header.isContext(1), header.isConstructed, authentication.tagLength == nil,
            !authentication.hasAttributes
        {
            authentication.hasAttributes = true
            try omit(header)
        } else if header.isContext(2), header.isConstructed, authentication.tagLength != nil,
            !authentication.hasUnauthenticatedAttributes
        {
            authentication.hasUnauthenticatedAttributes = true
            try omit(header)
        } else {
            throw CMSError(
                .malformed, "the message has a field that AuthEnvelopedData does not contain (RFC 5083, 2.1)")
        }
    }

    /// Copies the digest algorithms of SignedData (RFC 5652, 5.1), each once. OpenSSL would digest the content again for
    /// every repetition.
    private mutating func digestAlgorithms(of header: BERStream.Header) throws {
        var seen: Set<String> = []
        try children(of: header) { reader, header, _ in
            guard header.is(V_ASN1_SEQUENCE), header.isConstructed else {
                throw CMSError(.malformed, "a digest algorithm of the message is not a SEQUENCE")
            }
            let start = reader.encoded.count
            var isRepeated = false
            try reader.children(of: header) { reader, header, index in
                if index == 0 {
                    isRepeated = try !seen.insert(reader.identifier(header)).inserted
                } else {
                    try reader.copy(header)
                }
            }
            if isRepeated { reader.encoded.removeSubrange(start...) }
            guard seen.count <= CMSLimits.digests else {
                throw CMSError(
                    .overLimit, "the message has more than \(CMSLimits.digests) digest algorithms")
            }
        }
        digestAlgorithms = seen
    }

    /// Reads EncapsulatedContentInfo (RFC 5652, 5.2) or EncryptedContentInfo (6.1), and separates the content.
    private mutating func encapsulatedContent(
        of header: BERStream.Header, _ kind: CMSStructure.Kind, _ content: (ArraySlice<UInt8>) throws -> Void
    ) throws {
        try children(of: header) { reader, header, index in
            if index == 1, kind != .signedData {
                guard header.is(V_ASN1_SEQUENCE), header.isConstructed else {
                    throw CMSError(.malformed, "the message does not specify its cipher")
                }
                return try reader.children(of: header) { reader, header, index in
                    if index == 0, header.is(V_ASN1_OBJECT) {
                        reader.contentEncryption = try reader.identifier(header)
                    } else {
                        let start = reader.encoded.count
                        try reader.copy(header)
                        if index == 1 { reader.authentication.parameters = Array(reader.encoded[start...]) }
                    }
                }
            }
            if index == 0, kind == .authEnvelopedData, header.is(V_ASN1_OBJECT) {
                reader.contentType = try reader.identifier(header)
                return
            }
            guard header.isContext(0) else { return try reader.copy(header) }
            guard !reader.hasContent else {
                throw CMSError(.malformed, "the message has more than one content element")
            }
            reader.hasContent = true
            if kind == .signedData {
                // EXPLICIT: the value contains an OCTET STRING.
                try reader.children(of: header, isCopied: false) { reader, header, index in
                    guard index == 0 else {
                        throw CMSError(.malformed, "the message has more than one content element")
                    }
                    try reader.octets(header, depth: 0, content)
                }
            } else {
                // IMPLICIT: the value is the OCTET STRING, with another tag.
                try reader.octets(header, depth: 0, isTagged: true, content)
            }
        }
    }

    /// Passes the bytes of an OCTET STRING to `content`. It may consist of other OCTET STRINGs (X.690, 8.7).
    private mutating func octets(
        _ header: BERStream.Header, depth: Int, isTagged: Bool = false,
        _ content: (ArraySlice<UInt8>) throws -> Void
    ) throws {
        guard isTagged || header.is(V_ASN1_OCTET_STRING) else {
            throw CMSError(.malformed, "the content of the message is not an OCTET STRING")
        }
        guard depth < CMSLimits.nesting else { throw Self.tooDeep }
        guard header.isConstructed else { return try stream.pass(header.length ?? 0, to: content) }
        try children(of: header, isCopied: false) { reader, header, _ in
            try reader.octets(header, depth: depth + 1, content)
        }
    }

    /// Copies an object identifier and returns it in dotted form.
    private mutating func identifier(_ header: BERStream.Header) throws -> String {
        let start = encoded.count
        try copy(header)
        guard let oid = ObjectIdentifierName.dotted(encoded: encoded[start...]) else {
            throw CMSError(.malformed, "an object identifier in the message is malformed")
        }
        return oid
    }

    /// Reads a value without copying it.
    private mutating func omit(_ header: BERStream.Header) throws {
        let start = encoded.count
        try copy(header)
        encoded.removeSubrange(start...)
    }

    /// Copies a value unchanged. `children` checks the size afterwards.
    private mutating func copy(_ header: BERStream.Header, depth: Int = 0) throws {
        guard depth < CMSLimits.nesting else { throw Self.tooDeep }
        if let length = header.length {
            guard length <= CMSLimits.structure - encoded.count else { throw Self.tooLarge }
            append(header.encoded)
            // The closure cannot append to `encoded`, because the stream is also a part of `self`.
            var copied: [UInt8] = []
            try stream.pass(length) { copied += $0 }
            append(copied)
        } else {
            try children(of: header) { reader, header, _ in try reader.copy(header, depth: depth + 1) }
        }
    }

    /// Calls `body` for each value inside a value. If `isCopied` is true, the value is also copied, with an indefinite
    /// length because the content is omitted from it.
    private mutating func children(
        of header: BERStream.Header, isCopied: Bool = true,
        _ body: (inout CMSStructureReader, BERStream.Header, Int) throws -> Void
    ) throws {
        if isCopied {
            append(
                unsafe Self.bytes(8) { unsafe ASN1_put_object(&$0, 2, 0, header.tag, header.tagClass) })
        }
        let end = header.length.map { stream.offset + $0 }
        var index = 0
        while end.map({ stream.offset < $0 }) ?? true {
            let child = try stream.header()
            if end == nil, child.isEnd { break }
            if let end, stream.offset + (child.length ?? 0) > end {
                throw CMSError(
                    .malformed, "a value in the message extends past the end of the value that contains it")
            }
            try body(&self, child, index)
            index += 1
            guard encoded.count <= CMSLimits.structure else { throw Self.tooLarge }
        }
        if let end, stream.offset != end {
            throw CMSError(
                .malformed, "a value in the message extends past the end of the value that contains it")
        }
        if isCopied { append(unsafe Self.bytes(2) { unsafe _ = ASN1_put_eoc(&$0) }) }
    }

    private mutating func append(_ bytes: some Sequence<UInt8>) { encoded += bytes }

    /// Returns the bytes that `write` stores at a pointer, at most `capacity`. `write` advances the pointer past them.
    private static func bytes(
        _ capacity: Int, _ write: (inout UnsafeMutablePointer<UInt8>?) -> Void
    ) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var cursor: UnsafeMutablePointer<UInt8>? = unsafe start
            unsafe write(&cursor)
            guard let end = unsafe cursor else { return }
            count = unsafe end - start
        }
    }

    private static let tooDeep = CMSError(
        .overLimit, "the values of the message are nested more than \(CMSLimits.nesting) levels deep")
    private static let tooLarge = CMSError(
        .overLimit, "the message has more than \(CMSLimits.structure) bytes in addition to its content")
}

extension CMSStructure {
    /// Whether the message contains neither content nor signatures: it transports certificates and revocation lists (RFC
    /// 8551, 3.8).
    package var isCertificateList: Bool {
        guard kind == .signedData, !hasContent else { return false }
        let signers = try? unsafe withMessage(in: .standard) {
            unsafe OpenSSLASN1.elements(CMS_get0_SignerInfos($0)).count
        }
        return signers == 0
    }

    /// Decodes the structure and passes it to `body`. The message is freed when `body` returns.
    ///
    /// - Parameters:
    ///   - context: The context that supplies the algorithms.
    ///   - body: Uses the `CMS_ContentInfo`.
    /// - Throws: `CMSError.Code.malformed` if OpenSSL cannot decode the structure; any error of `body`.
    func withMessage<Result>(
        in context: LibraryContext, _ body: (OpaquePointer) throws -> Result
    ) throws -> Result {
        var message = unsafe CMS_ContentInfo_new_ex(context.pointer, nil)
        defer { unsafe CMS_ContentInfo_free(message) }
        let decoded = unsafe encoded.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var cursor = bytes.baseAddress
            return unsafe d2i_CMS_ContentInfo(&message, &cursor, bytes.count)
        }
        guard let decoded = unsafe decoded else {
            throw CMSError.draining(.malformed, "the message is not valid CMS")
        }
        OpenSSLError.discardQueue()
        return unsafe try body(decoded)
    }
}
