package import OpenSSL
package import PrivateFiles

/// One encryption or signature that protects the content of a message.
package enum MessageLayer: Sendable {
    /// An encryption: its cipher, the recipient whose key decrypted it, all recipients, and the certificate of the
    /// decrypting key.
    case encrypted(ContentCipher, CMSRecipient, recipients: [CMSRecipient], openedBy: Certificate)
    /// A signature: the signers whose signatures are valid, including weak signatures.
    case signed(by: [CMSSigner])
}

/// The content of an S/MIME message, and the encryptions and signatures that protected it.
package struct OpenedMessage: Sendable {
    /// The content, usually a MIME entity. It is a file because it may be larger than memory.
    package let content: UnnamedFile
    /// The encryptions and signatures around the content, outermost first.
    package let layers: [MessageLayer]
    /// The headers of the message; nil if the file was a bare message in CMS.
    package let header: MailHeader?
    /// The SHA-256 digest of the content.
    package let sha256: [UInt8]
    /// The path of the part that was opened, such as `1` or `2.1`; nil if the whole file is the message.
    package let part: String?
    /// The parts of the file outside the opened message. Nothing protects them, and ``content`` contains none of them.
    package let otherParts: [MessagePart]
    /// The limit that the message exceeds, so that ``otherParts`` is incomplete, as a sentence without a full stop; nil
    /// if ``otherParts`` is complete.
    package let partLimit: String?

    /// Whether the content may have been altered without detection.
    ///
    /// The innermost encryption or strong signature decides. If an encryption does not authenticate its content, the
    /// layers outside it prove nothing: anyone can alter the encrypted message, and then sign or encrypt it again.
    package var isUnauthenticated: Bool {
        for layer in layers.reversed() {
            switch layer {
            case .signed(let signers): if signers.contains(where: { $0.weakness == nil }) { return false }
            case .encrypted(let cipher, _, _, _): return !cipher.isAuthenticated
            }
        }
        return true
    }
}

/// Opens S/MIME messages (RFC 8551), and bare messages in CMS in DER, BER or PEM.
///
/// All nested encryptions and signatures are opened. ``open(_:)`` returns no part of the content unless all of them are
/// valid.
package struct MessageOpener {
    /// Returns the certificate and the private key of a recipient; nil if the key is not available.
    package typealias Keys = (CMSRecipient) throws -> (certificate: Certificate, key: PrivateKey)?
    /// A layer that was removed, and the content that it protected.
    typealias OpenedLayer = (layer: MessageLayer, content: UnnamedFile)

    private let scratch: String
    private let keys: Keys

    /// Creates an opener.
    ///
    /// - Parameters:
    ///   - scratch: A folder for temporary files without a name, which contain the message during decryption.
    ///   - keys: Looks up the certificate and the key of a recipient.
    package init(scratch: String, keys: @escaping Keys) {
        self.scratch = scratch
        self.keys = keys
    }

    /// Opens a message: the file itself, or the first S/MIME part of a multipart/mixed message.
    ///
    /// - Parameter descriptor: An open file, which must be seekable.
    /// - Throws: `CMSError`: `.unprotected` for a message that is neither encrypted nor signed, `.missingKey` with the
    ///   recipients, and the errors of `CMSEnvelope` and `CMSSignature`; `FileError`; `CertificateError`; any error
    ///   that the lookup of keys throws.
    package func open(_ descriptor: CInt) throws -> OpenedMessage {
        let outer = try MessageForm(descriptor, isOuter: true)
        var parts: MixedParts?
        var next: OpenedLayer?
        switch outer.kind {
        case .plain: break
        case .mixed(let reader, let boundary):
            parts = try MixedParts(reader, boundary, scratch: scratch, opening: openLayer)
            next = parts?.message?.layer
        default: next = try openLayer(outer)
        }
        var layers: [MessageLayer] = []
        var content: UnnamedFile?
        while let opened = next {
            layers.append(opened.layer)
            content = opened.content
            guard layers.count < MailLimits.layers else {
                throw CMSError(
                    .overLimit,
                    "the message has more than \(MailLimits.layers - 1) encryptions and signatures inside one another"
                )
            }
            // The form reads from the file, so the file must remain open.
            next = try withExtendedLifetime(opened.content) {
                let form = try MessageForm(opened.content.descriptor, isOuter: false)
                switch form.kind {
                case .plain, .mixed: return nil
                default: return try openLayer(form)
                }
            }
        }
        guard let content else {
            guard outer.header != nil else {
                throw CMSError(.noMessage, "this is neither an e-mail message nor a CMS message")
            }
            if let failure = parts?.failure { throw failure }
            if let limit = parts?.limit { throw CMSError(.overLimit, limit) }
            throw CMSError(.unprotected, "the message is neither encrypted nor signed")
        }
        return OpenedMessage(
            content: content, layers: layers, header: outer.header, sha256: try Self.digest(of: content),
            part: parts?.message?.path, otherParts: parts?.others ?? [], partLimit: parts?.limit)
    }

    /// Removes the outermost encryption or signature of a message.
    private func openLayer(_ form: MessageForm) throws -> OpenedLayer {
        switch form.kind {
        case .cms(let source): return try openCMS(source)
        case .signed(let reader, let boundary): return try openParts(reader, boundary)
        case .signedWithoutBoundary:
            throw CMSError(.malformed, "the signed message has no proper boundary between its parts")
        case .plain, .mixed: throw CMSError(.unprotected, "the message is neither encrypted nor signed")
        }
    }

    private static func digest(of content: UnnamedFile) throws -> [UInt8] {
        let digest = SHA256Stream()
        try content.rewind()
        while true {
            let bytes = try OpenFile.read(content.descriptor, named: "the message")
            if bytes.isEmpty { return digest.finish() }
            digest.update(bytes[...])
        }
    }

    private func openCMS(_ source: any ByteSource) throws -> OpenedLayer {
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
    ) throws -> OpenedLayer {
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
                ? "the message has no recipients"
                : "the message is encrypted for \(names)\(more), and none of these keys is available",
            recipients: envelope.recipients)
    }

    /// Verifies a multipart/signed message (RFC 8551, 3.5.3; RFC 1847, 2.1): a part, and its signature.
    private func openParts(_ start: LineReader, _ boundary: String) throws -> OpenedLayer {
        var reader = start
        let delimiter = PartDelimiter(boundary)
        _ = try reader.skip(past: delimiter)
        let content = try UnnamedFile(in: scratch)
        guard try reader.copyPart(until: delimiter, to: content, isCanonical: true) != nil else {
            throw CMSError(.malformed, "the message ends early")
        }
        guard let header = try MailHeader.read(&reader),
            ["application/pkcs7-signature", "application/x-pkcs7-signature"].contains(
                header.contentType?.name)
        else { throw CMSError(.malformed, "the second part of the message is not an S/MIME signature") }
        let isBase64 = header.transferEncoding == "base64"
        // Base64 contains no hyphens, so a damaged delimiter also ends a signature in Base64.
        let body = EncodedBody(reader, isBase64: isBase64) {
            isBase64 ? $0.starts(with: "--".utf8) : delimiter.match($0) != nil
        }
        let structure = try CMSStructure(reading: BoundedSource(body, MailLimits.signature)) { _ in }
        try content.rewind()
        let signers = try withExtendedLifetime(content) {
            try CMSSignature(structure).verify(content.descriptor)
        }
        return (.signed(by: signers), content)
    }
}
