package import OpenSSL
package import PrivateFiles
package import Foundation

/// Writes S/MIME messages (RFC 8551).
package enum MailWriter {
    /// Encodes text as a text/plain MIME entity in UTF-8 and quoted-printable.
    package static func textEntity(_ text: String) -> [UInt8] {
        Array(
            "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
                .utf8
        ) + MailText.quotedPrintable(Array(text.utf8))
    }

    /// Encodes text as a text/plain MIME entity that also protects the fields of a message (RFC 9788).
    ///
    /// - Parameters:
    ///   - text: The text. If fields are hidden outside, their values precede it for older mail programs.
    ///   - header: The fields of the message.
    ///   - isEncrypted: Whether the entity will be encrypted, which hides the subject outside.
    /// - Returns: The fields for the outside of the message, and the entity.
    package static func textEntity(
        _ text: String, protecting header: MailHeader, isEncrypted: Bool
    ) -> (outer: MailHeader, entity: [UInt8]) {
        let display = isEncrypted ? HeaderProtection.legacyDisplay(of: header) : ""
        let content = MailHeader([
            .init("Content-Type", "text/plain; charset=utf-8"),
            .init("Content-Transfer-Encoding", "quoted-printable"),
        ])
        let (outer, payload) = HeaderProtection.fields(
            for: header, content: content, isEncrypted: isEncrypted, hasLegacyDisplay: !display.isEmpty)
        return (outer, payload.encoded + MailText.quotedPrintable(Array((display + text).utf8)))
    }

    /// Encrypts a MIME entity and returns the S/MIME message (RFC 8551, 3.3 and 3.4).
    ///
    /// - Parameters:
    ///   - header: The fields of the message, such as From and Subject. The fields for the encryption are added.
    ///   - entity: The MIME entity to encrypt, with CR LF line endings.
    ///   - certificates: The recipients' certificates.
    ///   - cipher: The cipher for the content.
    ///   - transport: The encryption scheme for recipients with RSA keys.
    ///   - seed: The seed of a reproducible test message; nil for a message that must be secret.
    /// - Throws: `CMSError`, `CertificateError`.
    package static func encrypted(
        _ header: MailHeader, _ entity: [UInt8], for certificates: [Certificate], cipher: ContentCipher,
        transport: RSAKeyTransport, seed: Seed? = nil
    ) throws -> [UInt8] {
        let der = try CMSEnvelope.encrypt(
            entity, for: certificates, cipher: cipher, transport: transport, seed: seed)
        return encrypted(header, der, cipher)
    }

    /// Writes the S/MIME message of an encrypted structure in DER.
    package static func encrypted(_ header: MailHeader, _ der: [UInt8], _ cipher: ContentCipher) -> [UInt8] {
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

    /// Signs a MIME entity and writes a multipart/signed message (RFC 8551, 3.5.3) with the entity and its signature.
    ///
    /// - Parameters:
    ///   - header: The fields of the message, such as From and Subject. The fields for the signature are added.
    ///   - entity: A file that contains the MIME entity, with CR LF line endings.
    ///   - identity: The signer's certificate and private key.
    ///   - chain: Further certificates to include, which readers may need for the signer's path.
    ///   - boundary: The boundary between the parts. No line of the entity may begin with it.
    ///   - signingTime: The time that the signature claims; nil for the current time.
    ///   - seed: The seed of a reproducible test signature; nil for a key that must remain secret.
    ///   - output: Receives the message.
    /// - Throws: `CMSError`, `CertificateError`, `FileError`.
    package static func sign(
        _ header: MailHeader, _ entity: UnnamedFile,
        as identity: (certificate: Certificate, key: PrivateKey), chain: [Certificate], boundary: String,
        signingTime: Date? = nil, seed: Seed? = nil, to output: UnnamedFile
    ) throws {
        try entity.rewind()
        let signature = try withExtendedLifetime(entity) {
            try CMSSignature.sign(
                entity.descriptor, as: identity.certificate, with: identity.key, chain: chain,
                signingTime: signingTime, seed: seed)
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

    /// Signs a MIME entity in memory, like `sign(_:_:as:chain:boundary:to:)`.
    ///
    /// - Parameters:
    ///   - header: The fields of the message, such as From and Subject. The fields for the signature are added.
    ///   - entity: The MIME entity, with CR LF line endings.
    ///   - identity: The signer's certificate and private key.
    ///   - chain: Further certificates to include, which readers may need for the signer's path.
    ///   - boundary: The boundary between the parts. No line of the entity may begin with it.
    ///   - signingTime: The time that the signature claims; nil for the current time.
    ///   - seed: The seed of a reproducible test signature; nil for a key that must remain secret.
    ///   - scratch: A folder for temporary files without a name.
    /// - Throws: `CMSError`, `CertificateError`, `FileError`.
    package static func signed(
        _ header: MailHeader, _ entity: [UInt8],
        as identity: (certificate: Certificate, key: PrivateKey), chain: [Certificate], boundary: String,
        signingTime: Date? = nil, seed: Seed? = nil, scratch: String
    ) throws -> [UInt8] {
        let (input, output) = (try UnnamedFile(in: scratch), try UnnamedFile(in: scratch))
        try input.write(entity)
        try sign(
            header, input, as: identity, chain: chain, boundary: boundary, signingTime: signingTime,
            seed: seed,
            to: output)
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
    /// Folds a field into several lines if it exceeds the 998 characters that a line may contain (RFC 5322, 2.1.1).
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

    /// The header as it appears in a message: the folded fields, followed by an empty line.
    package var encoded: [UInt8] {
        Array(fields.map { Self.folded("\($0.name): \($0.value)") + "\r\n" }.joined().utf8) + [0x0D, 0x0A]
    }
}
