package import OpenSSL
package import PrivateFiles

/// One encryption or signature that was around a content.
package enum MessageLayer: Sendable {
    /// An encryption, and the certificate whose key opened it.
    case encrypted(ContentCipher, CMSRecipient, recipients: [CMSRecipient], openedBy: Certificate)
    /// A signature that fits, and the certificates of those who signed.
    case signed(by: [Certificate])
}

/// What was inside a message of S/MIME.
package struct OpenedMessage: Sendable {
    /// The content: a MIME entity as a rule. It is a file because it may be larger than memory.
    package let content: UnnamedFile
    /// What was around the content, the outermost first.
    package let layers: [MessageLayer]
    /// The headers of the mail; nil where the message was none.
    package let header: MailHeader?
    /// The SHA-256 of the content.
    package let sha256: [UInt8]

    /// Whether the content can have been altered without anybody noticing: some encryption does not authenticate, and
    /// nobody signed inside of it.
    package var isUnauthenticated: Bool {
        for layer in layers.reversed() {
            switch layer {
            case .signed: return false
            case .encrypted(let cipher, _, _, _): if cipher.isAuthenticated { return false }
            }
        }
        return true
    }
}

/// Opens messages of S/MIME (RFC 8551), and bare ones of CMS in DER, BER or PEM.
///
/// Encryptions and signatures inside one another are opened until there is none. Nothing of the content gets out of
/// ``open(_:)`` before all of them have proved sound.
package struct MessageOpener {
    /// Finds the key of a recipient; nil where it is not at hand.
    package typealias Keys = (CMSRecipient) throws -> (certificate: Certificate, key: PrivateKey)?

    private let scratch: String
    private let keys: Keys

    /// An opener.
    ///
    /// - Parameters:
    ///   - scratch: A folder for files without a name, which hold the message while it is opened.
    ///   - keys: Finds the keys.
    package init(scratch: String, keys: @escaping Keys) {
        self.scratch = scratch
        self.keys = keys
    }

    /// Opens a message.
    ///
    /// - Parameter descriptor: An open file that can be read from its start.
    /// - Throws: `CMSError`: `.unprotected` for a mail that is neither encrypted nor signed, `.missingKey` with the
    ///   recipients, and what `CMSEnvelope` and `CMSSignature` throw; `FileError`; `CertificateError`; what the keys
    ///   throw.
    package func open(_ descriptor: CInt) throws -> OpenedMessage {
        var layers: [MessageLayer] = []
        var header: MailHeader?
        var content: UnnamedFile?
        while true {
            let isOuter = content == nil
            // The form reads from the file, which must stay open as long.
            let layer = try withExtendedLifetime(content) { () throws -> (MessageLayer, UnnamedFile)? in
                let form = try MessageForm(content?.descriptor ?? descriptor, isOuter: isOuter)
                if isOuter { header = form.header }
                return switch form.kind {
                case .plain: nil
                case .cms(let source): try openCMS(source)
                case .signed(let reader, let boundary): try openParts(reader, boundary)
                }
            }
            guard let layer else { break }
            layers.append(layer.0)
            content = layer.1
            guard layers.count < MailLimits.layers else {
                throw CMSError(
                    .overLimit,
                    "the message has more than \(MailLimits.layers - 1) encryptions and signatures inside one another"
                )
            }
        }
        guard let content else {
            throw header == nil
                ? CMSError(.noMessage, "this is neither a mail nor a message in CMS")
                : CMSError(.unprotected, "the mail is neither encrypted nor signed")
        }
        let digest = SHA256Stream()
        try content.rewind()
        while true {
            let bytes = try OpenFile.read(content.descriptor, named: "the message")
            if bytes.isEmpty { break }
            digest.update(bytes[...])
        }
        return OpenedMessage(content: content, layers: layers, header: header, sha256: digest.finish())
    }

    private func openCMS(_ source: any ByteSource) throws -> (MessageLayer, UnnamedFile) {
        let inner = try UnnamedFile(in: scratch)
        let structure = try CMSStructure(reading: source) { try inner.write($0) }
        try inner.rewind()
        guard structure.kind == .signedData else { return try decrypt(structure, inner) }
        guard structure.hasContent else {
            throw CMSError(.malformed, "the message is a signature without the content that was signed")
        }
        let signers = try withExtendedLifetime(inner) {
            try CMSSignature(structure).verify(inner.descriptor)
        }
        return (.signed(by: signers), inner)
    }

    private func decrypt(
        _ structure: CMSStructure, _ ciphertext: UnnamedFile
    ) throws -> (MessageLayer, UnnamedFile) {
        let envelope = try CMSEnvelope(structure)
        for recipient in envelope.recipients {
            guard let found = try keys(recipient) else { continue }
            let plaintext = try UnnamedFile(in: scratch)
            try withExtendedLifetime(ciphertext) {
                unsafe try envelope.decrypt(ciphertext.descriptor, with: found.key, as: recipient) {
                    unsafe try plaintext.write($0)
                }
            }
            let layer = MessageLayer.encrypted(
                envelope.cipher, recipient, recipients: envelope.recipients, openedBy: found.certificate)
            return (layer, plaintext)
        }
        let names = envelope.recipients.prefix(3).map(\.name).joined(separator: ", ")
        let more = envelope.recipients.count > 3 ? " and \(envelope.recipients.count - 3) others" : ""
        throw CMSError(
            .missingKey,
            envelope.recipients.isEmpty
                ? "the message is encrypted for nobody"
                : "the message is encrypted for \(names)\(more), and none of these keys is here",
            recipients: envelope.recipients)
    }

    /// Verifies multipart/signed (RFC 8551, 3.5.3; RFC 1847, 2.1): a part, and a signature of it.
    private func openParts(_ start: LineReader, _ boundary: String) throws -> (MessageLayer, UnnamedFile) {
        var reader = start
        let delimiter = Array("--\(boundary)".utf8)
        while let line = try reader.next(), !Self.isDelimiter(line, delimiter) {}
        let content = try UnnamedFile(in: scratch)
        guard try Self.copyPart(&reader, until: delimiter, to: content) else {
            throw CMSError(.malformed, "the message ends early")
        }
        guard let header = try MailHeader.read(&reader),
            ["application/pkcs7-signature", "application/x-pkcs7-signature"].contains(
                header.contentType?.name)
        else { throw CMSError(.malformed, "the second part of the signed mail is no signature of S/MIME") }
        let body = EncodedBody(
            reader, isBase64: header.transferEncoding == "base64", until: "--\(boundary)")
        let structure = try CMSStructure(reading: BoundedSource(body, MailLimits.signature)) { _ in }
        try content.rewind()
        let signers = try withExtendedLifetime(content) {
            try CMSSignature(structure).verify(content.descriptor)
        }
        return (.signed(by: signers), content)
    }

    /// Whether a line is the one between parts, or the last one; another boundary may begin alike (RFC 2046, 5.1.1).
    private static func isDelimiter(_ line: ArraySlice<UInt8>, _ delimiter: [UInt8]) -> Bool {
        guard line.starts(with: delimiter) else { return false }
        let rest = line.dropFirst(delimiter.count)
        return (rest.starts(with: "--".utf8) ? rest.dropFirst(2) : rest).allSatisfy {
            [0x20, 0x09, 0x0D, 0x0A].contains($0)
        }
    }

    /// Copies a part with CR LF at the ends of lines, without the line end before the delimiter, which belongs to that.
    ///
    /// - Returns: false where the file ends first.
    private static func copyPart(
        _ reader: inout LineReader, until delimiter: [UInt8], to file: UnnamedFile
    ) throws -> Bool {
        var lines = CanonicalLines()
        var held: ArraySlice<UInt8> = []
        var pending: [UInt8] = []
        while true {
            let isLineStart = reader.isAtLineStart
            guard let line = try reader.next() else { return false }
            if isLineStart, isDelimiter(line, delimiter) {
                try file.write(pending + held.withoutLineEnd)
                return true
            }
            pending += held
            if pending.count >= OpenFile.chunk {
                try file.write(pending)
                pending.removeAll(keepingCapacity: true)
            }
            held = lines.canonical(line)
        }
    }
}

/// A source that ends with an error where it gives too much.
private struct BoundedSource: ByteSource {
    private var source: any ByteSource
    private var rest: Int

    init(_ source: any ByteSource, _ limit: Int) {
        self.source = source
        rest = limit
    }

    mutating func next() throws -> ArraySlice<UInt8> {
        let bytes = try source.next()
        rest -= bytes.count
        guard rest >= 0 else {
            throw CMSError(.overLimit, "the signature is larger than \(MailLimits.signature) bytes")
        }
        return bytes
    }
}

/// What a file or a content is: a mail that is signed or encrypted, a bare message in CMS, or something else.
struct MessageForm {
    enum Kind {
        /// A message in CMS.
        case cms(any ByteSource)
        /// multipart/signed, with the boundary between its parts.
        case signed(LineReader, boundary: String)
        /// Something else.
        case plain
    }

    let kind: Kind
    /// The headers; nil where there are none.
    let header: MailHeader?

    /// Looks at the start of a file.
    ///
    /// - Parameter isOuter: Whether the file may be a bare message in CMS; what is inside of a message is in MIME.
    /// - Throws: `CMSError` for headers that are too large or damaged; `FileError`.
    init(_ descriptor: CInt, isOuter: Bool) throws {
        var reader = try LineReader(descriptor)
        if isOuter, let first = try reader.next() {
            // The header of a SEQUENCE in the long form, or of indefinite length; text never begins like that.
            if first.count > 1, first.first == 0x30, first[first.startIndex + 1] >= 0x80 {
                header = nil
                kind = .cms(EncodedBody(try LineReader(descriptor), isBase64: false))
                return
            }
            if first.starts(with: "-----BEGIN CMS-----".utf8)
                || first.starts(with: "-----BEGIN PKCS7-----".utf8)
            {
                header = nil
                kind = .cms(EncodedBody(reader, isBase64: true, until: "-----END"))
                return
            }
            reader = try LineReader(descriptor)
        }
        do {
            header = try MailHeader.read(&reader)
        } catch let error as CMSError where !isOuter && [.malformed, .overLimit].contains(error.code) {
            // Whatever a message held is taken as it is.
            header = nil
        }
        guard let header, let type = header.contentType else {
            kind = .plain
            return
        }
        switch type.name {
        case "application/pkcs7-mime", "application/x-pkcs7-mime":
            kind = .cms(EncodedBody(reader, isBase64: header.transferEncoding == "base64"))
        case "multipart/signed"
        where type.parameters["protocol"]?.lowercased().hasSuffix("pkcs7-signature") == true:
            let boundary = type.parameters["boundary"] ?? ""
            guard (1...MailLimits.boundary).contains(boundary.utf8.count) else {
                throw CMSError(.malformed, "the signed mail has no proper boundary between its parts")
            }
            kind = .signed(reader, boundary: boundary)
        default:
            // What some mail programs make of an attachment that they do not know (RFC 8551, 3.9).
            let name = (type.parameters["name"] ?? "").lowercased()
            let isMessage = type.name == "application/octet-stream" && name.hasSuffix(".p7m")
            kind =
                isMessage
                ? .cms(EncodedBody(reader, isBase64: header.transferEncoding == "base64")) : .plain
        }
    }
}
