package import Diagnostics

/// A certificate, revocation list, name or key that cannot be read, written or used.
///
/// Switch over ``code`` to act on the error: `malformed`, `trailingBytes`, `missing` and `malformedKey` mean that the
/// input is at fault, `unsupportedKey` and `costlyKey` that the input may be in order but is not accepted,
/// `unencodable` and `unsignable` that what this program was asked to make cannot be made. Show ``reason`` to people,
/// and look into ``cause`` (an ``OpenSSLError``) to find out what OpenSSL objected to. Errors are equal when their
/// codes are, so a test compares with `CertificateError(.malformed, "")`.
package struct CertificateError: Failure {
    package static let domain = FailureDomain.certificate

    /// The kinds of failure.
    package enum Code: Sendable, Hashable {
        /// The bytes are not the structure that was expected, in DER or PEM.
        case malformed
        /// The structure is followed by further bytes.
        case trailingBytes
        /// The text holds no PEM block of the kind that was looked for.
        case missing
        /// A file or folder of certificates and lists is not there, or the file system does not let it be read.
        case unreadable
        /// There is more to read than a limit allows; the reason names the limit.
        case overLimit
        /// OpenSSL does not know the kind of the key, or its curve; `oid` is the identifier of one or the other.
        case unsupportedKey(oid: String)
        /// The key is of a kind that OpenSSL knows, and its contents are wrong.
        case malformedKey
        /// The key is refused because loading it could take too long; `oid` is the identifier of its algorithm.
        /// See `KeyLoadingPolicy`.
        case costlyKey(oid: String)
        /// A value cannot be written in ASN.1: an empty object identifier, an e-mail address that is not ASCII, a
        /// year after 9999.
        case unencodable
        /// OpenSSL could not make the signature.
        case unsignable
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, as one phrase without a full stop. It holds no secret bytes.
    package let reason: String
    /// The ``OpenSSLError`` with what OpenSSL said; nil if OpenSSL was not asked.
    package let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: One phrase without a full stop, which holds no secret bytes.
    ///   - cause: What OpenSSL said, if it was asked.
    package init(_ code: Code, _ reason: String, cause: OpenSSLError? = nil) {
        self.code = code
        self.reason = reason
        self.cause = cause
    }

    /// An error of which OpenSSL is the cause, with everything that is in this thread's error queue.
    ///
    /// - Parameter operation: What was being done, as a phrase such as `decoding a certificate`.
    static func draining(_ code: Code, _ operation: String) -> CertificateError {
        CertificateError(code, operation, cause: .draining(operation))
    }
}
