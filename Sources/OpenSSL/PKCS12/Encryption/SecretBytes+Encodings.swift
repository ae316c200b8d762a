internal import SecretMemory

extension SecretBytes {
    /// Whether one of the bytes is zero. Programs that use C strings would cut the password there.
    var hasZeroByte: Bool {
        unsafe withUnsafeBytes { unsafe $0.contains(0) }
    }

    /// Whether every byte is ASCII.
    var isASCII: Bool {
        unsafe withUnsafeBytes { unsafe $0.allSatisfy { $0 < 0x80 } }
    }

    /// Decodes the bytes as UTF-8, and returns the text in UTF-16 big-endian with a terminating zero character. Nil if
    /// the bytes are not UTF-8.
    func transcodedToUTF16() -> SecretBytes? {
        var isValid = false
        let result = unsafe SecretBytes(capacity: count * 2 + 2) { output in
            var end = 0
            isValid = unsafe withUnsafeBytes { input in
                unsafe !transcode(
                    input.makeIterator(), from: UTF8.self, to: UTF16.self, stoppingOnError: true
                ) { unit in
                    unsafe output[end] = UInt8(unit >> 8)
                    unsafe output[end + 1] = UInt8(unit & 0xFF)
                    end += 2
                }
            }
            unsafe output[end] = 0
            unsafe output[end + 1] = 0
            return end + 2
        }
        return isValid ? result : nil
    }

    /// Decodes the bytes as UTF-8, and returns the text in ISO-8859-1. Nil if the bytes are not UTF-8, or if the text
    /// contains a character above U+00FF.
    func transcodedToLatin1() -> SecretBytes? {
        var isValid = false
        let result = unsafe SecretBytes(capacity: count) { output in
            var end = 0
            var fits = true
            let wellFormed = unsafe withUnsafeBytes { input in
                unsafe !transcode(
                    input.makeIterator(), from: UTF8.self, to: UTF32.self, stoppingOnError: true
                ) { unit in
                    fits = fits && unit <= 0xFF
                    unsafe output[end] = UInt8(truncatingIfNeeded: unit)
                    end += 1
                }
            }
            isValid = wellFormed && fits
            return end
        }
        return isValid ? result : nil
    }

    /// Returns every byte as a big-endian 16-bit character, followed by a terminating zero character.
    func widened() -> SecretBytes {
        unsafe SecretBytes(capacity: count * 2 + 2) { output in
            unsafe output.initializeMemory(as: UInt8.self, repeating: 0)
            unsafe withUnsafeBytes { input in
                for index in 0..<input.count {
                    unsafe output[index * 2 + 1] = unsafe input[index]
                }
            }
            return count * 2 + 2
        }
    }
}

extension SecretBytes {
    /// Decodes hexadecimal digits in ASCII; nil if the bytes are anything else, or if their number is odd.
    init?(hexadecimal digits: SecretBytes) {
        var isValid = digits.count % 2 == 0
        self = unsafe SecretBytes(capacity: digits.count / 2) { output in
            unsafe digits.withUnsafeBytes { input in
                for index in 0..<digits.count / 2 {
                    let high = unsafe Self.digit(input[2 * index])
                    let low = unsafe Self.digit(input[2 * index + 1])
                    isValid = isValid && high != nil && low != nil
                    unsafe output[index] = (high ?? 0) << 4 | (low ?? 0)
                }
            }
            return digits.count / 2
        }
        guard isValid else { return nil }
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x41...0x46: character - 0x37
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }

    /// A copy of the bytes in `range`.
    func part(_ range: Range<Int>) -> SecretBytes {
        unsafe withUnsafeBytes { unsafe SecretBytes($0[range]) }
    }
}
