internal import Diagnostics

/// A certificate, revocation list, name or key that cannot be read, written or used.
///
/// Switch over ``code`` to act on the error:
///
/// * `malformed`, `trailingBytes`, `missing` and `malformedKey` mean that the input is defective.
/// * `unsupportedKey` and `costlyKey` mean that the input may be correct but is not accepted.
/// * `unencodable` and `unsignable` mean that the requested output cannot be produced.
///
/// Show ``reason`` to users, and inspect ``cause`` (an ``OpenSSLError``) for OpenSSL's reasons. Errors are equal if
/// their codes are equal, so a test can compare with `CertificateError(.malformed, "")`.
package struct CertificateError: Failure {
    /// The kinds of failure.
    package enum Code: Sendable, Hashable {
        /// The bytes are not the structure that was expected, in DER or PEM.
        case malformed
        /// Further bytes follow the structure.
        case trailingBytes
        /// The text contains no PEM block of the expected kind.
        case missing
        /// A file or folder of certificates and lists does not exist or cannot be read.
        case unreadable
        /// The input exceeds a limit; the reason names the limit.
        case overLimit
        /// OpenSSL does not support the algorithm or the curve of the key; `oid` identifies it.
        case unsupportedKey(oid: String)
        /// OpenSSL supports the algorithm of the key, but its contents are wrong.
        case malformedKey
        /// The key is rejected because loading it could take too long; `oid` is the identifier of its algorithm.
        /// See `KeyLoadingPolicy`.
        case costlyKey(oid: String)
        /// A value cannot be written in ASN.1: an empty object identifier, an e-mail address that is not ASCII, a
        /// year after 9999.
        case unencodable
        /// OpenSSL could not create the signature.
        case unsignable
    }

    /// The kind of failure.
    package let code: Code
    /// A description of the failure, as one phrase without a full stop and without secret bytes.
    package let reason: String
    /// The ``OpenSSLError`` with OpenSSL's reasons; nil if OpenSSL was not called.
    package let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: One phrase without a full stop and without secret bytes.
    ///   - cause: OpenSSL's error, if OpenSSL was called.
    package init(_ code: Code, _ reason: String, cause: OpenSSLError? = nil) {
        self.code = code
        self.reason = reason
        self.cause = cause
    }

    /// Creates an error caused by OpenSSL, with all entries of this thread's error queue.
    ///
    /// - Parameter operation: The operation that failed, as a phrase such as `decoding a certificate`.
    static func draining(_ code: Code, _ operation: String) -> CertificateError {
        CertificateError(code, operation, cause: .draining(operation))
    }
}
