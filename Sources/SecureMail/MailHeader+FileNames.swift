// The names of a part in Content-Type and Content-Disposition (RFC 2183), as different programs read them.

extension MailHeader {
    /// The media types of files that mail programs open by their names.
    static let unspecificTypes: Set<String> = [
        "application/octet-stream", "application/x-unknown-content-type",
    ]

    /// The file name extensions of messages.
    private static let messageExtensions = [".eml", ".mht", ".mhtml", ".nws"]

    /// The file name in one field, or in both fields, in lower case: the parts of a divided name joined, and decoded from
    /// both encodings (RFC 2047, RFC 2231). Nil if programs could find different names.
    func decodedFileName(in field: String? = nil) -> String? {
        let names = field.map { name in Self.fileNames(in: fields.filter { $0.is(name) }) } ?? fileNames
        return names.map { Self.decoded($0.joined()) }
    }

    /// Whether the file name of a part of unspecific type is that of a message.
    var hasNameOfMessage: Bool {
        guard let type = contentType?.name, Self.unspecificTypes.contains(type), let name = decodedFileName()
        else { return false }
        return Self.messageExtensions.contains(where: name.hasSuffix)
    }

    /// Whether programs that choose, divide or join names differently could find the name of a message.
    var mayHaveNameOfMessage: Bool {
        guard let type = contentType?.name, Self.unspecificTypes.contains(type) else { return false }
        let extensions = Self.messageExtensions + [".p7m"]
        if let names = unambiguousFileNames {
            // Windows removes dots and blanks at the end of a name. Programs also remove other characters there.
            let ends = names.map { name in
                name.utf8.lastIndex { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
                    .map { String(Substring(name.utf8[...$0])) } ?? ""
            }
            return ends.contains { extensions.contains(where: $0.hasSuffix) }
        }
        let values = fields.filter { $0.is("Content-Type") || $0.is("Content-Disposition") }.map(\.value)
        var names = values
        for value in values {
            var rest = value.unicodeScalars.drop { $0 != ";" }
            let pairs = ContentType.parameters(&rest).pairs.filter { Self.isFileName($0.name) }
            guard pairs.allSatisfy({ Self.hasKnownCharset($0.name, $0.value) }) else { return true }
            // The parts of each divided name, without those of the other one.
            names += ["name", "filename"].map { base in
                Self.inOrder(pairs.filter { $0.name.hasPrefix(base) }).joined()
            }
        }
        let name = Self.decoded(names.joined(separator: ";"))
        let plain = Self.withoutEscapes(name, keepsDoubleBytes: true).filter { !"\"\\".contains($0) }
        return Self.countOfWords(Self.withoutEscapes(name, keepsDoubleBytes: false)) > 0
            || extensions.contains { plain.contains($0) }
    }

    /// A name without control characters and the escape sequences of ISO 2022, which some programs leave out.
    ///
    /// - Parameter keepsDoubleBytes: Whether the text in double-byte character sets remains. Only programs that do not
    ///   know the sequences read it as ASCII.
    private static func withoutEscapes(_ name: String, keepsDoubleBytes: Bool) -> String {
        var text = String.UnicodeScalarView()
        var rest = name.unicodeScalars[...]
        var isDoubleByte = false
        while let scalar = rest.popFirst() {
            if scalar == "\u{1B}" {
                isDoubleByte = rest.first == "$"
                rest = rest.drop { "$()".unicodeScalars.contains($0) }.dropFirst()
            } else if scalar.properties.generalCategory != .control, keepsDoubleBytes || !isDoubleByte {
                text.append(scalar)
            }
        }
        return String(text)
    }

    /// Whether each file name in Content-Type and Content-Disposition is that of an S/MIME message or signature (RFC 8551,
    /// 3.2.1). Some programs show an attachment with another name, which can contain any text, for example in an unsigned
    /// attribute.
    var hasOnlyNamesOfSMIME: Bool { hasOnlyFileNames(endingIn: [".p7s", ".p7m", ".p7c", ".p7z"]) }

    /// Whether each file name that programs could find in Content-Type and Content-Disposition is empty, or ends in one of
    /// these extensions.
    func hasOnlyFileNames(endingIn extensions: [String]) -> Bool {
        unambiguousFileNames?.allSatisfy { name in
            name.isEmpty || extensions.contains(where: name.hasSuffix)
        } ?? false
    }

    /// The file names in Content-Type and Content-Disposition, decoded and in lower case; nil if programs could find other
    /// names.
    private var unambiguousFileNames: [String]? {
        var fileNames: [String] = []
        for field in fields where field.is("Content-Type") || field.is("Content-Disposition") {
            var rest = field.value.unicodeScalars.drop { $0 != ";" }
            let (pairs, isAmbiguous) = ContentType.parameters(&rest)
            if isAmbiguous, field.value.lowercased().contains("name") { return nil }
            let names = pairs.filter { Self.isFileName($0.name) }
            // Some programs decode encoded words before they divide the field, and find parameters inside the words.
            let words = names.map { Self.countOfWords($0.value) }.reduce(0, +)
            guard Self.countOfWords(field.value) == words else { return nil }
            guard names.allSatisfy({ Self.hasKnownCharset($0.name, $0.value) }) else { return nil }
            // Firefox ignores numbers with leading zeros.
            guard !names.contains(where: { $0.name.contains("*0") && Self.partNumber($0.name) > 0 }) else {
                return nil
            }
            var texts = names.filter { !Self.isDivided($0.name) }.map(\.value)
            // Only the parts of one divided name are joined. Programs choose differently between other names.
            for base in ["name", "filename"] {
                let parts = names.filter { Self.isDivided($0.name) && $0.name.hasPrefix(base) }
                    .map {
                        (number: Self.partNumber($0.name), text: $0.value, isExtended: $0.name.hasSuffix("*"))
                    }
                    .sorted { $0.number < $1.number }
                guard parts.map(\.number) == Array(0..<parts.count) else { return nil }
                // Python reads a charset in the first part if any part is extended.
                guard parts.first?.isExtended != false || !parts.contains(where: \.isExtended) else {
                    return nil
                }
                texts.append(parts.map(\.text).joined())
            }
            texts = texts.map(Self.decoded)
            guard texts.allSatisfy(Self.isUnambiguousName) else { return nil }
            fileNames += texts
        }
        return fileNames
    }

    /// Whether a parameter has no charset (RFC 2231, 4), or one that contains ASCII.
    private static func hasKnownCharset(_ name: String, _ value: String) -> Bool {
        guard name.hasSuffix("*"), partNumber(name) == 0 else { return true }
        let charset = value.prefix { $0 != "'" }.lowercased()
        return charset.isEmpty || MailText.containsASCII(charset)
    }

    /// The number of places where an encoded word could begin.
    private static func countOfWords(_ text: String) -> Int {
        Array(text.utf8).ranges(of: Array("=?".utf8)).count
    }

    /// Whether all programs read a decoded name in the same way. Some end it at a control character, find further
    /// parameters after a quote, or decode malformed words.
    private static func isUnambiguousName(_ name: String) -> Bool {
        countOfWords(name) == 0
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !"\"\\".utf8.contains($0) }
    }

    /// Whether a parameter is a part of a divided one, such as `name*1*` (RFC 2231, 3).
    private static func isDivided(_ name: String) -> Bool { !["", "*"].contains(name.drop { $0 != "*" }) }

    private static func decoded(_ name: String) -> String {
        let name = MailText.decoded(headerValue: name, assumesLatin: true)
        var bytes: [UInt8] = []
        var rest = Array(name.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, digits.first != UInt8(ascii: "+"),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
