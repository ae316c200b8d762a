/// The JSON document of the consumer's `decrypt`.
package struct DecryptionDocument: Codable, Sendable {
    /// What came of one file.
    package enum Status: String, Codable, Sendable {
        /// It opened, and every signature in it fits.
        case opened
        /// It is encrypted, and none of the keys it is encrypted for is here.
        case missingKey = "missing-key"
        /// It cannot be opened for another reason.
        case failed
        /// It is no message, or one that is neither encrypted nor signed.
        case skipped
    }

    /// Whom a message is encrypted for.
    package struct Recipient: Codable, Sendable {
        /// The serial number of the certificate; null where the message names the key.
        @Nullable package var serial: String?
        /// The issuer of the certificate; null where the message names the key.
        @Nullable package var issuer: String?
        /// The subject key identifier in hexadecimal; null where the message names the certificate.
        @Nullable package var subjectKeyIdentifier: String?
        /// How the content's key gets to the recipient, such as `rsa-oaep` or `ecdh`.
        package let method: String

        /// Describes a recipient.
        package init(serial: String?, issuer: String?, subjectKeyIdentifier: String?, method: String) {
            self.method = method
            self.serial = serial
            self.issuer = issuer
            self.subjectKeyIdentifier = subjectKeyIdentifier
        }
    }

    /// One file.
    package struct Message: Codable, Sendable {
        /// The file as it was named, or its name in the folder that was.
        package let file: String
        /// What came of it.
        package let status: Status
        /// The subject of the mail; null without one.
        @Nullable package var subject: String?
        /// The ciphers of its encryptions, the outermost first.
        package let encryption: [String]
        /// Whether the content cannot have been altered unnoticed: a cipher that authenticates, or a signature. Null where
        /// the message did not open.
        @Nullable package var authenticated: Bool?
        /// Whom it is encrypted for.
        package let recipients: [Recipient]
        /// The label of the identity that opened it; null where it is not encrypted, or did not open.
        @Nullable package var label: String?
        /// The token whose key opened it (`kSecAttrTokenID`); null where an imported key did, or none.
        @Nullable package var tokenID: String?
        /// The identities that signed it.
        package let signers: [IdentityDocument]
        /// The SHA-256 of what was inside, in lower-case hexadecimal; null where it did not open.
        @Nullable package var body: String?
        /// The file with what was inside; null where none was written.
        @Nullable package var output: String?
        /// Why it did not open; null where it did.
        @Nullable package var error: FailureDocument.Body?

        /// Describes a file that did not open.
        package init(
            file: String, status: Status, subject: String? = nil, encryption: [String] = [],
            authenticated: Bool? = nil, recipients: [Recipient] = [], label: String? = nil,
            tokenID: String? = nil, signers: [IdentityDocument] = [], body: String? = nil,
            output: String? = nil,
            error: FailureDocument.Body? = nil
        ) {
            self.file = file
            self.status = status
            self.encryption = encryption
            self.recipients = recipients
            self.signers = signers
            self.subject = subject
            self.authenticated = authenticated
            self.label = label
            self.tokenID = tokenID
            self.body = body
            self.output = output
            self.error = error
        }
    }

    /// A message for each file, in the order of the command line, and by name in a folder.
    package let messages: [Message]

    /// Describes messages.
    package init(messages: [Message]) { self.messages = messages }
}

extension Console {
    /// Writes what came of messages as a table.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func table(of messages: [DecryptionDocument.Message]) throws(CommandFailure) {
        var table = Table(
            .init("FILE", .wraps(16)), "RESULT", .init("KEY", .uniqueStart(), leaves: 3),
            .init("ENCRYPTION", leaves: 1), .init("SIGNED BY", .wraps(12), leaves: 2),
            .init("WHY", .wraps(16)))
        for message in messages {
            let missing = message.status == .missingKey ? message.recipients.compactMap(\.serial) : []
            let why: String =
                switch message.status {
                case .opened: message.authenticated == false ? "not authenticated" : ""
                case .missingKey:
                    "needs "
                        + (missing.isEmpty ? "another key" : missing.map(shortened).joined(separator: " or "))
                case .failed, .skipped: message.error?.message ?? ""
                }
            table.append(
                message.file, message.status.rawValue.replacing("-", with: " "), message.label ?? "",
                message.encryption.joined(separator: ", "),
                message.signers.map(\.personText).joined(separator: ", "), why)
        }
        try self.table(table)
    }

    private func shortened(_ serial: String) -> String {
        width == nil || serial.count <= 9 ? serial : serial.prefix(8) + "\u{2026}"
    }
}
