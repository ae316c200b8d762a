package import Diagnostics

/// A message of S/MIME (RFC 8551) or CMS (RFC 5652) that cannot be read, opened or made.
///
/// Switch over ``code`` to act on the error; ``reason`` is for people, and ``cause`` has what OpenSSL said. Why a
/// message does not decrypt is never told apart further: whether padding, tag or key was wrong is what an attacker would
/// ask (RFC 8551, 6).
package struct CMSError: Failure {
    package static let domain = FailureDomain.cms

    /// The kinds of failure.
    package enum Code: Sendable, Hashable {
        /// The bytes are not the structure that was expected, or end early.
        case malformed
        /// The file is neither a mail nor a message in CMS.
        case noMessage
        /// The mail is neither encrypted nor signed.
        case unprotected
        /// OpenSSL has no such algorithm, or this program does not take it; `oid` is its identifier.
        case unsupported(oid: String)
        /// None of the keys at hand is one that the message was encrypted for.
        case missingKey
        /// The message was altered: it does not decrypt with the key that it names, or its tag does not fit.
        case altered
        /// A signature does not fit the content, or its certificate is not there.
        case invalidSignature
        /// There is more to read than a limit allows; the reason names the limit.
        case overLimit
        /// The key is not one that signs, or that a message can be encrypted for.
        case unsuitableKey
        /// OpenSSL could not make the message.
        case unmakable
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, as one phrase without a full stop. It holds no secret bytes.
    package let reason: String
    /// The ``OpenSSLError`` with what OpenSSL said; nil if OpenSSL was not asked.
    package let cause: (any Error)?
    /// Whom the message is encrypted for, where the key of none is at hand; empty for other failures.
    package let recipients: [CMSRecipient]

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: One phrase without a full stop.
    ///   - cause: What OpenSSL said, if it was asked.
    ///   - recipients: Whom the message is encrypted for, where that is what is wrong.
    package init(
        _ code: Code, _ reason: String, cause: (any Error)? = nil, recipients: [CMSRecipient] = []
    ) {
        self.code = code
        self.reason = reason
        self.cause = cause
        self.recipients = recipients
    }

    /// An error of which OpenSSL is the cause, with everything that is in this thread's error queue.
    static func draining(_ code: Code, _ operation: String) -> CMSError {
        CMSError(code, operation, cause: OpenSSLError.draining(operation))
    }
}
