internal import SecretMemory

/// A typical mistake in a password: the password that was probably meant, and the difference.
struct PasswordMistake {
    /// The password that was probably meant; nil for no password.
    let password: SecretBytes?
    /// The difference from the entered password, as a phrase that follows "it opens".
    let words: String

    /// Returns the likely mistakes in a wrong password, at most four.
    static func known(in password: SecretBytes) -> [PasswordMistake] {
        guard !password.isEmpty else { return [PasswordMistake(password: nil, words: "without a password")] }
        var mistakes: [PasswordMistake] = []
        let blanks = password.blanksAtEnd
        if blanks.count > 0 {
            let what = blanks.areLineEnds ? "line end" : "whitespace"
            mistakes.append(
                PasswordMistake(
                    password: password.slice(0..<password.count - blanks.count),
                    words: "without the \(what) at the end"))
        }
        if password.hasByteOrderMark {
            mistakes.append(
                PasswordMistake(
                    password: password.slice(3..<password.count),
                    words: "without the byte order mark at the start"))
        }
        if !password.isUTF8 {
            mistakes.append(
                PasswordMistake(
                    password: password.latin1AsUTF8, words: "with the password in UTF-8, not in Latin-1"))
        }
        if blanks.count == 0 {
            mistakes.append(
                PasswordMistake(password: password.withLineFeed, words: "with a line end after the password"))
        }
        return mistakes
    }
}

// Nothing here copies the bytes to memory outside `SecretBytes`.
extension SecretBytes {
    /// The number of trailing spaces, tabs and line ends, and whether the last of them are line ends.
    fileprivate var blanksAtEnd: (count: Int, areLineEnds: Bool) {
        unsafe withUnsafeBytes { bytes in
            var count = 0
            while count < bytes.count,
                unsafe [0x20, 0x09, 0x0A, 0x0D].contains(bytes[bytes.count - 1 - count])
            {
                count += 1
            }
            let last = unsafe bytes.last
            return (count, count > 0 && (last == 0x0A || last == 0x0D))
        }
    }

    /// Whether the bytes begin with the byte order mark that Windows writes before UTF-8.
    fileprivate var hasByteOrderMark: Bool {
        unsafe withUnsafeBytes { bytes in
            unsafe bytes.count > 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
        }
    }

    /// Whether the bytes are well-formed UTF-8.
    fileprivate var isUTF8: Bool {
        unsafe withUnsafeBytes { bytes in
            var iterator = unsafe bytes.makeIterator()
            var decoder = UTF8()
            while true {
                switch unsafe decoder.decode(&iterator) {
                case .scalarValue: continue
                case .emptyInput: return true
                case .error: return false
                }
            }
        }
    }

    /// Returns the bytes in a range.
    fileprivate func slice(_ range: Range<Int>) -> SecretBytes {
        unsafe SecretBytes(capacity: range.count) { buffer in
            unsafe withUnsafeBytes { bytes in
                for (place, index) in range.enumerated() { unsafe buffer[place] = bytes[index] }
            }
            return range.count
        }
    }

    /// The bytes followed by a line feed.
    fileprivate var withLineFeed: SecretBytes {
        unsafe SecretBytes(capacity: count + 1) { buffer in
            unsafe withUnsafeBytes { bytes in unsafe buffer.copyMemory(from: bytes) }
            unsafe buffer[count] = 0x0A
            return count + 1
        }
    }

    /// The bytes converted from Latin-1 to UTF-8.
    fileprivate var latin1AsUTF8: SecretBytes {
        unsafe SecretBytes(capacity: 2 * count) { buffer in
            var written = 0
            func write(_ byte: UInt8) {
                unsafe buffer[written] = byte
                written += 1
            }
            unsafe withUnsafeBytes { bytes in
                for index in bytes.indices {
                    let byte = unsafe bytes[index]
                    if byte < 0x80 {
                        write(byte)
                    } else {
                        write(0xC0 | byte >> 6)
                        write(0x80 | byte & 0x3F)
                    }
                }
            }
            return written
        }
    }
}
