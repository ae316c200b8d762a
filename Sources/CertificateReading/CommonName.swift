/// The common name of a DoD certificate, `LAST.FIRST[.MIDDLE][.EDIPI]`. Only the EDIPI is extracted.
package struct CommonName: Sendable, Hashable {
    /// The EDIPI (electronic data interchange personal identifier): ten digits after the last dot, or a name of only
    /// ten digits. Nil if the name does not end in an EDIPI.
    package let edipi: String?

    /// Parses a common name. Any text is valid.
    package init(_ text: String) {
        guard let last = text.split(separator: ".").last, last.utf8.count == Self.edipiLength,
            last.isASCIIDigits
        else {
            edipi = nil
            return
        }
        edipi = String(last)
    }

    /// The number of digits of an EDIPI.
    package static let edipiLength = 10
}

extension StringProtocol {
    /// Whether every character is one of the digits 0 to 9 of ASCII; true for an empty text.
    package var isASCIIDigits: Bool { utf8.allSatisfy { (0x30...0x39).contains($0) } }
}
