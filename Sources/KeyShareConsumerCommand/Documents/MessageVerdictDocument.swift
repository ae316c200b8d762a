package import CommandSupport
package import Foundation

/// The verdict on one message, in the JSON document of `verify --message`.
package struct MessageVerdictDocument: Codable, Sendable {
    /// One signature and its signer.
    package struct Signer: Codable, Sendable {
        /// The signer's certificate as the message identifies it: serial number and issuer, or key identifier.
        package let signer: String
        /// The identity of the certificate; null if the certificate is missing.
        @Nullable package var identity: IdentityDocument?
        /// Whether the signer is valid for the message.
        package let valid: Bool
        /// Whether the signer is invalid only because certificates have expired.
        package let expired: Bool
        /// The time at which the signer claims to have signed; null if the signature contains none.
        @Nullable package var signingTime: Date?
        /// The time at which the path was validated.
        package let validatedAt: Date
        /// The name of the signature algorithm.
        package let signatureAlgorithm: String
        /// The name of the digest.
        package let digest: String
        /// The algorithms that the signer claims to support, in order of preference.
        package let capabilities: [String]
        /// The checks in order.
        package let checks: [VerificationDocument.Check]
        /// The valid path, or the path that is nearest to being valid, leaf first.
        package let path: [VerificationDocument.Link]
        /// The URLs of missing material; omitted if fetching was not enabled.
        package let fetched: [VerificationDocument.Fetched]?
    }

    /// One encryption of a part.
    package struct Encryption: Codable, Sendable {
        /// The name of the cipher.
        package let cipher: String
        /// Whether the cipher detects alterations.
        package let authenticated: Bool
        /// The label of the identity whose key decrypted the part; null if a password or a shared key did.
        @Nullable package private(set) var label: String?

        init(cipher: String, authenticated: Bool, label: String?) {
            self.cipher = cipher
            self.authenticated = authenticated
            self.label = label
        }
    }

    /// Protected header fields, and their differences outside the protection (RFC 9788).
    package struct ProtectedHeader: Codable, Sendable {
        /// A field with different values inside and outside.
        package struct Difference: Codable, Sendable {
            /// The name of the field.
            package let field: String
            /// The kind of difference: `hidden`, `changed`, `added` or `removed`.
            package let kind: String
            /// The protected value; null if there is none.
            @Nullable package var inner: String?
            /// The unprotected value; null if there is none.
            @Nullable package var outer: String?
        }

        /// The way of protection: `clear`, `cipher`, `wrapped` or `draft`.
        package let form: String
        /// The protected From field; null if there is none.
        @Nullable package var from: String?
        /// The protected subject; null if there is none.
        @Nullable package var subject: String?
        /// The differences between the protected fields and the fields outside.
        package let differences: [Difference]
    }

    /// An S/MIME part.
    package struct Part: Codable, Sendable {
        /// The path of the part, such as `2.1`; null if the whole file is the S/MIME message.
        @Nullable package var part: String?
        /// The media type.
        package let type: String
        /// Whether the part belongs to a message inside the message, such as a forwarded one.
        package let forwarded: Bool
        /// The path of the S/MIME part that contains this one; null if there is none or it is the whole file.
        @Nullable package var container: String?
        /// Whether the sender signed the content.
        package let valid: Bool
        /// Whether the part is invalid only because certificates have expired.
        package let expired: Bool
        /// The checks in order.
        package let checks: [VerificationDocument.Check]
        /// The encryptions, outermost first.
        package let encryption: [Encryption]
        /// The signers of every layer, outermost layer first.
        package let signers: [Signer]
        /// The protected header fields; null if none are protected.
        @Nullable package var header: ProtectedHeader?
        /// The SHA-256 of the content in lower-case hexadecimal; null if the part was not opened.
        @Nullable package var body: String?
    }

    /// A part that nothing protects.
    package struct Unprotected: Codable, Sendable {
        /// The path of the part.
        package let part: String
        /// The media type.
        package let type: String
    }

    /// The file as named on the command line, or its name in the folder that was named.
    package let file: String
    /// Whether the sender of the message signed its content. Parts may be outside the signature; see `unprotected`.
    package let valid: Bool
    /// Whether the message is invalid only because certificates have expired.
    package let expired: Bool
    /// Whether the message is valid and no part is outside its signature.
    package let complete: Bool
    /// The protected From field, or the From field of the file if none is protected; null if there is none.
    @Nullable package var from: String?
    /// The subject of the file, which nothing may protect; null if there is none.
    @Nullable package var subject: String?
    /// The checks of the message as a whole.
    package let checks: [VerificationDocument.Check]
    /// The S/MIME parts, in the order of the message.
    package let parts: [Part]
    /// The parts that nothing protects.
    package let unprotected: [Unprotected]
}
