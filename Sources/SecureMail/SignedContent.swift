package import PrivateFiles
internal import Foundation
internal import OpenSSL

/// What a file becomes when it is signed: the part of a mail, and the headers around it.
package struct SignedContent {
    /// The MIME entity to be signed, with CR LF at the ends of lines.
    package let entity: UnnamedFile
    /// The headers of the mail, without those of its content; empty for a file that was no mail.
    package let header: MailHeader
    /// Whether the file was a mail.
    package let isMail: Bool

    /// The fields that belong to the content and go with it into the part (RFC 2045, 3).
    private static func isOfContent(_ field: MailHeader.Field) -> Bool {
        field.name.lowercased().hasPrefix("content-")
    }

    /// Makes a MIME entity of a file.
    ///
    /// A mail is signed with its content; its other headers stay outside. Text in UTF-8 becomes text/plain,
    /// quoted-printable; everything else is attached in Base64.
    ///
    /// - Parameters:
    ///   - descriptor: The file, which can be read from its start.
    ///   - name: The file's name, for an attachment.
    ///   - scratch: A folder for files without a name.
    /// - Throws: `CMSError` for headers that are too large; `FileError`.
    package init(_ descriptor: CInt, name: String, scratch: String) throws {
        entity = try UnnamedFile(in: scratch)
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
            try entity.write(MailHeader(content).encoded)
            var (reader, lines) = (mail.body, CanonicalLines())
            while let line = try reader.next() { try entity.write(lines.canonical(line)) }
            return
        }
        isMail = false
        header = MailHeader([])
        if try Self.isText(descriptor) {
            try entity.write(MailWriter.textEntity(""))
            var reader = try LineReader(descriptor)
            // Line by line: only the last piece of a line has its end.
            while let line = try reader.next() { try entity.write(MailText.quotedPrintable(Array(line))) }
        } else {
            let shown = MailText.headerValue(
                String(name.unicodeScalars.filter { $0 != "\"" && $0 != "\\" && $0.value >= 0x20 }))
            try entity.write(
                MailHeader([
                    MailHeader.Field("Content-Type", "application/octet-stream"),
                    MailHeader.Field("Content-Transfer-Encoding", "base64"),
                    MailHeader.Field("Content-Disposition", "attachment; filename=\"\(shown)\""),
                ]).encoded)
            try Self.attach(descriptor, to: entity)
        }
    }

    /// The header of a mail and its body; nil where the file is no mail.
    private static func mailHeader(
        _ descriptor: CInt
    ) throws -> (header: MailHeader, body: LineReader)? {
        var reader = try LineReader(descriptor)
        do {
            guard let header = try MailHeader.read(&reader),
                ["From", "MIME-Version", "Content-Type"].contains(where: { header[$0] != nil })
            else { return nil }
            return (header, reader)
        } catch let error as CMSError where error.code == .malformed {
            return nil
        }
    }

    /// Whether the file is text in UTF-8 without control characters.
    private static func isText(_ descriptor: CInt) throws -> Bool {
        var reader = try LineReader(descriptor)
        while let line = try reader.next() {
            // A line that does not fit into memory is no text that anybody wrote.
            guard line.count < OpenFile.chunk, let text = String(validating: line, as: UTF8.self),
                text.unicodeScalars.allSatisfy({ $0.value >= 0x20 || $0 == "\n" || $0 == "\r" || $0 == "\t" })
            else { return false }
        }
        return true
    }

    /// Writes a file in Base64, in pieces of whole lines.
    private static func attach(_ descriptor: CInt, to entity: UnnamedFile) throws {
        var reader = try LineReader(descriptor)
        var pending: [UInt8] = []
        while true {
            let bytes = try reader.rest()
            if bytes.isEmpty { break }
            pending += bytes
            // 48 bytes make a line of 64 characters.
            let whole = pending.count / 48 * 48
            if whole > 0 {
                try entity.write(MailText.base64(pending[..<whole]))
                pending.removeFirst(whole)
            }
        }
        if !pending.isEmpty { try entity.write(MailText.base64(pending)) }
    }
}
