package import OpenSSL
internal import PrivateFiles
internal import SecretMemory

/// One encryption or signature around content, with the outcome for each signature.
package enum MessageProtection: Sendable {
    /// An encryption: its cipher, the recipient whose key decrypted it, all recipients, and the certificate of the
    /// decrypting key. The certificate is nil if a password or a shared key decrypted it.
    case encrypted(ContentCipher, CMSRecipient, recipients: [CMSRecipient], openedBy: Certificate?)
    /// Signatures, each with its outcome, and the certificates and revocation lists in the message.
    case signed([CMSSignerReport], certificates: [Certificate], lists: [EncodedRevocationList])
}

/// Removes one encryption or signature.
struct LayerOpener {
    /// A folder for temporary files without a name.
    let scratch: String
    /// Looks up the certificate and the key of a recipient.
    let keys: MessageOpener.Keys
    /// Further certificates, among which signers are looked up.
    var certificates: [Certificate] = []
    /// Whether a signed message is rejected if one of its lines only begins like the delimiter of its parts, or if
    /// programs could read its signature as another attachment.
    var isStrict = false
    /// The security level that signatures must reach.
    var securityLevel = CMSSignature.securityLevel
    /// A password or shared key for recipients without a private key; nil if there is none.
    var secret: SecretBytes?
    /// The work that is left for passwords and private keys. All layers and parts of a message share it.
    var work = OpeningWork()

    /// Removes the outermost encryption or signature of a message.
    ///
    /// An invalid signature is not an error: it is reported in the result.
    ///
    /// - Parameter inspect: Receives the structure of the message before the message is opened, even if it cannot be
    ///   opened.
    /// - Throws: `CMSError`, `CertificateError`, `FileError`; any error that the lookup of keys throws.
    func open(
        _ form: MessageForm, inspect: (CMSStructure) -> Void = { _ in }
    ) throws -> (protection: MessageProtection, content: UnnamedFile) {
        switch form.kind {
        case .cms(let source):
            let inner = try UnnamedFile(in: scratch)
            let structure = try CMSStructure(reading: source) { try inner.write($0) }
            inspect(structure)
            try inner.rewind()
            guard structure.kind == .signedData else { return try decrypt(structure, inner) }
            guard !structure.isCertificateList else {
                throw CMSError(.malformed, "the message contains only certificates, and signs nothing")
            }
            guard structure.hasContent else {
                throw CMSError(
                    .malformed, "the message contains a signature without the signed content")
            }
            return (try examine(structure, inner), inner)
        case .signed(let reader, let boundary): return try openParts(reader, boundary, inspect)
        case .signedWithoutBoundary:
            throw CMSError(
                .malformed,
                "the Content-Type of the signed message is ambiguous or contains no valid boundary")
        case .plain, .mixed, .multipart, .message:
            throw CMSError(.unprotected, "the message is neither encrypted nor signed")
        }
    }

    private func examine(
        _ structure: CMSStructure, _ content: UnnamedFile
    ) throws -> MessageProtection {
        let signature = try CMSSignature(structure)
        let reports = try withExtendedLifetime(content) {
            try signature.examine(
                content.descriptor, accompaniedBy: certificates, securityLevel: securityLevel)
        }
        return .signed(reports, certificates: signature.certificates, lists: signature.lists)
    }

    /// Decrypts a message with the first private key that opens it, or else with the password or shared key.
    ///
    /// A sender can make one recipient unusable, by mistake or with a new method, so the others are tried as well. The
    /// error does not depend on the recipient that failed, unless a key lacks the user's consent.
    private func decrypt(
        _ structure: CMSStructure, _ ciphertext: UnnamedFile
    ) throws -> (protection: MessageProtection, content: UnnamedFile) {
        let envelope = try CMSEnvelope(structure)
        var failure: CMSError?
        var unavailable: (any Error)?
        var tried: Set<CMSRecipient> = []
        var ungranted = 0
        for recipient in envelope.recipients where !tried.contains(recipient) {
            let key: (certificate: Certificate, key: PrivateKey)?
            do {
                key = try keys(recipient)
            } catch let error as CMSError where error.code == .unsuitableKey {
                failure = failure ?? error
                continue
            }
            guard let found = key else { continue }
            if let obstacle = Self.obstacle(recipient, found.certificate) {
                failure = failure ?? CMSError(.unsupported(oid: ""), obstacle)
                continue
            }
            guard tried.count - ungranted < CMSLimits.heldRecipients,
                ungranted < CMSLimits.ungrantedRecipients
            else { break }
            tried.insert(recipient)
            do {
                return try decrypt(envelope, ciphertext, as: recipient, with: found)
            } catch let error as CMSError where error.code == .altered {
                failure = error
            } catch let error as any ExternalKeyError where error.concernsOnlyThisKey {
                unavailable = unavailable ?? error
                ungranted += 1
            }
        }
        if let secret {
            do {
                if let opened = try decrypt(envelope, ciphertext, withSecret: secret) { return opened }
            } catch let error as CMSError {
                throw unavailable ?? failure ?? error
            }
        }
        if let reason = unavailable ?? failure { throw reason }
        let names = envelope.recipients.prefix(3).map(\.name).joined(separator: ", ")
        let more = envelope.recipients.count > 3 ? " and \(envelope.recipients.count - 3) others" : ""
        throw CMSError(
            .missingKey,
            envelope.recipients.isEmpty
                ? "the message has no recipients"
                : "the message is encrypted for \(names)\(more), and none of these keys is available",
            recipients: envelope.recipients)
    }

    /// The reason why a message cannot be opened for a recipient, although the key is available, as a clause that begins
    /// with its subject; nil if it can be tried.
    private static func obstacle(_ recipient: CMSRecipient, _ certificate: Certificate) -> String? {
        let type = certificate.publicKey.type
        if [.x25519, .x448].contains(type) {
            return
                "the message is encrypted for a key of type \(type.name), which OpenSSL 3.0 does not implement for messages"
        }
        guard recipient.method == .other else { return nil }
        let method = recipient.keyEncryption ?? "an unknown algorithm"
        return
            "the key of the content is encrypted with \(method), which OpenSSL 3.0 does not implement for messages"
    }

    /// Decrypts a message with the private key of a recipient.
    ///
    /// - Throws: The errors of `CMSEnvelope`; `FileError`.
    private func decrypt(
        _ envelope: CMSEnvelope, _ ciphertext: UnnamedFile, as recipient: CMSRecipient,
        with found: (certificate: Certificate, key: PrivateKey)
    ) throws -> (protection: MessageProtection, content: UnnamedFile) {
        let plaintext = try UnnamedFile(in: scratch)
        // An earlier attempt may have read the file.
        try ciphertext.rewind()
        try withExtendedLifetime(ciphertext) {
            unsafe try envelope.decrypt(ciphertext.descriptor, with: found.key, as: recipient, work: work) {
                unsafe try plaintext.write($0)
            }
        }
        let layer = MessageProtection.encrypted(
            envelope.cipher, recipient, recipients: envelope.recipients, openedBy: found.certificate)
        return (layer, plaintext)
    }

    /// Decrypts a message with a password or a shared key; returns nil if no recipient has one.
    ///
    /// - Throws: The error for the last recipient, if the secret opens the message for none.
    private func decrypt(
        _ envelope: CMSEnvelope, _ ciphertext: UnnamedFile, withSecret secret: SecretBytes
    ) throws -> (protection: MessageProtection, content: UnnamedFile)? {
        let plaintext = try UnnamedFile(in: scratch)
        try ciphertext.rewind()
        let recipient = try withExtendedLifetime(ciphertext) {
            unsafe try envelope.decrypt(ciphertext.descriptor, withSecret: secret, work: work) {
                unsafe try plaintext.write($0)
            }
        }
        guard let recipient else { return nil }
        let layer = MessageProtection.encrypted(
            envelope.cipher, recipient, recipients: envelope.recipients, openedBy: nil)
        return (layer, plaintext)
    }

    /// Verifies a multipart/signed message (RFC 8551, 3.5.3; RFC 1847, 2.1): a part, and its signature.
    ///
    /// A mail program could show a third part as signed, so it is an error. The delimiter after the signature may be
    /// missing, because truncated messages lack it.
    private func openParts(
        _ start: LineReader, _ boundary: String, _ inspect: (CMSStructure) -> Void
    ) throws -> (protection: MessageProtection, content: UnnamedFile) {
        var reader = start
        let delimiter = PartDelimiter(boundary)
        var hidden = HiddenDelimiters(delimiter, findsLongerLines: isStrict)
        let (content, signature) = (try UnnamedFile(in: scratch), try UnnamedFile(in: scratch))
        guard try reader.skip(past: delimiter, &hidden, isPreamble: true) == .next,
            try reader.copyPart(until: delimiter, &hidden, to: content, isCanonical: true) == .next
        else { throw CMSError(.malformed, "the message ends before its signature") }
        var end = try reader.copyPart(until: delimiter, &hidden, to: signature, isCanonical: false)
        while let match = end {
            // A delimiter at the end of the file is that of a truncated message.
            guard try match == .close || reader.next() == nil else {
                throw CMSError(.malformed, "the signed message has more than two parts")
            }
            end = try reader.skip(past: delimiter, &hidden)
        }
        if let finding = hidden.finding {
            throw CMSError(.malformed, "the signed message contains \(finding)")
        }
        reader = try LineReader(signature.descriptor)
        guard let header = try MailHeader.read(&reader), header.lineAmbiguity == nil,
            MessageForm.signatureTypes.contains(header.contentType?.name ?? "")
        else { throw CMSError(.malformed, "the second part of the message is not an S/MIME signature") }
        if isStrict, let finding = header.ambiguity(ofSMIME: "the signature", allowsBase64: true) {
            throw CMSError(.malformed, finding)
        }
        let isBase64 = header.transferEncoding == "base64"
        if isStrict, try isBase64 ? reader.containsLongLine() : reader.containsCMSInBase64() {
            throw CMSError(.malformed, "the signature contains Base64 that some programs read instead of it")
        }
        // Base64 contains no hyphens, so a damaged delimiter also ends a signature in Base64. Mail programs could show
        // text after it.
        let body = EncodedBody(
            reader, isBase64: isBase64, allowsRest: false,
            until: isBase64 ? { $0.starts(with: "--".utf8) } : nil)
        let structure = try withExtendedLifetime(signature) {
            try CMSStructure(reading: BoundedSource(body, MailLimits.signature)) { _ in }
        }
        inspect(structure)
        // RFC 8551 3.5.3 forbids it. A program could show this content instead of the first part.
        guard !structure.hasContent else {
            throw CMSError(.malformed, "the signature of the message contains content of its own")
        }
        try content.rewind()
        return (try examine(structure, content), content)
    }
}

extension UnnamedFile {
    /// The SHA-256 digest of the file.
    ///
    /// - Throws: `FileError`.
    func sha256() throws(FileError) -> [UInt8] {
        let digest = SHA256Stream()
        try rewind()
        while true {
            let bytes = try OpenFile.read(descriptor, named: "the message")
            if bytes.isEmpty { return digest.finish() }
            digest.update(bytes[...])
        }
    }
}
