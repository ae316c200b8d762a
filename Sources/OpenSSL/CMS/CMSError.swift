internal import Diagnostics

/// An error in reading, opening or creating an S/MIME (RFC 8551) or CMS (RFC 5652) message.
///
/// Switch over ``code`` to act on the error. ``reason`` is a message for users, and ``cause`` contains the errors of
/// OpenSSL. The reason for a failed decryption is never revealed, because an attacker could use the difference between
/// a wrong padding, tag or key (RFC 8551, 6).
package struct CMSError: Failure {
    /// The kinds of failure.
    package enum Code: Sendable, Hashable {
        /// The bytes do not have the expected structure, or are truncated.
        case malformed
        /// The file is neither an e-mail message nor a CMS message.
        case noMessage
        /// The message is neither encrypted nor signed.
        case unprotected
        /// The message has no S/MIME part with the given path.
        case noSuchPart
        /// OpenSSL does not implement the algorithm, or this program rejects it; `oid` is its identifier.
        case unsupported(oid: String)
        /// No recipient's key is available.
        case missingKey
        /// The password or the shared key does not open the message.
        case wrongPassword
        /// The message was altered: it does not decrypt with the recipient's key, or its tag does not match.
        case altered
        /// A signature does not match the content, or the message does not contain the signer's certificate.
        case invalidSignature
        /// The message exceeds a limit, which the reason names.
        case overLimit
        /// The key cannot sign messages, or a message cannot be encrypted for it.
        case unsuitableKey
        /// OpenSSL could not create the message.
        case unmakable
    }

    /// The kind of failure.
    package let code: Code
    /// The failure as one phrase without a full stop. It contains no secret bytes.
    package let reason: String
    /// The ``OpenSSLError`` that caused this error; nil if no OpenSSL call failed.
    package let cause: (any Error)?
    /// The recipients, if no recipient's key is available; otherwise empty.
    package let recipients: [CMSRecipient]

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: One phrase without a full stop.
    ///   - cause: The error of the failed OpenSSL call, if any.
    ///   - recipients: The recipients, for `.missingKey`.
    package init(
        _ code: Code, _ reason: String, cause: (any Error)? = nil, recipients: [CMSRecipient] = []
    ) {
        self.code = code
        self.reason = reason
        self.cause = cause
        self.recipients = recipients
    }

    /// Creates an error whose cause contains all entries of this thread's OpenSSL error queue, and empties the queue.
    static func draining(_ code: Code, _ operation: String) -> CMSError {
        CMSError(code, operation, cause: OpenSSLError.draining(operation))
    }
}
