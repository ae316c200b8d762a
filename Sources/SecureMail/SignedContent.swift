package import PrivateFiles
internal import Foundation
internal import OpenSSL

/// A file prepared for signing: the MIME entity to sign, and the headers of the message around it.
package struct SignedContent {
    /// The MIME entity to sign, with CR LF line endings.
    package let entity: UnnamedFile
    /// The headers of the message, without MIME-Version and the Content- fields. If the file was not a message, the
    /// headers of the new message.
    package let header: MailHeader
    /// Whether the file was a message.
    package let isMail: Bool

    /// Whether a field describes the content and therefore moves into the signed part (RFC 2045, 3).
    private static func isOfContent(_ field: MailHeader.Field) -> Bool {
        field.name.lowercased().hasPrefix("content-")
    }

    /// Converts a file to a MIME entity.
    ///
    /// * The content of a message becomes the entity, and the message's other headers remain outside. A body with a CR
    ///   without LF, or with NUL, is encoded in quoted-printable, because programs change such bytes (RFC 8551, 3.1.2).
    /// * UTF-8 text becomes text/plain in quoted-printable.
    /// * Any other file becomes an attachment in Base64.
    ///
    /// - Parameters:
    ///   - descriptor: The open file, which must be seekable.
    ///   - name: The file name for an attachment.
    ///   - scratch: A folder for temporary files without a name.
    ///   - newHeader: The headers for a file that is not a message.
    ///   - protectsHeader: Whether the entity also contains the headers of the message (RFC 9788).
    /// - Throws: `CMSError` for headers that are too large, and for a CR without LF, or NUL, in a header or in a body that
    ///   cannot be encoded; `FileError`.
    package init(
        _ descriptor: CInt, name: String, scratch: String,
        newHeader: @autoclosure () -> MailHeader = MailHeader([]), protectsHeader: Bool = false
    ) throws {
        entity = try UnnamedFile(in: scratch)
        func entityHeader(_ content: [MailHeader.Field], of header: MailHeader) -> [UInt8] {
            let content = MailHeader(content)
            guard protectsHeader else { return content.encoded }
            return HeaderProtection.fields(for: header, content: content, isEncrypted: false).payload.encoded
        }
        if let mail = try Self.mailHeader(descriptor) {
            isMail = true
            if let ambiguity = mail.header.lineAmbiguity {
                throw CMSError(.malformed, "the header of the message \(ambiguity)")
            }
            let isOfContent = Self.isOfContent
            header = MailHeader(
                mail.header.fields.filter { !isOfContent($0) && !$0.is("MIME-Version") }.map {
                    MailHeader.Field($0.name, $0.value)
                })
            let content = try Self.contentFields(of: mail.header, isEncoded: mail.hasStrayLineEnd)
            try entity.write(entityHeader(content, of: header))
            try Self.copy(mail.body, isEncoded: mail.hasStrayLineEnd, to: entity)
            return
        }
        isMail = false
        header = newHeader()
        if try Self.isText(descriptor) {
            try entity.write(
                entityHeader(
                    [
                        MailHeader.Field("Content-Type", "text/plain; charset=utf-8"),
                        MailHeader.Field("Content-Transfer-Encoding", "quoted-printable"),
                    ], of: header))
            var reader = try LineReader(descriptor)
            // Each piece of a long line is encoded separately; only the last one has the line ending.
            while let line = try reader.next() { try entity.write(MailText.quotedPrintable(Array(line))) }
        } else {
            let shown = MailText.headerValue(
                String(name.unicodeScalars.filter { $0 != "\"" && $0 != "\\" && $0.value >= 0x20 }))
            try entity.write(
                entityHeader(
                    [
                        MailHeader.Field("Content-Type", "application/octet-stream"),
                        MailHeader.Field("Content-Transfer-Encoding", "base64"),
                        MailHeader.Field("Content-Disposition", "attachment; filename=\"\(shown)\""),
                    ], of: header))
            try Self.attach(descriptor, to: entity)
        }
    }

    /// The fields that describe the content of a message, as they are signed. The parameters of an earlier header
    /// protection are removed, because the other fields remain outside.
    ///
    /// - Parameter isEncoded: Whether the body will be encoded in quoted-printable.
    /// - Throws: `CMSError` if the body must not be encoded.
    private static func contentFields(of header: MailHeader, isEncoded: Bool) throws -> [MailHeader.Field] {
        var fields = header.fields.filter(isOfContent)
        if !fields.contains(where: { $0.is("Content-Type") }) {
            fields.append(MailHeader.Field("Content-Type", "text/plain; charset=us-ascii"))
        }
        fields = fields.map { field in
            guard field.is("Content-Type") else { return field }
            return MailHeader.Field(field.name, HeaderProtection.withoutParameters(field.value))
        }
        guard isEncoded else { return fields }
        // The parts of a multipart can only be encoded separately (RFC 2045, 6.4), and other encodings contain only
        // complete lines.
        let type = header.contentType?.name ?? "text/plain"
        guard !header.isAmbiguous, !type.hasPrefix("multipart/"), !type.hasPrefix("message/"),
            ["7bit", "8bit", "binary"].contains(header.transferEncoding)
        else {
            throw CMSError(
                .malformed,
                "the body of the message contains a CR without LF, or NUL, which mail programs change; "
                    + "encode the part that contains it in Base64")
        }
        return fields.filter { !$0.is("Content-Transfer-Encoding") }
            + [MailHeader.Field("Content-Transfer-Encoding", "quoted-printable")]
    }

    /// Writes the body of a message with CR LF line endings, in quoted-printable if `isEncoded` is true.
    private static func copy(_ body: LineReader, isEncoded: Bool, to entity: UnnamedFile) throws {
        var (reader, lines, held) = (body, CanonicalLines(), [UInt8]())
        while let line = try reader.next() {
            guard isEncoded else {
                try entity.write(lines.canonical(line))
                continue
            }
            // A piece of a long line may end between CR and LF.
            let text = held + line
            held = text.last == 0x0D ? [0x0D] : []
            try entity.write(MailText.quotedPrintable(Array(text.dropLast(held.count))))
        }
        try entity.write(MailText.quotedPrintable(held))
    }

    /// The header of a message, a reader of its body, and whether the body contains a CR without LF, or NUL; nil if the
    /// file is not a message.
    private static func mailHeader(
        _ descriptor: CInt
    ) throws -> (header: MailHeader, body: LineReader, hasStrayLineEnd: Bool)? {
        var lineEnds = StrayLineEnds()
        var file = try LineReader(descriptor)
        while true {
            let bytes = try file.rest()
            if bytes.isEmpty { break }
            lineEnds.read(bytes)
        }
        var reader = try LineReader(descriptor)
        do {
            guard let header = try MailHeader.read(&reader, as: .file),
                ["From", "MIME-Version", "Content-Type"].contains(where: { header[$0] != nil })
            else { return nil }
            return (header, reader, lineEnds.isFoundAtEnd)
        } catch let error as CMSError where error.code == .malformed {
            return nil
        }
    }

    /// Whether the file is UTF-8 text without control characters other than tabs and line endings.
    private static func isText(_ descriptor: CInt) throws -> Bool {
        var reader = try LineReader(descriptor)
        while let line = try reader.next() {
            // A line that is longer than a chunk is not considered text.
            guard line.count < OpenFile.chunk, let text = String(validating: line, as: UTF8.self),
                text.unicodeScalars.allSatisfy({ $0.value >= 0x20 || $0 == "\n" || $0 == "\r" || $0 == "\t" })
            else { return false }
        }
        return true
    }

    /// Writes a file in Base64. Each piece consists of complete lines.
    private static func attach(_ descriptor: CInt, to entity: UnnamedFile) throws {
        var reader = try LineReader(descriptor)
        var pending: [UInt8] = []
        while true {
            let bytes = try reader.rest()
            if bytes.isEmpty { break }
            pending += bytes
            // 48 bytes are encoded as one line of 64 characters.
            let whole = pending.count / 48 * 48
            if whole > 0 {
                try entity.write(MailText.base64(pending[..<whole]))
                pending.removeFirst(whole)
            }
        }
        if !pending.isEmpty { try entity.write(MailText.base64(pending)) }
    }
}
