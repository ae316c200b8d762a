extension String {
    /// The octets that pairs of hexadecimal digits stand for; a pair that is none is left out.
    var hexOctets: [UInt8] {
        stride(from: 0, to: utf8.count - 1, by: 2).compactMap { offset in
            UInt8(dropFirst(offset).prefix(2), radix: 16)
        }
    }
}
