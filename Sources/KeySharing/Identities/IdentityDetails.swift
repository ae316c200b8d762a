public import Foundation

/// The certificate's owner and expiry date. Lists show these details, but they do not affect where an identity is
/// listed.
///
/// ```swift
/// let details = IdentityDetails(
///     subject: "CN=EXAMPLE.DANA.1234567890,O=Test U.S. Government,C=US",
///     commonName: "EXAMPLE.DANA.1234567890", email: "dana@mail.example", edipi: "1234567890",
///     notAfter: Date(timeIntervalSince1970: 1_800_000_000))
/// let isDanas = details.names(person: "dana")  // true
/// ```
public struct IdentityDetails: Sendable, Hashable {
    /// The certificate's subject in the string format of RFC 4514.
    public let subject: String
    /// The subject's common name, which people recognize; nil if absent.
    public let commonName: String?
    /// The certificate's e-mail address; nil if absent.
    public let email: String?
    /// The person's EDIPI (electronic data interchange personal identifier), ten digits; nil if absent.
    public let edipi: String?
    /// The end of the certificate's validity period.
    public let notAfter: Date

    /// Creates the details of an identity. An empty common name, address or EDIPI counts as absent.
    public init(subject: String, commonName: String?, email: String?, edipi: String?, notAfter: Date) {
        func present(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
        self.subject = subject
        self.commonName = present(commonName)
        self.email = present(email)
        self.edipi = present(edipi)
        self.notAfter = notAfter
    }

    /// Returns whether the common name, the e-mail address or the EDIPI contains `text`, ignoring case (docs/rules.md
    /// R7.22).
    public func names(person text: String) -> Bool {
        [commonName, email, edipi].contains { name in
            name?.range(of: text, options: .caseInsensitive) != nil
        }
    }
}
