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
    /// * The content of a message becomes the entity, and the message's other headers remain outside.
    /// * UTF-8 text becomes text/plain in quoted-printable.
    /// * Any other file becomes an attachment in Base64.
    ///
    /// - Parameters:
    ///   - descriptor: The open file, which must be seekable.
    ///   - name: The file name for an attachment.
    ///   - scratch: A folder for temporary files without a name.
    ///   - newHeader: The headers for a file that is not a message.
    ///   - protectsHeader: Whether the entity also contains the headers of the message (RFC 9788).
    /// - Throws: `CMSError` for headers that are too large; `FileError`.
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
            let isOfContent = Self.isOfContent
            header = MailHeader(
                mail.header.fields.filter { !isOfContent($0) && !$0.is("MIME-Version") }.map {
                    MailHeader.Field($0.name, $0.value)
                })
            var content = mail.header.fields.filter(isOfContent)
            if !content.contains(where: { $0.is("Content-Type") }) {
                content.append(MailHeader.Field("Content-Type", "text/plain; charset=us-ascii"))
            }
            try entity.write(entityHeader(content, of: header))
            var (reader, lines) = (mail.body, CanonicalLines())
            while let line = try reader.next() { try entity.write(lines.canonical(line)) }
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

    /// The header of a message and a reader of its body; nil if the file is not a message.
    private static func mailHeader(
        _ descriptor: CInt
    ) throws -> (header: MailHeader, body: LineReader)? {
        var reader = try LineReader(descriptor)
        do {
            guard let header = try MailHeader.read(&reader, isFile: true),
                ["From", "MIME-Version", "Content-Type"].contains(where: { header[$0] != nil })
            else { return nil }
            return (header, reader)
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
