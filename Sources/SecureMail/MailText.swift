internal import Diagnostics
package import Foundation

/// Encodes and decodes text for messages.
package enum MailText {
    /// The value of a field as it is shown for a part: without the end of a long one, which each part would repeat
    /// (`MailLimits.shownValue`).
    package static func shortened(_ value: String) -> String {
        let scalars = value.unicodeScalars
        guard
            let end = scalars.index(
                scalars.startIndex, offsetBy: MailLimits.shownValue, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return value }
        return String(value[..<end]) + "…"
    }

    /// Encodes text as the value of a header field. Printable ASCII is returned unchanged. Other text is converted to
    /// encoded words (RFC 2047), one on each line.
    package static func headerValue(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }), !text.contains("=?") { return text }
        var words: [[UInt8]] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            // A line with an encoded word has at most 76 characters (RFC 2047, 2). Twelve of them delimit the word, and
            // the first line also contains the field's name.
            if word.count + bytes.count > 39 {
                words.append(word)
                word = []
            }
            word += bytes
        }
        return (words + [word]).map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }
            .joined(separator: "\r\n ")
    }

    /// Decodes the encoded words in a header field's value (RFC 2047). Words that cannot be decoded are left unchanged.
    /// The result is in the Stream-Safe Text Format.
    ///
    /// - Parameter assumesLatin: Whether words in other charsets that contain ASCII, and words with octets that their
    ///   charset does not contain, are decoded as ISO-8859-1, which preserves their ASCII characters.
    package static func decoded(headerValue value: String, assumesLatin: Bool = false) -> String {
        let bytes = Array(value.utf8)
        var text: [UInt8] = []
        var (copied, index) = (0, 0)
        var isAfterWord = false
        while index + 1 < bytes.count {
            guard bytes[index] == UInt8(ascii: "="), bytes[index + 1] == UInt8(ascii: "?"),
                let word = EncodedWord(bytes, at: index)
            else {
                index += 1
                continue
            }
            let between = bytes[copied..<index]
            // Blanks between two encoded words are not part of the text (RFC 2047, 6.2).
            if !isAfterWord || !between.allSatisfy(EncodedWord.isBlank) { text += between }
            let decoded = word.decoded(assumesLatin: assumesLatin)
            text += decoded ?? bytes[index..<word.end]
            isAfterWord = decoded != nil
            (copied, index) = (word.end, word.end)
        }
        return String(decoding: text + bytes[copied...], as: UTF8.self).streamSafe
    }

    /// Whether a charset in lower case is a common one in which the octets of ASCII characters are the same as in ASCII.
    static func containsASCII(_ charset: String) -> Bool {
        let names = [
            "utf-8", "utf8", "us-ascii", "ansi_x3.4-1968", "latin1", "gb2312", "gbk", "x-gbk", "gb18030",
            "big5", "big5-hkscs", "shift_jis", "sjis", "x-sjis", "windows-31j", "cp932", "cp936", "cp949",
            "cp950", "ms949", "x-windows-949", "ksc5601", "ks_c_5601-1987", "windows-874", "tis-620",
            "ibm850", "cp437", "cp850", "cp852", "cp866", "macintosh", "x-mac-roman", "unknown-8bit",
            "x-unknown",
        ]
        let families = [
            "iso-8859-", "iso8859-", "iso_8859-", "iso-2022-", "windows-125", "cp125", "koi8-", "euc-",
        ]
        return names.contains(charset) || families.contains(where: charset.hasPrefix)
    }

    /// Encodes text as quoted-printable (RFC 2045, 6.7), with CR LF line endings.
    ///
    /// The `F` of `From ` at the start of a line is also escaped, because some programs change such lines (RFC 8551,
    /// 3.1.2).
    package static func quotedPrintable(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let line = line.last == 0x0D && number + 1 < lines.count ? line.dropLast() : line
            var column = 0
            for index in line.indices {
                let byte = line[index]
                let isLast = line.index(after: index) == line.endIndex
                let isFrom = index == line.startIndex && line.starts(with: "From ".utf8)
                let isPlain =
                    (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=") && !isFrom
                    || ((byte == 0x20 || byte == 0x09) && !isLast)
                let encoded: [UInt8] = isPlain ? [byte] : Array("=\([byte].hexadecimal)".utf8)
                // 76 characters, including the `=` of a soft line break.
                if column + encoded.count > 75 {
                    output += Array("=\r\n".utf8)
                    column = 0
                }
                output += encoded
                column += encoded.count
            }
            if number + 1 < lines.count { output += [0x0D, 0x0A] }
        }
        return output
    }

    /// Decodes quoted-printable text. Malformed escapes are left unchanged.
    package static func quotedPrintableDecoded(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            guard byte == UInt8(ascii: "=") else {
                output.append(byte)
                continue
            }
            let rest = text[index...]
            if rest.starts(with: [0x0D, 0x0A]) {
                index += 2
            } else if rest.first == 0x0A {
                index += 1
            } else if rest.count >= 2, let first = rest.first, !"+-".utf8.contains(first),
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                // The initializer of UInt8 would also accept a sign.
                output.append(value)
                index += 2
            } else {
                output.append(byte)
            }
        }
        return output
    }

    /// Encodes bytes in Base64 (RFC 2045, 6.8), in lines of 64 characters that end in CR LF.
    package static func base64(_ bytes: some DataProtocol) -> [UInt8] {
        let options: Data.Base64EncodingOptions = [
            .lineLength64Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
        ]
        return Array(Data(bytes).base64EncodedData(options: options)) + [0x0D, 0x0A]
    }

    /// Formats an address and a person's name for a header field (RFC 5322, 3.4).
    ///
    /// - Parameters:
    ///   - email: The address. If it is nil or could start another field or address, a placeholder is written instead.
    ///   - name: The name; nil to write only the address.
    package static func address(_ email: String?, name: String?) -> String {
        let email = email ?? ""
        let isPlain =
            email.contains("@")
            && email.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"<>,;\"\\()".utf8.contains($0) }
        let address = isPlain ? email : "somebody@mail.example"
        guard let name, !name.isEmpty else { return address }
        guard name.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
            return "\(headerValue(String(name.prefix(60)))) <\(address)>"
        }
        let quoted = name.prefix(120).replacing("\\", with: "").replacing("\"", with: "")
        return "\"\(quoted)\" <\(address)>"
    }

    /// Formats a date and time for a Date field, in UTC (RFC 5322, 3.3).
    package static func date(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents(
            [.weekday, .day, .month, .year, .hour, .minute, .second], from: date)
        func two(_ number: Int?) -> String {
            let text = String(number ?? 0)
            return text.count < 2 ? "0" + text : text
        }
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let day = days[((parts.weekday ?? 1) - 1) % 7]
        let month = months[((parts.month ?? 1) - 1) % 12]
        let time = [parts.hour, parts.minute, parts.second].map(two).joined(separator: ":")
        return "\(day), \(two(parts.day)) \(month) \(parts.year ?? 0) \(time) +0000"
    }
}

extension [UInt8] {
    /// The byte as upper-case hexadecimal digits, which quoted-printable requires.
    fileprivate var hexadecimal: String {
        map { byte in
            let text = String(byte, radix: 16, uppercase: true)
            return text.count < 2 ? "0" + text : text
        }.joined()
    }
}

/// An encoded word in a header field's value (RFC 2047, 2).
private struct EncodedWord {
    /// The position after the word.
    let end: Int
    private let charset: String
    /// The decoded bytes; nil if their encoding is malformed.
    private let octets: [UInt8]?

    /// The character sets that words are decoded from.
    private static let encodings: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8, "us-ascii": .utf8, "iso-8859-1": .isoLatin1,
        "windows-1252": .windowsCP1252,
    ]

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Reads a word; nil if there is none. No character is read more than a few times, because each part of a word ends at
    /// the next question mark.
    init?(_ bytes: [UInt8], at start: Int) {
        func part(_ start: Int) -> ArraySlice<UInt8>? {
            guard
                let end = bytes[start...].firstIndex(where: { $0 == UInt8(ascii: "?") || Self.isBlank($0) }),
                bytes[end] == UInt8(ascii: "?")
            else { return nil }
            return bytes[start..<end]
        }
        guard let charset = part(start + 2), !charset.isEmpty, let encoding = part(charset.endIndex + 1),
            encoding.count == 1, let letter = encoding.first, "BbQq".utf8.contains(letter),
            let content = part(encoding.endIndex + 1), content.endIndex + 1 < bytes.count,
            bytes[content.endIndex + 1] == UInt8(ascii: "=")
        else { return nil }
        end = content.endIndex + 2
        let isBase64 = "Bb".utf8.contains(letter)
        octets =
            isBase64
            ? Data(base64Encoded: Data(content)).map { Array($0) }
            : MailText.quotedPrintableDecoded(content.map { $0 == UInt8(ascii: "_") ? 0x20 : $0 })
        // A language can follow the charset (RFC 2231, 5).
        let name = charset.prefix { $0 != UInt8(ascii: "*") }
        self.charset = String(decoding: name, as: UTF8.self).lowercased()
    }

    /// The text in UTF-8; nil if the word cannot be decoded.
    ///
    /// - Parameter assumesLatin: Whether a word in another charset that contains ASCII, or with octets that its charset
    ///   does not contain, is decoded as ISO-8859-1.
    func decoded(assumesLatin: Bool) -> ArraySlice<UInt8>? {
        guard let octets else { return nil }
        let encodings = [
            Self.encodings[charset], assumesLatin && MailText.containsASCII(charset) ? .isoLatin1 : nil,
        ].compactMap(\.self)
        return encodings.lazy.compactMap { String(bytes: octets, encoding: $0) }.first.map {
            Array($0.utf8)[...]
        }
    }
}
