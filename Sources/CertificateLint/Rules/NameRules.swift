import Foundation
import Glibc
import OpenSSL

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
                subject.addresses.filter { !NameSyntax.isAddress($0) }.map {
                    "the alternative name \u{201C}\($0)\u{201D} is not an e-mail address"
                }
            }),
        Rule(
            "alternative-name-dns", .error, "RFC 5280 4.2.1.6, RFC 1034 3.5",
            "an alternative name is not a host name",
            each: { subject in
                subject.certificate.subjectAlternativeNames.compactMap {
                    guard case .dNSName(let name) = $0, !NameSyntax.isHost(name) else { return nil }
                    return "the alternative name \u{201C}\(name)\u{201D} is not a host name"
                }
            }),
        Rule(
            "alternative-name-uri", .error, "RFC 5280 4.2.1.6, RFC 3986",
            "an alternative name is not an absolute URI, or its host is incomplete",
            each: { subject in
                subject.certificate.subjectAlternativeNames.compactMap {
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
                subject.certificate.subjectAlternativeNames.compactMap {
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
    ]
}

/// Syntax checks for alternative names.
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
            // The host is fully qualified or an address (RFC 5280 4.2.1.6). Only `http` requires one.
            let isWeb = ["http", "https"].contains(text[..<colon].lowercased())
            guard authority.isEmpty ? !isWeb : authority.contains(".") || authority.contains("[") else {
                return false
            }
        }
        return rest.utf8.allSatisfy { isAlphanumeric($0) || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains($0) }
    }
}
