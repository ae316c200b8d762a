internal import Foundation
package import OpenSSL

/// An e-mail address (addr-spec, RFC 5322, 3.4.1; RFC 6531), in the form in which addresses are compared.
///
/// Two addresses are equal if the bytes of their local parts are equal, and their domains are equal without regard to
/// case (RFC 5280, 7.5). Domains that are not ASCII are converted to A-labels (RFC 5890), so that a rfc822Name equals
/// the address with a domain in Unicode (RFC 9598, 5; RFC 8398, 5).
package struct MailAddress: Sendable {
    /// The part before the `@`, without quotes.
    package let localPart: String
    /// The part after the `@`, in lower case and in A-labels.
    package let domain: String

    /// Parses one address without a display name. Returns nil if the text is not an address. Blanks are not removed:
    /// in a certificate, an address with a blank would be another address.
    package init?(_ text: String) {
        guard let at = text.lastIndex(of: "@") else { return nil }
        var local = String(text[..<at])
        if local.count >= 2, local.hasPrefix("\""), local.hasSuffix("\"") {
            local = Self.unquoted(local.dropFirst().dropLast())
        } else if local.unicodeScalars.contains(where: { " \t\"<>()[],;:\\@".unicodeScalars.contains($0) }) {
            return nil
        }
        let domain = String(text[text.index(after: at)...])
        guard !local.isEmpty, let canonical = Self.canonical(domain: domain) else { return nil }
        localPart = local
        self.domain = canonical
    }

    /// Parses the value of a field that contains addresses, such as From (RFC 5322, 3.4).
    ///
    /// - Returns: The addresses in order; nil if one of them cannot be read, or if there are more than
    ///   `MailLimits.addresses`.
    package static func list(_ value: String) -> [MailAddress]? {
        guard let mailboxes = MailboxScanner.mailboxes(value), mailboxes.count <= MailLimits.addresses
        else { return nil }
        var addresses: [MailAddress] = []
        for text in mailboxes {
            guard let address = MailAddress(withoutBlanks(text)) else { return nil }
            addresses.append(address)
        }
        return addresses
    }

    /// Removes the blanks around the local part and the domain, which the obsolete syntax of fields allows (RFC 5322,
    /// 4.4).
    private static func withoutBlanks(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@") else { return text }
        return String(text[..<at]).trimmedOfBlanks + "@"
            + String(text[text.index(after: at)...]).trimmedOfBlanks
    }

    private static func unquoted(_ text: Substring) -> String {
        var (result, isEscaped) = ("", false)
        for scalar in text.unicodeScalars {
            if scalar == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.unicodeScalars.append(scalar)
                isEscaped = false
            }
        }
        return result
    }

    private static func canonical(domain: String) -> String? {
        guard !domain.isEmpty, domain.utf8.count <= 255,
            !domain.unicodeScalars.contains(where: { " \t\"<>(),;\\@/?#%".unicodeScalars.contains($0) }),
            domain.hasPrefix("[") || !domain.unicodeScalars.contains(":")
        else { return nil }
        if domain.utf8.allSatisfy({ $0 < 0x80 }) { return domain.lowercased() }
        // Foundation converts the host of a URL to A-labels (UTS #46).
        let url = URL(string: "http://\(domain)/")
        let host = url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: false)?.encodedHost }
        return host.flatMap { $0.contains("%") ? nil : $0 }
    }
}

extension MailAddress: Hashable {
    // Compares bytes, because Swift considers canonically equivalent strings equal.
    package static func == (left: MailAddress, right: MailAddress) -> Bool {
        left.localPart.utf8.elementsEqual(right.localPart.utf8) && left.domain == right.domain
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(Array(localPart.utf8))
        hasher.combine(domain)
    }
}

extension MailAddress: CustomStringConvertible {
    /// The address as `local@domain`.
    package var description: String { "\(localPart)@\(domain)" }
}

extension MailAddress {
    /// The addresses in a certificate: rfc822Name and SmtpUTF8Mailbox of the subject alternative name, and the
    /// emailAddress of the subject, which older certificates contain (RFC 8550, 3).
    package static func addresses(in certificate: Certificate) -> [MailAddress] {
        let names = certificate.subjectAlternativeNames.compactMap { name -> MailAddress? in
            switch name {
            case .rfc822Name(let text): MailAddress(text)
            case .otherName(OID.smtpUTF8Mailbox, .utf8String(let text)): MailAddress(text)
            default: nil
            }
        }
        return names + certificate.subject.values(of: OID.emailAddress).compactMap { MailAddress($0) }
    }
}

/// Splits the value of a field into mailboxes (RFC 5322, 3.4).
private struct MailboxScanner {
    private var mailboxes: [String] = []
    /// The text of the current mailbox outside angle brackets, with quotes, and with a blank for each comment.
    private var text = ""
    /// The text in angle brackets; nil if the current mailbox has no angle brackets.
    private var angle: String?
    private var isInAngle = false
    /// Whether the current mailbox has text after its angle brackets, which programs could show as the address.
    private var hasTextAfterAngle = false
    private var hasRoute = false
    /// Whether the text outside angle brackets contains a character without quotes that programs could read as part of an
    /// address.
    private var hasAddressCharacter = false
    private var isInGroup = false
    /// Whether the last character was the `@` before a domain.
    private var isAfterAt = false

    /// The text of each address, without display names, comments and the names of groups. An empty group contains
    /// no addresses. A mailbox with text after its angle brackets results in an empty text, which is not an address.
    ///
    /// - Returns: Nil if the value is malformed, because other programs could find other addresses in it: it contains
    ///   a control character, an unterminated quoted string, comment, domain or angle bracket, a source route that does
    ///   not consist of domains, a group inside a group, without a name or with an address in its name, or a display name
    ///   without quotes that could be another address.
    static func mailboxes(_ value: String) -> [String]? {
        guard
            !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" })
        else { return nil }
        var scanner = MailboxScanner()
        return scanner.scan(value) ? scanner.mailboxes : nil
    }

    /// Returns false if the value is malformed.
    private mutating func scan(_ value: String) -> Bool {
        var rest = value.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            let wasAfterAt = isAfterAt
            isAfterAt = scalar == "@"
            if !isInAngle, ["@", "[", "]", "\\"].contains(scalar) { hasAddressCharacter = true }
            switch scalar {
            case "\"":
                guard let quoted = Self.quoted(&rest) else { return false }
                append(quoted)
            case "(":
                guard rest.skipComment() else { return false }
                // A comment separates words like a blank (RFC 5322, 3.2.2).
                append(" ")
            case "[" where wasAfterAt:
                guard let end = rest.firstIndex(of: "]") else { return false }
                append("[" + String(rest[...end]))
                rest = rest[rest.index(after: end)...]
            case "<" where !isInAngle:
                if angle != nil { hasTextAfterAngle = true }
                (angle, isInAngle, hasRoute) = ("", true, false)
            case ">" where isInAngle: isInAngle = false
            // They end nothing, so programs read the text around them differently.
            case ">", ")": return false
            // A source route (RFC 5322, 4.4) contains commas.
            case "," where !isInAngle:
                guard finish() else { return false }
            case ";" where !isInAngle:
                guard finish() else { return false }
                isInGroup = false
            case ":" where isInAngle:
                guard !hasRoute, Self.isRoute(angle ?? "") else { return false }
                (angle, hasRoute) = ("", true)
            case ":" where angle != nil: hasTextAfterAngle = true
            case ":":
                guard !isInGroup, !hasAddressCharacter, !text.trimmedOfBlanks.isEmpty,
                    !text.unicodeScalars.contains("@")
                else { return false }
                (text, isInGroup) = ("", true)
            default: append(String(scalar))
            }
        }
        return !isInAngle && finish()
    }

    /// Whether a text consists of domains, each after an `@`, separated by commas.
    private static func isRoute(_ text: String) -> Bool {
        text.trimmedOfBlanks.unicodeScalars.first == "@"
            && text.unicodeScalars.split(separator: ",").map { String($0).trimmedOfBlanks.unicodeScalars }
                .allSatisfy { domain in
                    domain.isEmpty
                        || domain.first == "@"
                            && domain.dropFirst().allSatisfy { !"@\"<> ".unicodeScalars.contains($0) }
                }
    }

    private mutating func append(_ part: String) {
        if isInAngle {
            angle?.append(part)
        } else {
            text.append(part)
            if angle != nil, part != " ", part != "\t" { hasTextAfterAngle = true }
        }
    }

    /// Ends a mailbox. Returns false if its display name could be another address than that in angle brackets.
    private mutating func finish() -> Bool {
        let address = (hasTextAfterAngle ? "" : angle ?? text).trimmedOfBlanks
        let name = text.trimmedOfBlanks
        if angle != nil, hasAddressCharacter, name.lowercased() != address.lowercased() { return false }
        if angle != nil || !name.isEmpty { mailboxes.append(address) }
        (text, angle, hasTextAfterAngle, hasAddressCharacter) = ("", nil, false, false)
        return true
    }

    /// Reads a quoted string after its first quote, and returns it with both quotes; nil if the second one is missing.
    private static func quoted(_ rest: inout Substring.UnicodeScalarView) -> String? {
        var text = "\""
        while let scalar = rest.popFirst() {
            text.unicodeScalars.append(scalar)
            if scalar == "\"" { return text }
            if scalar == "\\", let next = rest.popFirst() { text.unicodeScalars.append(next) }
        }
        return nil
    }
}
