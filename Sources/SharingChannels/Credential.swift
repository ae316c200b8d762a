package import Foundation
package import SecretMemory

/// A credential that one app sends to another: opaque bytes with an account name and an expiry date.
package struct Credential: Sendable, Equatable {
    /// The name of the account that the secret belongs to. The name is not secret.
    package var account: String
    /// The bytes to transfer, such as a token or a key.
    package var secret: SecretBytes
    /// The time at which the credential expires.
    package var expires: Date

    /// Creates a credential.
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

    /// The credential as named fields, for channels that store fields. The date is stored in seconds since 2001, as in
    /// `Date`, because converting it to another unit would round it.
    var fields: [String: SecretBytes] {
        [
            Self.accountField: SecretBytes(utf8: account), Self.secretField: secret,
            Self.expiresField: SecretBytes(utf8: "\(expires.timeIntervalSinceReferenceDate)"),
        ]
    }

    /// The credential as bytes, for channels that transfer bytes.
    package var encoded: SecretBytes { SecretFields.encode(fields) }

    /// Decodes a credential from named fields. Returns nil if a field is missing or malformed.
    init?(_ fields: [String: SecretBytes]) {
        guard let account = fields[Self.accountField].flatMap({ String(nonSecret: $0) }),
            let secret = fields[Self.secretField],
            let seconds = fields[Self.expiresField].flatMap({ String(nonSecret: $0) }).flatMap(Double.init),
            seconds.isFinite
        else { return nil }
        self.init(account: account, secret: secret, expires: Date(timeIntervalSinceReferenceDate: seconds))
    }

    /// Decodes a credential from bytes and checks that it has not expired at `now`.
    ///
    /// - Throws: `SharingChannelError`: `damaged` if the bytes are not a credential, `expired`.
    init(_ encoded: SecretBytes, at now: Date) throws(SharingChannelError) {
        guard let credential = SecretFields.decode(encoded).flatMap({ Credential($0) }) else {
            throw SharingChannelError(.damaged, "the channel's content is not a credential")
        }
        guard now < credential.expires else { throw SharingChannelError.expired }
        self = credential
    }
}

extension SharingChannelError {
    /// The error for an expired credential.
    static var expired: SharingChannelError {
        SharingChannelError(.expired, "the credential has expired")
    }
}

extension String {
    /// Decodes UTF-8 bytes that are stored with a secret but are not secret, such as an account name. Returns nil for
    /// other bytes. Never use it for a secret: a `String` is copied freely and cannot be wiped.
    init?(nonSecret bytes: SecretBytes) {
        guard let text = unsafe bytes.withUnsafeBytes({ unsafe String(validating: $0, as: UTF8.self) })
        else { return nil }
        self = text
    }
}
