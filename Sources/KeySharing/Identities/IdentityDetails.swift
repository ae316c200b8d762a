public import Foundation

/// What lists show of an identity's certificate beside what decides where the identity is listed: whose it is, and
/// until when it is valid.
///
/// ```swift
/// let details = IdentityDetails(
///     subject: "CN=EXAMPLE.DANA.1234567890,O=Test U.S. Government,C=US",
///     commonName: "EXAMPLE.DANA.1234567890", email: "dana@mail.example", edipi: "1234567890",
///     notAfter: Date(timeIntervalSince1970: 1_800_000_000))
/// let isDanas = details.names(person: "dana")  // true
/// ```
public struct IdentityDetails: Sendable, Hashable {
    /// The certificate's subject, as RFC 4514 writes names.
    public let subject: String
    /// The subject's common name, by which people know the person; nil without one.
    public let commonName: String?
    /// The e-mail address of the certificate; nil without one.
    public let email: String?
    /// The person's EDIPI (electronic data interchange personal identifier), ten digits; nil where the certificate
    /// has none.
    public let edipi: String?
    /// The end of the certificate's validity.
    public let notAfter: Date

    /// Makes the details of an identity. An empty common name, address or EDIPI is none.
    public init(subject: String, commonName: String?, email: String?, edipi: String?, notAfter: Date) {
        func present(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
        self.subject = subject
        self.commonName = present(commonName)
        self.email = present(email)
        self.edipi = present(edipi)
        self.notAfter = notAfter
    }

    /// Whether the common name, the e-mail address or the EDIPI contains `text`; upper and lower case are alike
    /// (docs/rules.md R7.22).
    public func names(person text: String) -> Bool {
        [commonName, email, edipi].contains { name in
            name?.range(of: text, options: .caseInsensitive) != nil
        }
    }
}
