internal import Diagnostics
package import Foundation
package import SecretMemory

/// What an app hands to another: opaque bytes with an account's name and an expiry date.
package struct Credential: Sendable, Equatable {
    /// The name of the account that the secret belongs to. It is no secret.
    package var account: String
    /// The bytes to hand over, such as a token or a key.
    package var secret: SecretBytes
    /// The time from which the credential is of no use.
    package var expires: Date

    /// Makes a credential from its parts.
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

    /// The credential as named fields, for stores that take them. The date is written in seconds since 2001, the unit
    /// of `Date`: in any other unit it would be rounded.
    var fields: [String: SecretBytes] {
        [
            Self.accountField: SecretBytes(utf8: account), Self.secretField: secret,
            Self.expiresField: SecretBytes(utf8: "\(expires.timeIntervalSinceReferenceDate)"),
        ]
    }

    /// The credential as bytes, for channels that carry bytes.
    package var encoded: SecretBytes { SecretFields.encode(fields) }

    /// Reads a credential from the fields of `fields`; nil for other fields.
    init?(_ fields: [String: SecretBytes]) {
        guard let account = fields[Self.accountField].flatMap({ String(nonSecret: $0) }),
            let secret = fields[Self.secretField],
            let seconds = fields[Self.expiresField].flatMap({ String(nonSecret: $0) }).flatMap(Double.init),
            seconds.isFinite
        else { return nil }
        self.init(account: account, secret: secret, expires: Date(timeIntervalSinceReferenceDate: seconds))
    }

    /// Reads a credential from the bytes of `encoded`, and checks that it has not expired at `now`.
    ///
    /// - Throws: `SharingChannelError`: `damaged` for other bytes, `expired`.
    init(_ encoded: SecretBytes, at now: Date) throws(SharingChannelError) {
        guard let credential = SecretFields.decode(encoded).flatMap({ Credential($0) }) else {
            throw SharingChannelError(.damaged, "what is on the channel is no credential")
        }
        guard now < credential.expires else { throw SharingChannelError.expired }
        self = credential
    }
}

extension SharingChannelError {
    /// The error for a credential whose time is over.
    static var expired: SharingChannelError {
        SharingChannelError(.expired, "the credential's time is over")
    }
}

extension String {
    /// Reads bytes as UTF-8 that stand beside a secret and are none, such as the name of an account; nil for other
    /// bytes. Never use it for a secret: a `String` is copied freely and cannot be wiped.
    init?(nonSecret bytes: SecretBytes) {
        guard let text = unsafe bytes.withUnsafeBytes({ unsafe String(validating: $0, as: UTF8.self) })
        else { return nil }
        self = text
    }
}
