internal import COpenSSL
package import SecretMemory

/// An encrypted message, EnvelopedData (RFC 5652, 6) or AuthEnvelopedData (RFC 5083).
///
///     let structure = try CMSStructure(reading: source) { try ciphertext.write($0) }
///     let envelope = try CMSEnvelope(structure)
///     try envelope.decrypt(file, with: key, as: envelope.recipients[0]) { try plaintext.write($0) }
///
/// Do not trust the bytes that `decrypt` passes to its closure before `decrypt` returns. The tag of an authenticated
/// message is verified only after the last byte.
package struct CMSEnvelope: Sendable {
    /// The cipher of the content.
    package let cipher: ContentCipher
    /// The recipients, in the order of the message.
    package let recipients: [CMSRecipient]
    private let structure: CMSStructure

    /// Whether the cipher authenticates the content, so that decryption detects any alteration.
    package var isAuthenticated: Bool { cipher.isAuthenticated }

    /// Reads the cipher and the recipients of an encrypted message. No key is needed.
    ///
    /// - Throws: `CMSError`: `.malformed`, also for a message that is not encrypted or has no content; `.unsupported`
    ///   for a cipher that `ContentCipher` does not list, and for authenticated attributes (RFC 5083, 2.2).
    package init(_ structure: CMSStructure) throws {
        guard structure.kind != .signedData, let oid = structure.contentEncryption else {
            throw CMSError(.malformed, "the message is not encrypted")
        }
        guard let cipher = ContentCipher(oid: oid) else {
            throw CMSError(
                .unsupported(oid: oid),
                "the content is encrypted with \(ObjectIdentifierName.name(of: oid)), which "
                    + ContentCipher.unsupportedReason(oid: oid))
        }
        guard structure.hasContent else { throw CMSError(.malformed, "the message has no content") }
        guard cipher.isAuthenticated == (structure.kind == .authEnvelopedData) else {
            // EnvelopedData has no place for the tag of AES-GCM, so its content could be altered without detection.
            throw CMSError(
                .malformed, "the cipher \(cipher.rawValue) is not allowed in a message of this type")
        }
        try structure.authentication?.check(oid: oid)
        self.cipher = cipher
        self.structure = structure
        recipients = unsafe try structure.withMessage(in: .withoutProviders) { message in
            unsafe CMSRecipientKey.all(in: message, passwords: structure.passwordParameters)
                .map(\.recipient)
        }
    }

    /// Decrypts the content.
    ///
    /// - Parameters:
    ///   - file: The encrypted content, as `CMSStructure` extracted it: an open file, which is read from its current
    ///     position to its end.
    ///   - key: The private key of the recipient.
    ///   - recipient: One of ``recipients``.
    ///   - work: Counts the failed attempts in the whole message.
    ///   - plaintext: Receives the content in pieces, before the tag is verified.
    /// - Throws: `CMSError.Code.altered` if the key or the tag does not match, `.overLimit` after too many failed
    ///   attempts; any error of `plaintext`, or of the holder of an external key. After an error, discard all bytes that
    ///   `plaintext` received.
    package func decrypt(
        _ file: CInt, with key: PrivateKey, as recipient: CMSRecipient, work: OpeningWork = OpeningWork(),
        plaintext: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        unsafe try structure.withMessage(in: .standard) { message in
            let isOpen = unsafe try key.withPointer { key in
                unsafe try candidates(recipient, in: message).contains { candidate in
                    let isOpen = try PrivateKey.rethrowingExternalErrors {
                        unsafe candidate.open(message, with: key)
                    }
                    if !isOpen { try work.countFailedAttempt() }
                    return isOpen
                }
            }
            guard isOpen else { throw Self.altered }
            do {
                unsafe try Self.copy(message, file, plaintext)
            } catch let error as CMSError where error.code == .altered {
                try work.countFailedAttempt()
                throw error
            }
        }
    }

    /// Decrypts the content with a password (PWRI) or a shared key (KEKRI).
    ///
    /// Tries the recipients for which ``CMSRecipient/isOpenedBySecret`` is true in their order, but at most
    /// ``CMSLimits/secretRecipients``.
    ///
    /// - Parameters:
    ///   - file: The encrypted content, as for ``decrypt(_:with:as:plaintext:)``.
    ///   - secret: The password; for a shared key, its hexadecimal digits.
    ///   - work: The time that is left for key derivations in the message.
    ///   - plaintext: Receives the content in pieces, before the tag is verified.
    /// - Returns: The recipient whose content key the secret decrypted; nil if no recipient has a password or a shared
    ///   key.
    /// - Throws: `CMSError.Code.altered`; any error of `plaintext`. If the secret decrypts no content key, the error for
    ///   the last recipient: `.wrongPassword`, `.overLimit` for too many iterations or recipients, `.unsupported` for
    ///   another key derivation than PBKDF2. After an error, discard all bytes that `plaintext` received.
    package func decrypt(
        _ file: CInt, withSecret secret: SecretBytes, work: OpeningWork = OpeningWork(),
        plaintext: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> CMSRecipient? {
        guard recipients.contains(where: \.isOpenedBySecret) else { return nil }
        // A message can have thousands of recipients, so it is decoded once for all attempts.
        return unsafe try structure.withMessage(in: .standard) { message in
            let keys = unsafe CMSRecipientKey.all(in: message, passwords: structure.passwordParameters)
                .filter(\.recipient.isOpenedBySecret)
            let groups = Dictionary(grouping: keys, by: \.recipient)
            let recipient = unsafe try open(message, groups, secret, work)
            unsafe try Self.copy(message, file, plaintext)
            return recipient
        }
    }

    /// Decrypts the content key of the first recipient that `secret` opens, and returns that recipient.
    ///
    /// - Parameter keys: The encrypted content keys of each recipient with a password or a shared key.
    private func open(
        _ message: OpaquePointer, _ keys: [CMSRecipient: [CMSRecipientKey]], _ secret: SecretBytes,
        _ work: OpeningWork
    ) throws(CMSError) -> CMSRecipient {
        var failure = CMSError(.missingKey, "the message has no recipient with a password or a shared key")
        var tried: Set<CMSRecipient> = []
        for recipient in recipients where recipient.isOpenedBySecret && tried.insert(recipient).inserted {
            guard tried.count <= CMSLimits.secretRecipients else {
                throw CMSError(
                    .overLimit,
                    "the message has more than \(CMSLimits.secretRecipients) recipients with a password or a shared key"
                )
            }
            let candidates = (keys[recipient] ?? []).prefix(CMSLimits.entriesOfRecipient)
            do throws(CMSError) {
                let secret = try key(secret, of: recipient, entries: candidates.count, work)
                if candidates.contains(where: { unsafe $0.open(message, withSecret: secret) }) {
                    return recipient
                }
                failure = CMSError(
                    .wrongPassword,
                    recipient.method == .password
                        ? "the password does not open the message"
                        : "the shared key does not open the message")
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// The bytes of the password or of the shared key, if the recipient is supported and within the limits.
    private func key(
        _ secret: SecretBytes, of recipient: CMSRecipient, entries: Int, _ work: OpeningWork
    ) throws(CMSError) -> SecretBytes {
        guard recipient.method == .password else {
            guard let key = SecretBytes(hexadecimal: secret), [16, 24, 32].contains(key.count) else {
                throw CMSError(
                    .wrongPassword,
                    "the message needs a shared key: provide its 32, 48 or 64 hexadecimal digits as the password"
                )
            }
            return key
        }
        guard let parameters = recipient.password else {
            throw CMSError(
                .unsupported(oid: ""),
                "the message is encrypted with a password, but not with PBKDF2 and AES-CBC or triple DES"
            )
        }
        try work.take(parameters, count: entries)
        return secret
    }

    /// The first encrypted content keys of a recipient in a decoded message.
    private func candidates(
        _ recipient: CMSRecipient, in message: OpaquePointer
    ) -> ArraySlice<CMSRecipientKey> {
        unsafe CMSRecipientKey.all(in: message, passwords: structure.passwordParameters)
            .filter { $0.recipient == recipient }
            .prefix(CMSLimits.entriesOfRecipient)
    }

    /// Decrypts the content of `message`, in which OpenSSL has already decrypted the content key.
    private static func copy(
        _ message: OpaquePointer, _ file: CInt, _ plaintext: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let input = unsafe BIO_new_fd(file, BIO_NOCLOSE)
        defer { unsafe BIO_free(input) }
        guard let content = unsafe CMS_dataInit(message, input) else {
            OpenSSLError.discardQueue()
            throw altered
        }
        // Frees the filters that CMS_dataInit put before `input`, but not `input`.
        defer {
            var top: OpaquePointer? = unsafe content
            while let filter = unsafe top, unsafe filter != input {
                unsafe top = BIO_pop(filter)
                unsafe BIO_free(filter)
            }
        }
        defer { OpenSSLError.discardQueue() }
        unsafe try withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            defer { unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
            while true {
                let count = unsafe BIO_read(content, buffer.baseAddress, CInt(buffer.count))
                guard count > 0 else { break }
                unsafe try plaintext(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)]))
            }
        }
        // BIO_get_cipher_status, a macro, returns whether padding and tag were correct.
        guard unsafe BIO_ctrl(content, BIO_C_GET_CIPHER_STATUS, 0, nil) == 1 else { throw altered }
    }

    private static let altered = CMSError(
        .altered, "the message cannot be decrypted: it was altered, or it is not encrypted for this key")
}
