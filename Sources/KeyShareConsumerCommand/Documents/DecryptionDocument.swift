package import CommandSupport

/// The JSON document of the consumer's `decrypt`.
package struct DecryptionDocument: Codable, Sendable {
    /// The outcomes for one file.
    package enum Status: String, Codable, Sendable {
        /// The message was opened, and every signature in it is valid.
        case opened
        /// The message is encrypted, and no recipient's key is available.
        case missingKey = "missing-key"
        /// The message cannot be opened for another reason.
        case failed
        /// The file is not a message, or the message is neither encrypted nor signed.
        case skipped
    }

    /// A recipient of an encrypted message.
    package struct Recipient: Codable, Sendable {
        /// The serial number of the certificate; null if the message identifies the recipient by key.
        @Nullable package var serial: String?
        /// The issuer of the certificate; null if the message identifies the recipient by key.
        @Nullable package var issuer: String?
        /// The subject key identifier in hexadecimal; null if the message identifies the recipient by certificate.
        @Nullable package var subjectKeyIdentifier: String?
        /// The method by which the recipient obtains the content-encryption key, such as `rsa-oaep` or `ecdh`.
        package let method: String
        /// The identifier of a shared key in hexadecimal; omitted for other methods.
        package private(set) var sharedKeyIdentifier: String?

        /// Identifies a recipient by serial number and issuer, or by the key identifier.
        package init(
            serial: String?, issuer: String?, subjectKeyIdentifier: String?, method: String,
            sharedKeyIdentifier: String? = nil
        ) {
            self.method = method
            self.sharedKeyIdentifier = sharedKeyIdentifier
            self.serial = serial
            self.issuer = issuer
            self.subjectKeyIdentifier = subjectKeyIdentifier
        }
    }

    /// A signature that matches the content but proves nothing, because it could be forged.
    package struct WeakSignature: Codable, Sendable {
        /// The label of the signer's certificate.
        package let signer: String
        /// The weakness as a phrase, such as `its digest is MD5`.
        package let reason: String

        /// Creates the entry for a signature that does not authenticate; `reason` is the weakness.
        package init(signer: String, reason: String) {
            self.signer = signer
            self.reason = reason
        }
    }

    /// A part of a multipart/mixed message that was not opened.
    package struct Part: Codable, Sendable {
        /// The path of the part, such as `2` or `1.2`.
        package let part: String
        /// The media type, such as `text/plain`.
        package let type: String
        /// Whether the part is another S/MIME message. All other parts are unprotected.
        package let isMessage: Bool

        /// Creates the entry for a part that was not opened.
        package init(part: String, type: String, isMessage: Bool) {
            self.part = part
            self.type = type
            self.isMessage = isMessage
        }
    }

    /// The outcome for one file.
    package struct Message: Codable, Sendable {
        /// The file as named on the command line, or its name in the folder that was named.
        package let file: String
        /// Whether the message was opened, lacks a key, failed or was skipped.
        package let status: Status
        /// The subject of the message; null if absent.
        @Nullable package var subject: String?
        /// The ciphers of the encryption layers, outermost first.
        package let encryption: [String]
        /// Whether a change to the content would have been detected. The innermost strong signature or encryption
        /// decides; an encryption detects changes only if its cipher authenticates. Null if the message was not opened.
        @Nullable package var authenticated: Bool?
        /// The recipients of the message.
        package let recipients: [Recipient]
        /// The label of the identity that opened the message; null if it is not encrypted, was not opened, or was opened
        /// with a password or a shared key.
        @Nullable package var label: String?
        /// The token whose key opened the message (`kSecAttrTokenID`); null for an imported key or no key.
        @Nullable package var tokenID: String?
        /// The identities that signed the message.
        package let signers: [IdentityDocument]
        /// The signatures of ``signers`` that do not authenticate the message, each with its weakness.
        package let weakSignatures: [WeakSignature]
        /// The path of the part that was opened, if the file is multipart/mixed; otherwise null.
        @Nullable package var part: String?
        /// The parts of the file that were not opened.
        package let otherParts: [Part]
        /// The limit that ended the search for further parts, as a sentence; null if `otherParts` is complete.
        @Nullable package var partLimit: String?
        /// The SHA-256 of the content in lower-case hexadecimal; null if the message was not opened.
        @Nullable package var body: String?
        /// The file with the content; null if none was written.
        @Nullable package var output: String?
        /// The reason why the message was not opened; null if it was opened.
        @Nullable package var error: FailureDocument.Body?

        /// Creates the outcome for one file. The default values are those of a file that was not opened.
        package init(
            file: String, status: Status, subject: String? = nil, encryption: [String] = [],
            authenticated: Bool? = nil, recipients: [Recipient] = [], label: String? = nil,
            tokenID: String? = nil, signers: [IdentityDocument] = [],
            weakSignatures: [WeakSignature] = [], part: String? = nil, otherParts: [Part] = [],
            partLimit: String? = nil, body: String? = nil, output: String? = nil,
            error: FailureDocument.Body? = nil
        ) {
            self.file = file
            self.status = status
            self.encryption = encryption
            self.recipients = recipients
            self.signers = signers
            self.weakSignatures = weakSignatures
            self.otherParts = otherParts
            self.part = part
            self.partLimit = partLimit
            self.subject = subject
            self.authenticated = authenticated
            self.label = label
            self.tokenID = tokenID
            self.body = body
            self.output = output
            self.error = error
        }
    }

    /// One entry for each file, in the order of the command line, and by name within a folder.
    package let messages: [Message]

    /// Creates the document of a run from the entries of its files.
    package init(messages: [Message]) { self.messages = messages }
}

extension Console {
    /// Prints the outcomes for messages as a table.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func table(of messages: [DecryptionDocument.Message]) throws(CommandFailure) {
        var table = Table(
            .init("FILE", .wraps(16)), "RESULT", .init("KEY", .uniqueStart(), leaves: 3),
            .init("ENCRYPTION", leaves: 1), .init("SIGNED BY", .wraps(12), leaves: 2),
            .init("WHY", .wraps(16)))
        for message in messages {
            let missing = message.status == .missingKey ? message.recipients.compactMap(\.serial) : []
            let why: String =
                switch message.status {
                case .opened:
                    [
                        message.authenticated == false ? "not authenticated" : nil,
                        message.part.map { "only part \($0)" },
                    ].compactMap(\.self).joined(separator: ", ")
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
