public import Foundation

/// An entry of the key store whose aliases the provider shares (docs/rules.md R9.1).
///
/// ```swift
/// let entry = AliasEntry(
///     alias: "Purebred Recovered #1",
///     certificate: AliasEntry.Certificate(
///         der: [0x30, 0x00], type: .encryption, notBefore: .distantPast, notAfter: .distantFuture))
/// let text = entry.certificate?.base64  // "MAA=\n"
/// ```
public struct AliasEntry: Sendable, Hashable {
    /// The certificate of an entry.
    public struct Certificate: Sendable, Hashable {
        /// The certificate in DER.
        public let der: [UInt8]
        /// The type that the provider publishes for it.
        public let type: AliasType
        /// The pitfalls of its type.
        public let warnings: [AliasClassification.Warning]
        /// The start of the validity period.
        public let notBefore: Date
        /// The end of the validity period.
        public let notAfter: Date
        /// The algorithm of the public key as Java names it: `RSA` or `EC`.
        public let keyType: String
        /// The DER of the issuer's name of each certificate in the chain.
        public let issuers: [[UInt8]]

        /// Creates the certificate of an entry. The chooser needs the key type and the issuers only if it filters by
        /// them.
        public init(
            der: [UInt8], type: AliasType, warnings: [AliasClassification.Warning] = [], notBefore: Date,
            notAfter: Date, keyType: String = "", issuers: [[UInt8]] = []
        ) {
            self.der = der
            self.type = type
            self.warnings = warnings
            self.notBefore = notBefore
            self.notAfter = notAfter
            self.keyType = keyType
            self.issuers = issuers
        }

        /// The DER in Base64 as Android's `Base64.DEFAULT` writes it: lines of 76 characters, and LF after each line
        /// (docs/rules.md R9.2).
        public var base64: String {
            guard !der.isEmpty else { return "" }
            return Data(der).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])
                + "\n"
        }
    }

    /// The name of the entry.
    public let alias: String
    /// The certificate; nil for an entry without a certificate, such as a secret key.
    public let certificate: Certificate?
    /// Whether the chooser offers the entry to the user.
    public let isUserSelectable: Bool

    /// Creates an entry.
    public init(alias: String, certificate: Certificate?, isUserSelectable: Bool = true) {
        self.alias = alias
        self.certificate = certificate
        self.isUserSelectable = isUserSelectable
    }

    /// Returns whether `left` precedes `right` in lists of entries. Aliases are compared by the bytes of their UTF-8.
    public static func precedes(_ left: AliasEntry, _ right: AliasEntry) -> Bool {
        left.alias.utf8.lexicographicallyPrecedes(right.alias.utf8)
    }
}
