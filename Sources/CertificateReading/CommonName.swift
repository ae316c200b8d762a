/// The common name of a DoD certificate, `LAST.FIRST[.MIDDLE][.EDIPI]`, as far as it tells whose the
/// certificate is.
package struct CommonName: Sendable, Hashable {
    /// The EDIPI (electronic data interchange personal identifier): ten digits behind the last dot, or ten
    /// digits alone; nil where the name does not end so.
    package let edipi: String?

    /// Reads a common name; every text is one.
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
