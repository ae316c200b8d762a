package import Diagnostics

/// The error of reading or writing a PKCS #12 file. Two errors are equal when their codes are.
package struct PKCS12Error: Failure {
    package static let domain = FailureDomain.pkcs12

    /// The kinds of failure (docs/rules.md R7.10); scripts and tests depend on their number and order.
    package enum Code: Hashable, Sendable {
        /// The password is not the file's. The MAC tells a wrong password from damage, and this code is never used when
        /// anything in the file has accepted the password.
        case wrongPassword
        /// The file asks for an algorithm that this OpenSSL lacks, given by its dotted identifier and a name for people.
        case unsupportedAlgorithm(oid: String, name: String)
        /// The bytes are not PKCS #12: `at` says where, `expected` what should stand there.
        case malformed(at: String, expected: String)
        /// The file exceeds a limit, and no key was derived for the part that does.
        case refused(limit: PKCS12Limit)
        /// The file opens and holds no private key with its certificate.
        case noIdentity
        /// The certificate that a private key's localKeyID names is for another key.
        case keyMismatch
        /// The file has no MAC, and the caller did not allow that.
        case missingMAC
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, in a sentence for people; it never holds a secret.
    package let reason: String
    /// The error of OpenSSL, where a call to OpenSSL failed.
    package let cause: (any Error)?

    /// Describes a failure.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: The sentence for people; nil takes one that is made of the code.
    ///   - cause: The error of OpenSSL, if there is one.
    package init(_ code: Code, reason: String? = nil, cause: OpenSSLError? = nil) {
        self.code = code
        self.reason = reason ?? code.sentence
        self.cause = cause
    }

    /// The reason, and OpenSSL's words where there are any.
    package var description: String { cause.map { "\(reason) (\($0))" } ?? reason }
}

extension PKCS12Error {
    /// The error for bytes at `place` that are not what they should be.
    static func malformed(_ place: String, expected: String) -> PKCS12Error {
        PKCS12Error(.malformed(at: place, expected: expected))
    }

    /// The error for a layer at `place` that a password does not open, though it is right elsewhere in the file.
    static func unopened(_ place: String) -> PKCS12Error {
        PKCS12Error(
            .malformed(at: place, expected: "what the file's password opens"),
            reason: "the password is right, but \(place) is damaged, or under another one")
    }

    /// The error for an algorithm that this OpenSSL lacks.
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
    /// The sentence for people where nothing more exact is known.
    fileprivate var sentence: String {
        switch self {
        case .wrongPassword: "the password is wrong"
        case .unsupportedAlgorithm(let oid, let name):
            name == oid ? "algorithm \(oid) is not supported" : "\(name) (\(oid)) is not supported"
        case .malformed(let place, let expected): "malformed at \(place): expected \(expected)"
        case .refused(let limit): "refused: \(limit)"
        case .noIdentity: "there is no private key with a certificate in the file"
        case .keyMismatch: "a private key does not match its certificate"
        case .missingMAC: "the file is not protected by a MAC"
        }
    }
}
