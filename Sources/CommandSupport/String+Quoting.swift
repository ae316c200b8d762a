extension String {
    /// Returns the text with some of its Unicode scalars replaced.
    ///
    /// Quoting must not compare characters. An apostrophe that is followed by a combining mark is a different character,
    /// but it still ends a quotation.
    ///
    /// - Parameter replacement: Returns the replacement of a scalar, or nil to keep it.
    package func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if let replaced = replacement(scalar) {
                text.append(contentsOf: replaced.unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }

    /// The text as one word for a POSIX shell: unchanged, or in single quotation marks.
    package var quotedForShell: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "._-/:=,+@%".utf8.contains(byte)
            }
        return isPlain ? self : "'" + replacingScalars { $0 == "'" ? #"'\''"# : nil } + "'"
    }
}
