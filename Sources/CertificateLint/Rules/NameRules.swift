import Foundation
import Glibc
import OpenSSL
import StandardExtensions

/// Rules about alternative names and name constraints (RFC 5280 4.2.1.6, 4.2.1.7 and 4.2.1.10).
enum NameRules {
    typealias Rule = LintRule<LintedCertificate>

    static let all: [Rule] = alternativeNames + constraints

    private static let alternativeNames: [Rule] = [
        Rule(
            "alternative-names-empty", .error, "RFC 5280 4.2.1.6", "the list of alternative names is empty",
            if: {
                $0.item(ExtensionType.subjectAlternativeName)?.element.map {
                    $0.tag == .sequence && $0.children.isEmpty
                } ?? false
            }),
        Rule(
            "alternative-names-critical", .warning, "RFC 5280 4.2.1.6",
            "the alternative names are critical, although the subject is not empty",
            if: {
                $0.has(ExtensionType.subjectAlternativeName, critical: true)
                    && !$0.certificate.subject.isEmpty
            }),
        Rule(
            "alternative-name-email", .error, "RFC 5280 4.2.1.6, RFC 5321 4.1.2",
            "an alternative name is not an e-mail address",
            each: { subject in
                subject.alternativeNames.compactMap {
                    guard case .rfc822Name(let name) = $0, !NameSyntax.isAddress(name) else { return nil }
                    return "the alternative name \u{201C}\(name)\u{201D} is not an e-mail address"
                }
            }),
        Rule(
            "alternative-name-smtp-utf8", .error, "RFC 9598 3",
            "a SmtpUTF8Mailbox is not a UTF8String with a local part outside ASCII and a host in ASCII",
            each: { subject in
                subject.alternativeNames.compactMap {
                    guard case .otherName(OID.smtpUTF8Mailbox, let value) = $0 else { return nil }
                    return NameSyntax.defect(ofInternationalAddress: value)
                }
            }),
        Rule(
            "alternative-name-dns", .error, "RFC 5280 4.2.1.6, RFC 1034 3.5",
            "an alternative name is not a host name",
            each: { subject in
                subject.alternativeNames.compactMap {
                    guard case .dNSName(let name) = $0, !NameSyntax.isHost(name) else { return nil }
                    return "the alternative name \u{201C}\(name)\u{201D} is not a host name"
                }
            }),
        Rule(
            "alternative-name-uri", .error, "RFC 5280 4.2.1.6, RFC 3986",
            "an alternative name is not an absolute URI, or its host is incomplete",
            each: { subject in
                subject.alternativeNames.compactMap {
                    guard case .uniformResourceIdentifier(let name) = $0, !NameSyntax.isURI(name) else {
                        return nil
                    }
                    return
                        "the alternative name \u{201C}\(name)\u{201D} is not an absolute URI, or its host is incomplete"
                }
            }),
        Rule(
            "alternative-name-ip", .error, "RFC 5280 4.2.1.6", "an IP address has neither 4 nor 16 octets",
            each: { subject in
                subject.alternativeNames.compactMap {
                    guard case .iPAddress(let octets) = $0, ![4, 16].contains(octets.count) else {
                        return nil
                    }
                    return "an IP address has \(octets.count) octets, neither 4 nor 16"
                }
            }),
        Rule(
            "alternative-name-characters", .error, "RFC 5280 4.2.1.6", "an alternative name is not ASCII",
            if: {
                // rfc822Name, dNSName and uniformResourceIdentifier are IA5Strings.
                ($0.item(ExtensionType.subjectAlternativeName)?.element?.children ?? []).contains {
                    [.context(1), .context(2), .context(6)].contains($0.tag)
                        && !$0.octets.allSatisfy { $0 < 0x80 }
                }
            }),
        Rule(
            "issuer-alternative-names-empty", .error, "RFC 5280 4.2.1.7",
            "the list of the issuer's alternative names is empty",
            if: { $0.isEmptyList(ExtensionType.issuerAlternativeName) }),
        Rule(
            "issuer-alternative-names-critical", .warning, "RFC 5280 4.2.1.7",
            "the issuer's alternative names are critical",
            if: { $0.has(ExtensionType.issuerAlternativeName, critical: true) }),
    ]

    private static let constraints: [Rule] = [
        Rule(
            "name-constraints-end-entity", .error, "RFC 5280 4.2.1.10",
            "the certificate of an end entity has name constraints",
            if: { !$0.isAuthority && $0.item(ExtensionType.nameConstraints) != nil }),
        Rule(
            "name-constraints-not-critical", .error, "RFC 5280 4.2.1.10",
            "the name constraints are not critical",
            if: { $0.has(ExtensionType.nameConstraints, critical: false) }),
        Rule(
            "name-constraints-empty", .error, "RFC 5280 4.2.1.10", "the name constraints contain no name",
            if: {
                $0.item(ExtensionType.nameConstraints)?.element.map {
                    $0.tag == .sequence && $0.children.allSatisfy { $0.children.isEmpty }
                } ?? false
            }),
        Rule(
            "name-constraints-distance", .error, "RFC 5280 4.2.1.10",
            "a name constraint has a minimum or maximum, which must be absent",
            if: {
                let subtrees = ($0.item(ExtensionType.nameConstraints)?.element?.children ?? []).flatMap(
                    \.children)
                return subtrees.contains { $0.children.count > 1 }
            }),
        Rule(
            "name-constraints-syntax", .error, "RFC 5280 4.2.1.10",
            "a name constraint is malformed: a host name, the host of a URI, or an IP address with its mask",
            each: { subject in
                (subject.constraints.permittedNames + subject.constraints.excludedNames).compactMap {
                    NameSyntax.defect(ofConstraint: $0)
                }
            }),
    ]
}

/// Syntax checks for alternative names and name constraints.
enum NameSyntax {
    /// Whether a string is `local@domain` (RFC 5321 4.1.2), with a local part of dotted atoms or a quoted string.
    static func isAddress(_ text: String) -> Bool {
        guard let at = text.lastIndex(of: "@") else { return false }
        let local = text[..<at]
        let domain = String(text[text.index(after: at)...])
        guard !local.isEmpty, local.utf8.count <= 64, isHost(domain) || isAddressLiteral(domain) else {
            return false
        }
        if local.utf8.count >= 2, local.first == "\"", local.last == "\"" {
            return local.utf8.allSatisfy { $0 >= 32 }
        }
        return local.split(separator: ".", omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && $0.utf8.allSatisfy { isAtom($0) }
        }
    }

    /// Whether a string is an IP address in brackets (RFC 5321 4.1.3), such as `[192.0.2.1]` or `[IPv6:2001:db8::1]`.
    private static func isAddressLiteral(_ text: String) -> Bool {
        guard text.hasPrefix("["), text.hasSuffix("]"), text.utf8.count <= 253 else { return false }
        let address = text.dropFirst().dropLast()
        var octets = in6_addr()
        return address.lowercased().hasPrefix("ipv6:")
            ? unsafe inet_pton(AF_INET6, String(address.dropFirst(5)), &octets) == 1
            : unsafe inet_pton(AF_INET, String(address), &octets) == 1
    }

    /// The characters of an atom (RFC 5322 3.2.3, `atext`).
    private static func isAtom(_ octet: UInt8) -> Bool {
        isAlphanumeric(octet) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(octet)
    }

    private static func isAlphanumeric(_ octet: UInt8) -> Bool {
        (0x30...0x39).contains(octet) || octet >= 0x41 && (0x41...0x5A).contains(octet & 0xDF)
    }

    /// Whether a string is a host name in the preferred syntax (RFC 1034 3.5, RFC 1123 2.1). A wildcard is not a host
    /// name.
    static func isHost(_ text: String) -> Bool {
        guard !text.isEmpty, text.utf8.count <= 253 else { return false }
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63 && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
    }

    /// Whether a string is an absolute URI with permitted characters (RFC 3986 2 and 3).
    static func isURI(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let scheme = text[..<colon].utf8
        let rest = text[text.index(after: colon)...]
        guard let first = scheme.first, isAlphanumeric(first), first >= 0x41, !rest.isEmpty,
            scheme.allSatisfy({ isAlphanumeric($0) || "+-.".utf8.contains($0) })
        else { return false }
        if rest.hasPrefix("//") {
            let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
            guard hasNumericPort(authority) else { return false }
            // The host is fully qualified or an address (RFC 5280 4.2.1.6). Only `http` requires one.
            let isWeb = ["http", "https"].contains(text[..<colon].lowercased())
            guard authority.isEmpty ? !isWeb : authority.contains(".") || authority.contains("[") else {
                return false
            }
        }
        // RFC 3986 2.1: two hexadecimal digits follow a percent sign.
        let escapes = rest.split(separator: "%", omittingEmptySubsequences: false).dropFirst()
        return escapes.allSatisfy { $0.count >= 2 && $0.prefix(2).allSatisfy(\.isHexDigit) }
            && rest.utf8.allSatisfy { isAlphanumeric($0) || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains($0) }
    }

    /// Whether the authority of a URI has no port, or one that consists of digits (RFC 3986 3.2.3).
    private static func hasNumericPort(_ authority: Substring) -> Bool {
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        let end = host.lastIndex(of: "]").map { host.index(after: $0) } ?? host.firstIndex(of: ":")
        let port = end.map { host[$0...] } ?? ""
        return port.isEmpty
            || port.first == ":" && port.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    /// The first violation of RFC 9598 3 in the value of a SmtpUTF8Mailbox, as a sentence; nil if there is none.
    static func defect(ofInternationalAddress value: OtherNameValue) -> String? {
        guard case .utf8String(let text) = value else { return "a SmtpUTF8Mailbox is not a UTF8String" }
        let name = "the SmtpUTF8Mailbox \u{201C}\(text)\u{201D}"
        let scalars = text.unicodeScalars
        guard let at = scalars.lastIndex(of: "@") else { return "\(name) is not an e-mail address" }
        if scalars[..<at].allSatisfy(\.isASCII) { return "the local part of \(name) is ASCII" }
        let domain = String(scalars[scalars.index(after: at)...])
        return isHost(domain) || isAddressLiteral(domain)
            ? nil : "the host of \(name) is not a host name in ASCII"
    }

    /// The violation of RFC 5280 4.2.1.10 in a name constraint, as a sentence; nil if there is none.
    static func defect(ofConstraint name: GeneralName) -> String? {
        switch name {
        case .dNSName(let text) where !text.isEmpty && !isHost(text):
            "the name constraint \u{201C}\(text)\u{201D} is not a host name"
        case .uniformResourceIdentifier(let text)
        where !isHost(text.hasPrefix(".") ? String(text.dropFirst()) : text):
            "the name constraint \u{201C}\(text)\u{201D} is not the host of a URI, or a domain with a dot in front"
        case .iPAddress(let octets) where [8, 32].contains(octets.count) && !isNetwork(octets):
            "the name constraint \(octets.upperHex) is not an IP address prefix and its mask"
        default: nil
        }
    }

    /// Whether the second half of the octets is a mask of consecutive bits from the left, and no bit of the address in
    /// the first half is outside the mask.
    private static func isNetwork(_ octets: [UInt8]) -> Bool {
        let (address, mask) = (octets.prefix(octets.count / 2), octets.suffix(octets.count / 2))
        let rest = mask.drop { $0 == 0xFF }
        if let last = rest.first, (~last).leadingZeroBitCount + last.trailingZeroBitCount != 8 {
            return false
        }
        return rest.dropFirst().allSatisfy { $0 == 0 } && zip(address, mask).allSatisfy { $0 & ~$1 == 0 }
    }
}
