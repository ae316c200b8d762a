internal import Glibc
internal import OpenSSL

/// The form of a file, of a part, or of the content of a layer: S/MIME, bare CMS, multipart, a message, or something
/// else.
struct MessageForm {
    enum Kind {
        /// A CMS structure: bare, or the body of an S/MIME message. The source returns its bytes.
        case cms(any ByteSource)
        /// multipart/signed, with the boundary between its parts.
        case signed(LineReader, boundary: String)
        /// multipart/signed with ambiguous parameters, or without a boundary that can be used.
        case signedWithoutBoundary
        /// multipart/mixed, with the boundary between its parts.
        case mixed(LineReader, boundary: String)
        /// Another multipart type, with the boundary between its parts.
        case multipart(LineReader, boundary: String)
        /// message/rfc822, message/global or message/news (RFC 2046, 5.2.1; RFC 6532, 3.7; RFC 1036), message/rfc2822, or a
        /// file with the name of a message. The source returns the message inside.
        case message(any ByteSource)
        /// Any other content.
        case plain
    }

    /// The role of a file in a message, which determines how its header is read.
    enum Entity {
        /// The whole message, which may be bare CMS.
        case file
        /// A message inside another one.
        case message
        /// A part, or the content of a layer.
        case part
        /// A part of multipart/digest, which is a message by default (RFC 2046, 5.1.5).
        case digestPart
    }

    let kind: Kind
    /// The media type in lower case; text/plain by default (RFC 2045, 5.2), or message/rfc822 in multipart/digest.
    let type: String
    /// The headers; nil if the file has no headers.
    let header: MailHeader?
    /// Whether other programs could determine another media type: the headers are malformed, too large or ambiguous.
    private(set) var isAmbiguous = false
    /// The limit that the headers exceed, as a sentence without a full stop; nil if they were read.
    private(set) var limit: String?
    /// Whether mail programs could find an S/MIME message, or parts, that ``kind`` does not describe.
    private(set) var hidesMessage = false
    /// Whether OpenSSL could decode other Base64 than the body. It ignores the declared encoding of a message, always
    /// decodes Base64, and skips the lines before it, as well as a long first line. By default it also searches bare CMS
    /// for the fields of a message.
    private var hasOtherBase64 = false
    /// Whether the file is a message inside another one, and ends after its header. Bounces contain such messages.
    private(set) var isHeaderOnly = false

    /// Determines the form of a file from its first lines.
    ///
    /// - Throws: `CMSError` for headers that are too large or damaged; `FileError`.
    init(_ descriptor: CInt, as entity: Entity) throws {
        let isOuter = entity == .file
        let defaultType = entity == .digestPart ? "message/rfc822" : "text/plain"
        if isOuter, let body = try Self.bareCMS(descriptor) {
            (header, type, kind) = (nil, defaultType, .cms(body))
            hasOtherBase64 = try HiddenMessage.isInsideCMS(descriptor)
            return
        }
        if isOuter, try Self.isMailboxOfSeveralMessages(descriptor) {
            throw CMSError(.malformed, "the file is a mailbox with more than one message")
        }
        var reader = try LineReader(descriptor)
        do {
            let fields = try MailHeader.read(&reader, as: entity)
            guard fields?.fields.count ?? 0 <= MailLimits.fields else {
                throw CMSError(
                    .overLimit, "a header of the message has more than \(MailLimits.fields) fields")
            }
            header = fields
        } catch let error as CMSError where !isOuter && [.malformed, .overLimit].contains(error.code) {
            // The content of a message may be any bytes, so malformed headers are not an error.
            header = nil
            isAmbiguous = true
            limit = error.code == .overLimit ? error.reason : nil
        }
        if !isAmbiguous {
            // Some programs skip empty lines before the header of a message.
            isAmbiguous =
                try header?.isAmbiguous ?? (entity == .message || !Self.beginsWithEmptyLine(descriptor))
        }
        if isOuter, let header, header.fields.filter({ $0.is("Content-Type") }).count > 1 {
            throw CMSError(.malformed, "the message has more than one Content-Type field")
        }
        if let header, let type = header.contentType {
            (self.type, kind) = (type.name, Self.kind(type, header, reader))
        } else {
            type = defaultType
            let isMessage = entity == .digestPart && !isAmbiguous
            kind = isMessage ? Self.message(header, reader) : .plain
        }
        if case .plain = kind {
            let body = header == nil ? try LineReader(descriptor) : reader
            hidesMessage = try HiddenMessage(
                descriptor: descriptor, header: header ?? MailHeader([]), reader: body
            ).isPossible()
        }
        if case .cms = kind {
            let isBase64 = header?.transferEncoding == "base64"
            hasOtherBase64 = try isBase64 ? reader.containsLongLine() : reader.containsCMSInBase64()
        }
        if isAmbiguous, try HiddenMessage.declaresType(descriptor) { hidesMessage = true }
        if entity == .message, header != nil, !isAmbiguous {
            isHeaderOnly = try reader.isAtBlankEnd()
        }
    }

    /// The source of bare CMS in DER or PEM; nil if the file begins with something else.
    ///
    /// Programs choose differently between several blocks of PEM, and ignore blocks whose first line is not exact.
    ///
    /// - Throws: `CMSError` for PEM in which programs could choose another block; `FileError`.
    private static func bareCMS(_ descriptor: CInt) throws -> EncodedBody? {
        var reader = try LineReader(descriptor)
        guard let first = try reader.next() else { return nil }
        // The header of a SEQUENCE with a length in the long or indefinite form. Text never begins with these bytes.
        if first.count > 1, first.first == 0x30, first[first.startIndex + 1] >= 0x80 {
            return EncodedBody(try LineReader(descriptor), isBase64: false)
        }
        let begin = "-----BEGIN "
        guard first.starts(with: (begin + "CMS").utf8) || first.starts(with: (begin + "PKCS7").utf8) else {
            return nil
        }
        let line = String(decoding: first, as: UTF8.self).trimmedOfBlanks
        guard first.last == 0x0A, [begin + "CMS-----", begin + "PKCS7-----"].contains(line) else {
            throw CMSError(
                .malformed, "the first line is not exactly that of a CMS message in PEM, -----BEGIN CMS-----")
        }
        guard try !reader.precedes(Array("-----BEGIN".utf8)) else {
            throw CMSError(.malformed, "the file contains more than one block of PEM")
        }
        return EncodedBody(reader, isBase64: true) { $0.starts(with: "-----END".utf8) }
    }

    /// Whether the file begins with the line of a mailbox file, and contains another one. Not all programs require an
    /// empty line before it.
    private static func isMailboxOfSeveralMessages(_ descriptor: CInt) throws -> Bool {
        var reader = try LineReader(descriptor)
        let mark = Array("From ".utf8)
        guard try reader.next()?.starts(with: mark) == true else { return false }
        return try reader.peek { try $0.next()?.starts(with: mark) == true } || reader.precedes([0x0A] + mark)
    }

    /// A message inside another one, or ``Kind/plain`` if its transfer encoding is not allowed (RFC 2045, 6.4). Some
    /// programs decode it nevertheless.
    private static func message(_ header: MailHeader?, _ reader: LineReader) -> Kind {
        let encoding = header?.transferEncoding ?? "7bit"
        guard ["7bit", "8bit", "binary", "base64"].contains(encoding) else { return .plain }
        return .message(EncodedBody(reader, isBase64: encoding == "base64"))
    }

    /// The media types of messages inside another message.
    private static let messageTypes: Set<String> = [
        "message/rfc822", "message/rfc2822", "message/global", "message/news",
    ]

    /// The media types of S/MIME signatures.
    static let signatureTypes: Set<String> = [
        "application/pkcs7-signature", "application/x-pkcs7-signature",
    ]

    /// Whether an entity of this media type contains other entities.
    var isContainer: Bool { type.hasPrefix("multipart/") || Self.messageTypes.contains(type) }

    /// The form of an entity that has a media type.
    private static func kind(_ type: ContentType, _ header: MailHeader, _ reader: LineReader) -> Kind {
        // Multiparts allow no other encodings (RFC 2045, 6.4). Some programs decode them nevertheless.
        let isUnencoded = ["7bit", "8bit", "binary"].contains(header.transferEncoding)
        switch type.name {
        // Evolution also opens the last two.
        case "application/pkcs7-mime", "application/x-pkcs7-mime", "application/xpkcs7mime",
            "application/xpkcs7-mime":
            return .cms(EncodedBody(reader, isBase64: header.transferEncoding == "base64"))
        case "multipart/signed"
        where signatureTypes.contains(type.parameters["protocol"]?.lowercased() ?? ""):
            return type.boundary.map { .signed(reader, boundary: $0) } ?? .signedWithoutBoundary
        case let name where name.hasPrefix("multipart/") && !isUnencoded: return .plain
        case "multipart/mixed": return type.boundary.map { .mixed(reader, boundary: $0) } ?? .plain
        case let name where name.hasPrefix("multipart/"):
            return type.boundary.map { .multipart(reader, boundary: $0) } ?? .plain
        case let name where messageTypes.contains(name): return message(header, reader)
        default:
            // Some mail programs change the type of attachments that they do not recognize (RFC 8551, 3.9). Some declare
            // the name only in Content-Disposition.
            if header.hasNameOfMessage { return message(header, reader) }
            guard type.name == "application/octet-stream", !type.isAmbiguous else { return .plain }
            var name = header.decodedFileName(in: "Content-Type")
            if name == "" { name = header.decodedFileName(in: "Content-Disposition") }
            return name?.hasSuffix(".p7m") == true
                ? .cms(EncodedBody(reader, isBase64: header.transferEncoding == "base64")) : .plain
        }
    }
}

extension MessageForm {
    /// Whether a message that is the whole content of an S/MIME part protects the header fields of the message around it
    /// (RFC 8551, 3.1). Otherwise it is only forwarded: the sender declares that, protects the fields with the parameter
    /// hp of RFC 9788, 2.1.1, or attached the message as a file.
    var isWrapper: Bool {
        let parameters = header?.contentType?.parameters ?? [:]
        let isProtected = ["clear", "cipher"].contains(parameters["hp"]?.lowercased())
        let disposition = (header?["Content-Disposition"] ?? "").prefix { $0 != ";" }
        let isAttachment = String(disposition).trimmedOfBlanks.lowercased() == "attachment"
        return Self.messageTypes.contains(type) && !isAttachment && !isProtected
            && parameters["forwarded"]?.lowercased() != "yes"
    }

    /// Why some programs could find other parts, or another S/MIME message, in this entity; nil if there is no reason.
    ///
    /// - Parameter owner: The name of the entity, such as `part 1`.
    /// - Returns: A sentence without a full stop.
    func ambiguity(of owner: String) -> String? {
        guard let header else {
            return hasOtherBase64
                ? "\(owner) contains fields of another message, which some programs read" : nil
        }
        switch kind {
        case .cms:
            if let finding = header.ambiguity(ofSMIME: owner, allowsBase64: true) { return finding }
        case .signed:
            if let finding = header.ambiguity(ofSMIME: owner, allowsBase64: false) { return finding }
        default: return header.ambiguity(of: owner)
        }
        return hasOtherBase64
            ? "\(owner) contains Base64 that some programs read instead of the message" : nil
    }

    /// Whether this is a multipart whose parts were not found because programs could find different parameters.
    var isUndivided: Bool {
        guard case .plain = kind else { return false }
        return type.hasPrefix("multipart/") && header?.contentType?.isAmbiguous == true
    }

    /// Whether no mail program loads remote content for the part: plain text and signatures, without the file name of
    /// another type.
    var isInert: Bool {
        let types = Self.signatureTypes.union(["text/plain", "application/pgp-signature"])
        let hasOnlyInertNames = header.map { header in
            header.fileNames != nil && header.hasOnlyFileNames(endingIn: [".txt", ".asc", ".sig", ".p7s"])
        }
        return !isAmbiguous && !hidesMessage && types.contains(type) && hasOnlyInertNames ?? true
    }

    /// Whether the file is empty, or its first line is, so that it has no headers.
    private static func beginsWithEmptyLine(_ descriptor: CInt) throws -> Bool {
        var reader = try LineReader(descriptor)
        return try reader.next()?.withoutLineEnd.isEmpty ?? true
    }
}

extension ContentType {
    /// The boundary between the parts; nil if it is missing, ambiguous, empty, or longer than `MailLimits.boundary`.
    ///
    /// It must consist of printable ASCII without blanks, because programs differ in how they unfold and decode it. Some
    /// remove angle brackets and quotes, or decode an encoded word (RFC 2047, 2).
    fileprivate var boundary: String? {
        guard !hasSeveralBoundaries, !isAmbiguous, let boundary = parameters["boundary"],
            (1...MailLimits.boundary).contains(boundary.utf8.count),
            boundary.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"\\<>".utf8.contains($0) })
        else { return nil }
        return boundary.contains("=?") && boundary.contains("?=") ? nil : boundary
    }
}

extension MailHeader {
    /// Why some programs could find other fields or another encoding in this header; nil if there is no reason.
    ///
    /// - Parameter owner: The name of the entity, such as `part 1`.
    /// - Returns: A sentence without a full stop.
    fileprivate func ambiguity(of owner: String) -> String? {
        if let lineAmbiguity { return "the header of \(owner) \(lineAmbiguity)" }
        return hasSeveralEncodings ? "the header of \(owner) contains different transfer encodings" : nil
    }

    /// Why some programs could read an S/MIME message or a signature with this header differently; nil if there is no
    /// reason.
    ///
    /// - Parameters:
    ///   - owner: The name of the entity, such as `part 1`.
    ///   - allowsBase64: Whether the body is CMS, which can be in Base64 and have a file name, and not multipart.
    /// - Returns: A sentence without a full stop.
    func ambiguity(ofSMIME owner: String, allowsBase64: Bool) -> String? {
        if let finding = ambiguity(of: owner) { return finding }
        // Some programs decode other encodings.
        let encodings = ["7bit", "8bit", "binary"] + (allowsBase64 ? ["base64"] : [])
        guard encodings.contains(transferEncoding) else {
            return "the transfer encoding of \(owner) is not allowed for its media type"
        }
        // Some programs read the message as text if it declares another version.
        guard fields.filter({ $0.is("MIME-Version") }).map(\.value).allSatisfy(Self.isCurrentVersion) else {
            return "\(owner) has another MIME version than 1.0"
        }
        // The parameters of CMS divide nothing. multipart/signed with ambiguous parameters has no boundary.
        if contentType?.isNameExact == false { return "the Content-Type of \(owner) is ambiguous" }
        return allowsBase64 && !hasOnlyNamesOfSMIME
            ? "\(owner) has a file name that is ambiguous or does not end in .p7s, .p7m, .p7c or .p7z" : nil
    }
}
