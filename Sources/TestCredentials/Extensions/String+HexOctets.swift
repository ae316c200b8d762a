extension String {
    /// The octets of a hexadecimal text. Pairs that are not hexadecimal digits are skipped.
    var hexOctets: [UInt8] {
        stride(from: 0, to: utf8.count - 1, by: 2).compactMap { offset in
            UInt8(dropFirst(offset).prefix(2), radix: 16)
        }
    }
}
