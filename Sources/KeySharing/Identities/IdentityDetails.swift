#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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

    /// Returns whether `text` names the person, ignoring case (docs/rules.md R7.22).
    ///
    /// The common name, the e-mail address or the EDIPI contains the text; or each word of the text begins a word of
    /// the common name, in any order. `jordan rivera`, `Rivera, Jordan` and `RIVERA.JORDAN` all name
    /// `RIVERA.JORDAN.LEE.1234567890`.
    public func names(person text: String) -> Bool {
        let text = text.uppercased()
        if [commonName, email, edipi].contains(where: { $0?.uppercased().contains(text) == true }) {
            return true
        }
        let words = Self.words(text)
        let own = Self.words((commonName ?? "").uppercased()) + [Substring(edipi ?? "")]
        return !words.isEmpty && words.allSatisfy { word in own.contains { $0.hasPrefix(word) } }
    }

    /// The words of a name, without the dots, commas and spaces between them.
    private static func words(_ name: String) -> [Substring] {
        name.split { $0 == "." || $0 == "," || $0.isWhitespace }
    }
}
