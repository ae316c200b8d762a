package import CommandSupport

/// The file `expected.json` in a folder of messages, and the JSON document of the `mail` command that wrote it.
package struct TestMailDocument: Codable, Sendable {
    /// A message and the identities that open it.
    package struct Message: Codable, Sendable {
        /// The name of the file in the folder.
        package let file: String
        /// The labels of the recipients, who can all decrypt the message; empty if it is not encrypted.
        package let recipients: [String]
        /// The label of the signer; null if the message is not signed.
        @Nullable package var signer: String?
        /// The SHA-256, in lower-case hexadecimal, of the MIME entity inside, with CR LF line ends, as `decrypt` and
        /// `openssl cms` write it.
        package let body: String
        /// The cipher, such as `aes256-gcm`; null if the message is not encrypted.
        @Nullable package var encryption: String?
        /// The padding with which RSA keys encrypt the content key, `pkcs1` or `oaep`; null if the message is not
        /// encrypted.
        @Nullable package var rsa: String?

        /// Creates the entry for one message.
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

    /// The folder; omitted in the file.
    package let folder: String?
    /// The messages.
    package let messages: [Message]

    /// Creates the document from its entries. `folder` is nil in the file.
    package init(folder: String? = nil, messages: [Message]) {
        self.folder = folder
        self.messages = messages
    }
}
