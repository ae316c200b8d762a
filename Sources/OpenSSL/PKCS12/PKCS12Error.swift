/// Why a PKCS #12 file did not open or could not be written. Equal by code.
package struct PKCS12Error: Error, Sendable {
    /// The closed set of verdicts; scripts and tests depend on it.
    package enum Code: Hashable, Sendable {
        /// The password is not the file's; told from damage by the MAC, and never said where anything in the
        /// file has proved the password.
        case wrongPassword
        /// Something in the file asks for an algorithm that is not there: its dotted OID and a name for it.
        case unsupportedAlgorithm(oid: String, name: String)
        /// The bytes are no PKCS #12: where, and what should have stood there.
        case malformed(at: String, expected: String)
        /// A limit was passed; nothing was derived from the password for it.
        case refused(limit: PKCS12Limit)
        /// The file opens and holds no private key with its certificate.
        case noIdentity
        /// A private key's certificate, by localKeyID, is for another key.
        case keyMismatch
        /// The file is not protected by a MAC and the caller asked for one.
        case missingMAC
    }

    /// What kind of failure it is.
    package let code: Code
    /// One sentence for people; never holds a secret.
    package let reason: String
    /// What OpenSSL said, where it was OpenSSL that failed.
    package let cause: OpenSSLError?

    /// Describes a failure; `reason` defaults to a sentence made from the code.
    package init(_ code: Code, reason: String? = nil, cause: OpenSSLError? = nil) {
        self.code = code
        self.reason = reason ?? code.sentence
        self.cause = cause
    }

    static func malformed(_ place: String, expected: String) -> PKCS12Error {
        PKCS12Error(.malformed(at: place, expected: expected))
    }

    /// What stays shut under a password that is right elsewhere in the file.
    static func unopened(_ place: String) -> PKCS12Error {
        PKCS12Error(
            .malformed(at: place, expected: "what the file's password opens"),
            reason: "the password is right, but \(place) is damaged, or under another one")
    }

    static func unsupported(oid: String, reason: String? = nil) -> PKCS12Error {
        PKCS12Error(
            .unsupportedAlgorithm(oid: oid, name: ObjectIdentifierName.name(of: oid)), reason: reason)
    }

    static func refused(_ limit: PKCS12Limit, reason: String? = nil) -> PKCS12Error {
        PKCS12Error(.refused(limit: limit), reason: reason)
    }
}

extension PKCS12Error: Equatable {
    /// Two errors are equal when their codes are.
    package static func == (left: PKCS12Error, right: PKCS12Error) -> Bool { left.code == right.code }
}

extension PKCS12Error: CustomStringConvertible {
    /// The reason, then OpenSSL's words if there are any.
    package var description: String { cause.map { "\(reason) (\($0))" } ?? reason }
}

extension PKCS12Error.Code {
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
