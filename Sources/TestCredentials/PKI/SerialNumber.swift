/// Generates the serial numbers of test certificates.
package enum SerialNumber {
    /// Draws a serial number of sixteen octets, positive and without a leading zero (RFC 5280 section 4.1.2.2).
    ///
    /// A run that continues an interrupted one recognizes the generated identities by their serial numbers.
    package static func random(using random: inout some RandomNumberGenerator) -> [UInt8] {
        [UInt8.random(in: 1...127, using: &random)]
            + (1..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}
