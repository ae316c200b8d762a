internal import Diagnostics

/// An error in reading or writing a PKCS #12 file. Two errors are equal if their codes are.
package struct PKCS12Error: Failure {
    /// The kinds of failure (docs/rules.md R7.10). Scripts and tests depend on their number and order.
    package enum Code: Hashable, Sendable {
        /// The password is wrong. Never used if any part of the file has accepted the password: the file is then
        /// damaged, or has two passwords.
        case wrongPassword
        /// The file requires an algorithm that OpenSSL lacks, given by its dotted identifier and a readable name.
        case unsupportedAlgorithm(oid: String, name: String)
        /// The bytes are not PKCS #12: `at` is the position, `expected` the element that should be there.
        case malformed(at: String, expected: String)
        /// The file exceeds a limit. No key was derived for the part above the limit.
        case refused(limit: PKCS12Limit)
        /// The file was read, but contains no private key with a matching certificate.
        case noIdentity
        /// A private key's localKeyID belongs to the certificate of another key.
        case keyMismatch
        /// The file has no MAC, and the caller requires one.
        case missingMAC
    }

    /// The kind of failure.
    package let code: Code
    /// A readable sentence about the failure, without secrets.
    package let reason: String
    /// The error of OpenSSL, if a call to OpenSSL failed.
    package let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: A readable sentence; nil uses the standard sentence for the code.
    ///   - cause: The error of the failed OpenSSL call, if any.
    package init(_ code: Code, reason: String? = nil, cause: OpenSSLError? = nil) {
        self.code = code
        self.reason = reason ?? code.sentence
        self.cause = cause
    }

    /// The reason, and OpenSSL's reasons if there are any.
    package var description: String { cause.map { "\(reason) (\($0))" } ?? reason }
}

extension PKCS12Error {
    /// The error for unexpected bytes at `place`.
    static func malformed(_ place: String, expected: String) -> PKCS12Error {
        PKCS12Error(.malformed(at: place, expected: expected))
    }

    /// The error for a layer at `place` that the password does not decrypt, although another part of the file accepted
    /// it.
    ///
    /// - Parameter isUnderMAC: Whether a MAC over the layer's ciphertext accepted the password. Then the layer is
    ///   unchanged and has a different password.
    static func unopened(_ place: String, underMAC isUnderMAC: Bool = false) -> PKCS12Error {
        PKCS12Error(
            .malformed(at: place, expected: "data encrypted with the file's password"),
            reason: isUnderMAC
                ? "the file has two passwords: this one matches the MAC, but \(place) is encrypted with the other"
                : "the password is correct, but \(place) is damaged or encrypted with another password")
    }

    /// The error for an algorithm that OpenSSL lacks.
    static func unsupported(oid: String, reason: String? = nil) -> PKCS12Error {
        PKCS12Error(
            .unsupportedAlgorithm(oid: oid, name: ObjectIdentifierName.name(of: oid)), reason: reason)
    }

    /// The error for a limit that the file exceeds.
    static func refused(_ limit: PKCS12Limit, reason: String? = nil) -> PKCS12Error {
        PKCS12Error(.refused(limit: limit), reason: reason)
    }
}

extension PKCS12Error.Code {
    /// The standard sentence if no details are known.
    fileprivate var sentence: String {
        switch self {
        case .wrongPassword: "the password is wrong"
        case .unsupportedAlgorithm(let oid, let name):
            name == oid ? "algorithm \(oid) is not supported" : "\(name) (\(oid)) is not supported"
        case .malformed(let place, let expected): "malformed at \(place): expected \(expected)"
        case .refused(let limit): "refused: \(limit)"
        case .noIdentity: "the file contains no private key with its certificate"
        case .keyMismatch: "a private key does not match its certificate"
        case .missingMAC: "the file has no MAC"
        }
    }
}
