package import OpenSSL
package import PrivateFiles
package import SecretMemory

/// One encryption or signature that protects the content of a message.
package enum MessageLayer: Sendable {
    /// An encryption: its cipher, the recipient whose key decrypted it, all recipients, and the certificate of the
    /// decrypting key. The certificate is nil if a password or a shared key decrypted it.
    case encrypted(ContentCipher, CMSRecipient, recipients: [CMSRecipient], openedBy: Certificate?)
    /// A signature: the signers whose signatures are valid, including weak signatures.
    case signed(by: [CMSSigner])
}

/// The content of an S/MIME message, and the encryptions and signatures that protected it.
package struct OpenedMessage: Sendable {
    /// The content, usually a MIME entity. It is a file because it may be larger than memory.
    package let content: UnnamedFile
    /// The encryptions and signatures around the content, outermost first.
    package let layers: [MessageLayer]
    /// The headers of the message; nil if the file was a bare CMS message.
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

/// Opens S/MIME messages (RFC 8551), and bare CMS messages in DER, BER or PEM.
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
    private let secret: SecretBytes?

    /// Creates an opener.
    ///
    /// - Parameters:
    ///   - scratch: A folder for temporary files without a name, which contain the message during decryption.
    ///   - secret: A password, or the hexadecimal digits of a shared key, for recipients without a private key.
    ///   - keys: Looks up the certificate and the key of a recipient.
    package init(scratch: String, secret: SecretBytes? = nil, keys: @escaping Keys) {
        self.scratch = scratch
        self.secret = secret
        self.keys = keys
    }

    /// Opens a message: the file itself, or the first S/MIME part of a multipart/mixed message.
    ///
    /// - Parameter descriptor: An open file, which must be seekable.
    /// - Throws: `CMSError`: `.unprotected` for a message that is neither encrypted nor signed, `.missingKey` with the
    ///   recipients, and the errors of `CMSEnvelope` and `CMSSignature`; `FileError`; `CertificateError`; any error
    ///   that the lookup of keys throws.
    package func open(_ descriptor: CInt) throws -> OpenedMessage {
        let opener = LayerOpener(scratch: scratch, keys: keys, secret: secret)
        // All signatures of a layer must be valid.
        let openLayer = { (form: MessageForm) -> OpenedLayer in
            let (protection, content) = try opener.open(form)
            return (try Self.layer(protection), content)
        }
        let outer = try MessageForm(descriptor, as: .file)
        var parts: MixedParts?
        var next: OpenedLayer?
        switch outer.kind {
        case .plain, .multipart, .message: break
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
                    "the message has more than \(MailLimits.layers - 1) nested encryptions and signatures"
                )
            }
            // The form reads from the file, so the file must remain open.
            next = try withExtendedLifetime(opened.content) {
                let form = try MessageForm(opened.content.descriptor, as: .part)
                switch form.kind {
                case .plain, .mixed, .multipart, .message: return nil
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
            throw CMSError(.unprotected, Self.unprotected(try innerParts(of: descriptor)))
        }
        return OpenedMessage(
            content: content, layers: layers, header: outer.header, sha256: try content.sha256(),
            part: parts?.message?.path, otherParts: parts?.others ?? [], partLimit: parts?.limit)
    }

    /// The paths of the S/MIME parts that ``open(_:)`` does not open, such as forwarded messages.
    private func innerParts(of descriptor: CInt) throws -> [String] {
        try MessageReader(scratch: scratch) { _ in nil }.read(descriptor).parts.compactMap(\.path)
    }

    private static func unprotected(_ paths: [String]) -> String {
        guard let first = paths.first else { return "the message is neither encrypted nor signed" }
        return
            "the message itself is neither encrypted nor signed, only part \(paths.joined(separator: ", ")); "
            + "open it with --part \(first)"
    }

    /// Opens one S/MIME part, wherever it is in the message.
    ///
    /// - Parameters:
    ///   - path: The path of the part, as in ``MessageContents``.
    ///   - descriptor: An open file, which must be seekable.
    /// - Throws: `CMSError.Code.noSuchPart` if there is no such S/MIME part; the errors of ``open(_:)``.
    package func open(part path: String, of descriptor: CInt) throws -> OpenedMessage {
        let contents = try MessageReader(scratch: scratch, keepsContent: true, secret: secret, keys: keys)
            .read(descriptor)
        guard let part = contents.parts.first(where: { $0.path == path }) else {
            let paths = contents.parts.compactMap(\.path).joined(separator: ", ")
            throw CMSError(
                .noSuchPart,
                "the message has no S/MIME part \(path)" + (paths.isEmpty ? "" : "; there is \(paths)"))
        }
        if part.sha256 == nil, let failure = part.failure { throw failure }
        let layers = try part.layers.map(Self.layer)
        guard let content = part.content, let digest = part.sha256 else {
            throw CMSError(.malformed, "the part has no content")
        }
        return OpenedMessage(
            content: content, layers: layers, header: part.header, sha256: digest, part: path,
            otherParts: contents.unprotected.map {
                MessagePart(path: $0.path, type: $0.type, isMessage: false)
            }, partLimit: contents.limit)
    }

    /// The layer with its signers.
    ///
    /// - Throws: `CMSError` if a signature is invalid.
    private static func layer(_ protection: MessageProtection) throws -> MessageLayer {
        switch protection {
        case .encrypted(let cipher, let recipient, let recipients, let certificate):
            .encrypted(cipher, recipient, recipients: recipients, openedBy: certificate)
        case .signed(let reports, _, _): .signed(by: try CMSSignature.signers(reports))
        }
    }
}
