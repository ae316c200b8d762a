extension Sequence<UInt8> {
    /// The octets in upper-case hexadecimal, two digits for each. Labels and serial numbers have this form
    /// (docs/rules.md R3.11, R3.13).
    package var upperHex: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
