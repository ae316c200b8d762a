internal import Foundation

/// An e-mail address in the form in which it is compared with name constraints (RFC 5280 4.2.1.10, RFC 9598 6).
struct ConstrainedMailbox: Sendable {
    /// The UTF-8 of the part before the @, without quotation marks.
    private let localPart: [UInt8]
    /// The part after the @, in lower case and in A-labels.
    private let host: String

    /// Reads an address: a local part, one @ and a host or an address in brackets (RFC 5321 4.1.2). Only a local part
    /// in quotation marks may contain an @.
    ///
    /// - Parameter isInternational: Whether the address may contain characters outside ASCII, as in SmtpUTF8Mailbox.
    /// - Returns: Nil if the address is malformed, or if its host is not in canonical form.
    init?(_ text: String, isInternational: Bool) {
        let scalars = text.unicodeScalars
        guard let at = scalars.lastIndex(of: "@") else { return nil }
        let local = scalars[..<at]
        guard !local.isEmpty, local.allSatisfy({ Self.isPrintable($0, isInternational) }) else { return nil }
        if let content = Self.contentOfQuotes(local) {
            localPart = content
        } else if local.contains(where: { $0 == "@" || $0 == " " || $0 == "\"" }) {
            return nil
        } else {
            localPart = Array(String(local).utf8)
        }
        guard let host = Self.canonical(host: String(scalars[scalars.index(after: at)...]), isInternational)
        else { return nil }
        self.host = host
    }

    /// Whether the address is in the subtree of a constraint: one address, all addresses of a host, or, if the subtree
    /// begins with a full stop, all addresses of the hosts below it. An empty host matches every host.
    func isWithin(_ subtree: String) -> Bool {
        let scalars = subtree.unicodeScalars
        guard let at = scalars.lastIndex(of: "@") else {
            let base = subtree.lowercased()
            return base.hasPrefix(".") ? host.hasSuffix(base) : base.isEmpty || host == base
        }
        let local = scalars[..<at]
        let content = Self.contentOfQuotes(local) ?? Array(String(local).utf8)
        let base = String(scalars[scalars.index(after: at)...]).lowercased()
        return (base.isEmpty || host == base) && (content.isEmpty || content == localPart)
    }

    // MARK: - The local part

    private static func isPrintable(_ scalar: Unicode.Scalar, _ isInternational: Bool) -> Bool {
        if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) }
        // Programs that show or compare addresses remove blanks.
        return isInternational && scalar.properties.generalCategory != .control
            && !scalar.properties.isWhitespace && !CharacterSet.whitespaces.contains(scalar)
    }

    /// The contents of a local part in quotation marks, without the backslashes of quoted pairs; nil for another local
    /// part.
    private static func contentOfQuotes(_ local: Substring.UnicodeScalarView) -> [UInt8]? {
        guard local.count > 2, local.first == "\"", local.last == "\"" else { return nil }
        var content: [UInt8] = []
        var isEscaped = false
        for scalar in local.dropFirst().dropLast() {
            if scalar == "\\", !isEscaped {
                isEscaped = true
            } else {
                content += Array(String(scalar).utf8)
                isEscaped = false
            }
        }
        return content
    }

    // MARK: - The host

    private static func canonical(host: String, _ isInternational: Bool) -> String? {
        if host.hasPrefix("["), host.hasSuffix("]") {
            return host.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? host.lowercased() : nil
        }
        guard host.utf8.count <= 1_024, isInternational || host.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        var labels: [String] = []
        var length = 0
        for label in host.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false) {
            // Converting a label to its A-label takes about 10 µs.
            guard length <= GeneralName.longestHost, let canonical = canonical(label: String(label)) else {
                return nil
            }
            labels.append(canonical)
            length += canonical.utf8.count + 1
        }
        let canonical = labels.joined(separator: ".")
        return GeneralName.isHost(canonical[...]) ? canonical : nil
    }

    /// The label in lower case, and as an A-label if it is not ASCII (RFC 5890 2.3.2.1).
    ///
    /// - Returns: Nil if the conversion to the other form and back results in another label. UTS 46 would replace or
    ///   ignore some of its characters, and several labels would name one host.
    private static func canonical(label: String) -> String? {
        if label.utf8.allSatisfy({ $0 < 0x80 }) {
            let folded = label.lowercased()
            guard folded.hasPrefix("xn--") else { return folded }
            guard let unicode = unicode(folded), ascii(unicode) == folded else { return nil }
            return folded
        }
        let folded = String(String.UnicodeScalarView(label.unicodeScalars.map(foldingASCII)))
        guard let encoded = ascii(folded), let decoded = unicode(encoded),
            decoded.utf8.elementsEqual(folded.utf8)
        else { return nil }
        return encoded
    }

    private static func foldingASCII(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) + 0x20) : scalar
    }

    /// The label in A-labels. Foundation converts the host of a URL (UTS 46).
    private static func ascii(_ label: String) -> String? {
        let url = URL(string: "http://\(label)/")
        return url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: false)?.encodedHost }
    }

    /// The label in Unicode; nil if an A-label cannot be decoded.
    private static func unicode(_ label: String) -> String? {
        guard label.unicodeScalars.allSatisfy(isLetterDigitHyphen) else { return nil }
        return URLComponents(string: "http://\(label)/")?.host
    }

    private static func isLetterDigitHyphen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-": true
        default: false
        }
    }
}
