internal import Foundation
internal import KeySharing
internal import OpenSSL
internal import SecureMail
internal import StandardExtensions
internal import TestCredentials

/// The senders and the recipient of message vectors, and the functions that write messages.
struct MessageMaterial: Sendable {
    /// The identities that several test vectors share. The keys are RSA keys, which every mail program supports.
    struct Identities: Sendable {
        /// The signature identity of the person in From.
        let sender: TestIdentity
        /// The signature identity of another person.
        let otherSigner: TestIdentity
        /// A signature identity of the person in From whose certificate is on the revocation list.
        let revoked: TestIdentity
        /// The encryption identity of the person who receives the messages.
        let recipient: TestIdentity
        /// The person who receives the messages.
        let recipientPerson: TestPerson
        /// The holder of ``otherSigner``.
        let otherPerson: TestPerson

        /// Generates the identities. The holder of the context is the sender.
        ///
        /// - Throws: `OpenSSLError` and `CertificateError` if OpenSSL fails.
        init(in context: TestVectorContext) throws {
            func person(_ name: String) -> TestPerson {
                var random = context.source.child(name).generator()
                return TestPerson(using: &random)
            }
            recipientPerson = person("recipient")
            otherPerson = person("stranger")
            sender = try context.identity(.signature, part: "sender")
            otherSigner = try context.identity(.signature, part: "stranger", person: otherPerson)
            revoked = try context.identity(.signature, part: "revoked")
            recipient = try context.identity(.encryption, part: "recipient", person: recipientPerson)
        }
    }

    /// The identities that several test vectors share.
    let identities: Identities
    /// Generates identities with a defect.
    private(set) var context: TestVectorContext
    /// The folder for unnamed temporary files.
    private let scratch: String
    /// The text of the messages. It does not contain letters beyond ASCII, so that alterations are easy to read.
    private(set) var text = ""

    init(_ identities: Identities, in context: TestVectorContext, scratch: String) {
        self.identities = identities
        self.context = context
        self.scratch = scratch
    }

    /// Returns the material for one test vector, with its own randomness and text.
    func scoped(to vector: MessageVector) -> MessageMaterial {
        var material = self
        material.context = context.scoped(to: vector.name)
        material.text = """
            This is the test vector \(vector.name).

            \(vector.summary)

            A correct mail program \(vector.expectedBehaviour).

            The meeting with the auditors is on Friday at noon, in room 12
            of the main building. Please bring the signed copies
            of both contracts.

            """
        return material
    }

    // MARK: - Fields and entities

    /// The address of the sender with the name, for a From field.
    var sender: String { MailText.address(context.person.emailAddress, name: context.person.commonName) }

    /// The address of the holder of ``Identities/otherSigner``, for a From field.
    var otherAddress: String {
        MailText.address(identities.otherPerson.emailAddress, name: identities.otherPerson.commonName)
    }

    /// The fields of a message from the sender, or from `from`.
    func header(from: String? = nil, subject: String = "Meeting on Friday") -> MailHeader {
        var random = context.source.child("message-id").generator()
        let recipient = identities.recipientPerson
        return MailHeader([
            .init("From", from ?? sender),
            .init("To", MailText.address(recipient.emailAddress, name: recipient.commonName)),
            .init("Subject", subject), .init("Date", MailText.date(context.date)),
            .init("Message-ID", "<\(random.octets(16).upperHex)@mail.example>"),
        ])
    }

    /// A text/plain entity with ``text``.
    var body: [UInt8] { MailWriter.textEntity(text) }

    /// A boundary between parts, which differs between messages and between its names.
    private func boundary(_ name: String) -> String {
        var random = context.source.child("boundary \(name)").generator()
        return "keyshare-\(random.octets(12).upperHex)"
    }

    /// A multipart/mixed entity or message.
    func mixed(_ header: MailHeader?, _ parts: [[UInt8]]) -> [UInt8] {
        let boundary = boundary("mixed")
        let type = MailHeader.Field("Content-Type", "multipart/mixed; boundary=\"\(boundary)\"")
        let version = header.map { _ in [MailHeader.Field("MIME-Version", "1.0")] } ?? []
        var entity = MailHeader((header?.fields ?? []) + version + [type]).encoded
        for part in parts {
            entity += Array("--\(boundary)\r\n".utf8)
            entity += part
            entity += Array("\r\n".utf8)
        }
        return entity + Array("--\(boundary)--\r\n".utf8)
    }

    /// A text part, such as a footer.
    func part(_ text: String, type: String = "text/plain") -> [UInt8] {
        Array("Content-Type: \(type); charset=us-ascii\r\n\r\n\(text)\r\n".utf8)
    }

    /// A part that contains a message, such as a forwarded one.
    func part(containing message: [UInt8]) -> [UInt8] {
        Array("Content-Type: message/rfc822\r\n\r\n".utf8) + message
    }

    // MARK: - Signing and encrypting

    /// Signs an entity.
    ///
    /// - Parameters:
    ///   - header: The fields of the message; empty for a part.
    ///   - entity: The entity, or nil for ``body``.
    ///   - signer: The signer, or nil for the sender.
    ///   - time: The time that the signature claims, or nil for the date of the test vectors.
    func signed(
        _ header: MailHeader, _ entity: [UInt8]? = nil, by signer: TestIdentity? = nil, at time: Date? = nil
    ) throws -> [UInt8] {
        let signer = signer ?? identities.sender
        let issuer = context.authority[.email].certificate
        return try MailWriter.signed(
            header, entity ?? body, as: (signer.certificate, signer.privateKey),
            chain: signer.chain.isEmpty ? [issuer] : signer.chain,
            boundary: boundary("signature \(signer.certificate.label)"), signingTime: time ?? context.date,
            seed: context.source.child("signature").seed, scratch: scratch)
    }

    /// Encrypts an entity for the recipient, or for another identity.
    func encrypted(
        _ header: MailHeader, _ entity: [UInt8], _ cipher: ContentCipher = .aes256CBC,
        for recipient: TestIdentity? = nil
    ) throws -> [UInt8] {
        MailWriter.encrypted(header, try encrypted(entity, cipher, for: recipient), cipher)
    }

    /// Encrypts an entity, and returns the structure in DER.
    func encrypted(
        _ entity: [UInt8], _ cipher: ContentCipher, for recipient: TestIdentity? = nil
    ) throws -> [UInt8] {
        try CMSEnvelope.encrypt(
            entity, for: [(recipient ?? identities.recipient).certificate], cipher: cipher,
            transport: .pkcs1, seed: context.source.child("encryption").seed)
    }

    // MARK: - Altering

    /// Replaces a text that a message contains.
    func replacing(_ text: String, with other: String, in message: [UInt8]) -> [UInt8] {
        Array(String(decoding: message, as: UTF8.self).replacing(text, with: other, maxReplacements: 1).utf8)
    }

    /// Replaces the signature of a multipart/signed message.
    ///
    /// - Parameter edit: Changes the signature, a CMS structure in DER.
    func editingSignature(of message: [UInt8], _ edit: (inout [UInt8]) -> Void) -> [UInt8] {
        let text = String(decoding: message, as: UTF8.self)
        guard let start = text.range(of: "filename=\"smime.p7s\"\r\n\r\n"),
            let end = text.range(of: "--", range: start.upperBound..<text.endIndex),
            let der = Data(
                base64Encoded: String(text[start.upperBound..<end.lowerBound]),
                options: .ignoreUnknownCharacters)
        else { return message }
        var signature = Array(der)
        edit(&signature)
        return Array(text[..<start.upperBound].utf8) + MailText.base64(signature)
            + Array(text[end.lowerBound...].utf8)
    }

    /// Encrypts an entity with AES-CBC, and alters one letter of the text without knowing the key.
    ///
    /// Flipping a bit of a ciphertext block flips the same bit of the next plaintext block, and makes the plaintext of
    /// its own block random. The alteration is not detected.
    func encryptedAndAltered(_ entity: [UInt8]) throws -> [UInt8] {
        var der = try encrypted(entity, .aes256CBC)
        // The ciphertext is the last element. Padding adds 1 to 16 octets.
        let start = der.count - (entity.count / 16 + 1) * 16
        let letter = entity.firstRange(of: "noon".utf8)?.lowerBound
        der[start + (letter ?? 32) - 16] ^= 1
        return der
    }
}
