package import OpenSSL
package import PrivateFiles
internal import Foundation

/// Writes mails of S/MIME (RFC 8551).
package enum MailWriter {
    /// A MIME entity with a text in UTF-8, quoted-printable.
    package static func textEntity(_ text: String) -> [UInt8] {
        Array(
            "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
                .utf8
        ) + MailText.quotedPrintable(Array(text.utf8))
    }

    /// An encrypted mail (RFC 8551, 3.3 and 3.4).
    ///
    /// - Parameters:
    ///   - header: Whom the mail is from, and so on; what the encryption needs is added.
    ///   - entity: What is encrypted: a MIME entity with CR LF at the ends of lines.
    ///   - certificates: Those of the recipients.
    ///   - cipher: The cipher of the content.
    ///   - transport: How RSA keys are used.
    /// - Throws: `CMSError`, `CertificateError`.
    package static func encrypted(
        _ header: MailHeader, _ entity: [UInt8], for certificates: [Certificate], cipher: ContentCipher,
        transport: RSAKeyTransport
    ) throws -> [UInt8] {
        let der = try CMSEnvelope.encrypt(entity, for: certificates, cipher: cipher, transport: transport)
        let type = cipher.isAuthenticated ? "authEnveloped-data" : "enveloped-data"
        let fields = [
            MailHeader.Field("MIME-Version", "1.0"),
            MailHeader.Field(
                "Content-Type", "application/pkcs7-mime; smime-type=\(type);\r\n name=\"smime.p7m\""),
            MailHeader.Field("Content-Transfer-Encoding", "base64"),
            MailHeader.Field("Content-Disposition", "attachment; filename=\"smime.p7m\""),
        ]
        return MailHeader(header.fields + fields).encoded + MailText.base64(der)
    }

    /// Signs a MIME entity, and writes multipart/signed (RFC 8551, 3.5.3) with the entity and its signature.
    ///
    /// - Parameters:
    ///   - header: Whom the mail is from, and so on; what the signature needs is added.
    ///   - entity: A file with the MIME entity, with CR LF at the ends of lines.
    ///   - identity: The certificate of the signer and its key.
    ///   - chain: Other certificates that a reader may need.
    ///   - boundary: The line between the parts, which the entity must not have.
    ///   - output: Gets the mail.
    /// - Throws: `CMSError`, `CertificateError`, `FileError`.
    package static func sign(
        _ header: MailHeader, _ entity: UnnamedFile,
        as identity: (certificate: Certificate, key: PrivateKey), chain: [Certificate], boundary: String,
        to output: UnnamedFile
    ) throws {
        try entity.rewind()
        let signature = try withExtendedLifetime(entity) {
            try CMSSignature.sign(
                entity.descriptor, as: identity.certificate, with: identity.key, chain: chain)
        }
        let fields = [
            MailHeader.Field("MIME-Version", "1.0"),
            MailHeader.Field(
                "Content-Type",
                "multipart/signed; protocol=\"application/pkcs7-signature\";\r\n"
                    + " micalg=sha-256; boundary=\"\(boundary)\""),
        ]
        try output.write(MailHeader(header.fields + fields).encoded)
        try output.write("This is a signed message of S/MIME.\r\n\r\n--\(boundary)\r\n".utf8)
        try OpenFile.copy(entity.descriptor, to: output.descriptor, named: "a temporary file")
        let part = MailHeader([
            MailHeader.Field("Content-Type", "application/pkcs7-signature; name=\"smime.p7s\""),
            MailHeader.Field("Content-Transfer-Encoding", "base64"),
            MailHeader.Field("Content-Disposition", "attachment; filename=\"smime.p7s\""),
        ])
        try output.write("\r\n--\(boundary)\r\n".utf8)
        try output.write(part.encoded + MailText.base64(signature))
        try output.write("--\(boundary)--\r\n".utf8)
    }

    /// Signs a MIME entity that is in memory, as `sign(_:_:as:chain:boundary:to:)` does.
    ///
    /// - Parameters:
    ///   - header: Whom the mail is from, and so on; what the signature needs is added.
    ///   - entity: The MIME entity, with CR LF at the ends of lines.
    ///   - identity: The certificate of the signer and its key.
    ///   - chain: Other certificates that a reader may need.
    ///   - boundary: The line between the parts, which the entity must not have.
    ///   - scratch: A folder for files without a name.
    /// - Throws: `CMSError`, `CertificateError`, `FileError`.
    package static func signed(
        _ header: MailHeader, _ entity: [UInt8],
        as identity: (certificate: Certificate, key: PrivateKey), chain: [Certificate], boundary: String,
        scratch: String
    ) throws -> [UInt8] {
        let (input, output) = (try UnnamedFile(in: scratch), try UnnamedFile(in: scratch))
        try input.write(entity)
        try sign(header, input, as: identity, chain: chain, boundary: boundary, to: output)
        try output.rewind()
        var mail: [UInt8] = []
        while true {
            let bytes = try OpenFile.read(output.descriptor, named: "a temporary file")
            if bytes.isEmpty { return mail }
            mail += bytes
        }
    }
}

extension MailHeader {
    /// A field on several lines where it has more than the 998 characters that a line may have (RFC 5322, 2.1.1).
    private static func folded(_ field: String) -> String {
        guard field.utf8.count > 998, !field.contains("\r\n") else { return field }
        var (text, column) = ("", 0)
        for word in field.split(separator: " ", omittingEmptySubsequences: false) {
            if column > 0, column + 1 + word.utf8.count > 76 {
                text += "\r\n "
                column = 1
            } else if !text.isEmpty {
                text += " "
                column += 1
            }
            text += word
            column += word.utf8.count
        }
        return text
    }

    /// The fields as they stand in a mail, and the empty line behind them.
    package var encoded: [UInt8] {
        Array(fields.map { Self.folded("\($0.name): \($0.value)") + "\r\n" }.joined().utf8) + [0x0D, 0x0A]
    }
}
