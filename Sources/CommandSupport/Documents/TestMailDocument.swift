/// The file `expected.json` in a folder of mails, and the JSON document of the `mail` that wrote the folder.
package struct TestMailDocument: Codable, Sendable {
    /// One mail, and which identities open it.
    package struct Message: Codable, Sendable {
        /// The name of the file in the folder.
        package let file: String
        /// The labels of the identities that it is encrypted for, each of which opens it; empty where it is not encrypted.
        package let recipients: [String]
        /// The label of the identity that signed it; null where none did.
        @Nullable package var signer: String?
        /// The SHA-256 in lower-case hexadecimal of the MIME entity inside, with CR LF at the ends of lines: what
        /// `decrypt` and `openssl cms` write.
        package let body: String
        /// The cipher, such as `aes256-gcm`; null where the mail is not encrypted.
        @Nullable package var encryption: String?
        /// How RSA keys get the content's key, `pkcs1` or `oaep`; null where the mail is not encrypted.
        @Nullable package var rsa: String?

        /// Describes a mail.
        package init(
            file: String, recipients: [String], signer: String?, body: String, encryption: String?,
            rsa: String?
        ) {
            self.file = file
            self.recipients = recipients
            self.body = body
            self.signer = signer
            self.encryption = encryption
            self.rsa = rsa
        }
    }

    /// The name of the file.
    package static let filename = "expected.json"

    /// The folder; left out of the file in it.
    package let folder: String?
    /// The mails.
    package let messages: [Message]

    /// Describes mails.
    package init(folder: String? = nil, messages: [Message]) {
        self.folder = folder
        self.messages = messages
    }
}
