/// What is wrong with a certificate, a revocation list, a name or a key, or why none could be made.
package struct CertificateError: Error, Sendable {
    /// The kinds of failure a caller may want to tell apart.
    package enum Code: Sendable, Hashable {
        /// The bytes are not the structure they should be.
        case malformed
        /// There is something behind the structure.
        case trailingBytes
        /// A text holds no PEM block of the kind that was looked for.
        case missing
        /// A key, or the curve of a key, that OpenSSL does not know; named by its dotted object identifier.
        case unsupportedKey(oid: String)
        /// A key of a known kind whose contents are wrong.
        case malformedKey
        /// A key of a known kind that would take too much work to load; by its dotted object identifier.
        case costlyKey(oid: String)
        /// A value that cannot be put into a certificate: an empty object identifier, a name that is not
        /// ASCII, a year past 9999.
        case unencodable
        /// OpenSSL could not sign.
        case unsignable
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, for a person; never holds secret bytes.
    package let reason: String
    /// What OpenSSL said, where it was asked.
    package let cause: OpenSSLError?

    /// Describes a failure; `cause` is what OpenSSL had to say.
    package init(_ code: Code, _ reason: String, cause: OpenSSLError? = nil) {
        self.code = code
        self.reason = reason
        self.cause = cause
    }

    /// Takes this thread's whole error queue as the cause.
    static func draining(_ code: Code, _ reason: String) -> CertificateError {
        CertificateError(code, reason, cause: .draining(reason))
    }
}

extension CertificateError: Equatable {
    /// Equal by code: reasons are for people and may be worded anew.
    package static func == (left: CertificateError, right: CertificateError) -> Bool {
        left.code == right.code
    }
}

extension CertificateError: CustomStringConvertible {
    /// The reason, then OpenSSL's own words.
    package var description: String {
        guard let cause, !cause.queue.isEmpty else { return reason }
        return cause.operation == reason ? cause.description : "\(reason): \(cause)"
    }
}
