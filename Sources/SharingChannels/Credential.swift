package import SecretMemory
package import Foundation
internal import OpenSSL

/// What goes from app to app: opaque bytes with an account's name and an end.
package struct Credential: Sendable, Equatable {
    /// Whose it is.
    package var account: String
    /// The bytes that count.
    package var secret: SecretBytes
    /// From when on it is of no use.
    package var expires: Date

    /// A credential with the given parts.
    package init(account: String, secret: SecretBytes, expires: Date) {
        self.account = account
        self.secret = secret
        self.expires = expires
    }
}

extension Credential {
    static let accountField = "account"
    static let secretField = "secret"
    private static let expiresField = "expires"

    /// The same as named secrets. The date as `Date` counts it: any other start would round it.
    var fields: [String: SecretBytes] {
        [
            Self.accountField: SecretBytes(utf8: account), Self.secretField: secret,
            Self.expiresField: SecretBytes(utf8: "\(expires.timeIntervalSinceReferenceDate)"),
        ]
    }

    /// The same as one run of bytes.
    package var encoded: SecretBytes { SecretFields.encode(fields) }

    /// What `fields` gave; nil for anything else.
    init?(_ fields: [String: SecretBytes]) {
        guard let account = fields[Self.accountField]?.text, let secret = fields[Self.secretField],
            let seconds = fields[Self.expiresField]?.text.flatMap(Double.init), seconds.isFinite
        else { return nil }
        self.init(account: account, secret: secret, expires: Date(timeIntervalSinceReferenceDate: seconds))
    }

    /// What `encoded` gave; nil for anything else.
    init?(encoded: SecretBytes) {
        guard let fields = SecretFields.decode(encoded) else { return nil }
        self.init(fields)
    }
}

extension SecretBytes {
    /// The same as text, where it is no secret.
    package var text: String? {
        unsafe withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
    }
}
