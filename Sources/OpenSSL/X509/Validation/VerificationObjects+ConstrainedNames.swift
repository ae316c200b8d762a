internal import COpenSSL

extension VerificationObjects {
    /// The maximum number of names of one certificate that are compared one at a time.
    private static let mostNames = 256

    /// The estimated number of comparisons of the names of `certificate` with the subtrees of `authority`. Long names
    /// count several times.
    package func nameComparisons(of certificate: Certificate, under authority: Certificate) -> Int {
        nameUnits(of: certificate) * subtrees(of: authority)
    }

    /// The estimated number of comparisons of names with subtrees on a path, leaf first, including those for the signers
    /// of lists.
    func nameComparisons(on path: [Certificate], listSigners: [Certificate]) -> Int {
        var comparisons = 0
        var names = 0
        for certificate in path {
            comparisons += names * subtrees(of: certificate)
            names += nameUnits(of: certificate)
        }
        let subtrees = (path + listSigners).reduce(0) { $0 + self.subtrees(of: $1) }
        return comparisons + listSigners.reduce(0) { $0 + nameUnits(of: $1) } * subtrees
    }

    /// The number of subtrees of an authority's name constraints, and one for each 256 bytes of its certificate.
    private func subtrees(of authority: Certificate) -> Int {
        let constraints = constraints(of: authority)
        let count = constraints.permittedNames.count + constraints.excludedNames.count
        return count == 0 ? 0 : count + authority.der.count / 256
    }

    /// The number of names of a certificate, and one for each 256 bytes of it. OpenSSL also compares the attributes of
    /// the subject.
    private func nameUnits(of certificate: Certificate) -> Int {
        certificate.subjectAlternativeNames.count
            + certificate.subject.relativeNames.reduce(1) { $0 + $1.count } + certificate.der.count / 256
    }

    /// The first host name, URI or e-mail address of `certificate` that is malformed although `authority` constrains names
    /// of that type; nil if there is none.
    ///
    /// OpenSSL only compares the ends of such names. It would therefore not find that `evil.com.` is below `evil.com`.
    func malformedName(of certificate: Certificate, under authority: Certificate) -> GeneralName? {
        let constraints = constraints(of: authority)
        let kinds = Set((constraints.permittedNames + constraints.excludedNames).map(\.kind))
        if kinds.contains(.rfc822Name),
            let address = mailAddresses(of: certificate).first(where: { $0.mailbox == nil })
        {
            return address.name
        }
        return certificate.subjectAlternativeNames.first { name in
            kinds.contains(name.kind) && (name.isMalformedHost || name.isMalformedURI)
        }
    }

    /// The first e-mail address, host name or URI of `certificate` that the name constraints of `authority` reject although
    /// OpenSSL may accept it, with OpenSSL's error; nil if there is none.
    ///
    /// OpenSSL does not find every such name:
    ///
    /// - It compares a SmtpUTF8Mailbox only with hosts, and local parts with their quotation marks. It ignores subtrees of
    ///   SmtpUTF8Mailbox names, which RFC 9598 6 does not define.
    /// - It does not compare excluded hosts with the hosts that a wildcard matches, and ignores wildcards, malformed host
    ///   names and host names of one label in common names.
    /// - An excluded host with a final dot excludes nothing, because names have no final dot.
    /// - An empty excluded subtree of addresses or URIs excludes nothing, nor does a malformed subtree of addresses, hosts
    ///   or URIs, such as `http://evil.com`. Here, a malformed one excludes every name of its type.
    /// - In directory names, it ignores only the case of ASCII letters, and does not normalize other characters.
    func rejectedName(
        of certificate: Certificate, under authority: Certificate
    ) -> (name: GeneralName, code: Int)? {
        let constraints = constraints(of: authority)
        if let name = excludedHost(of: certificate, constraints.excludedNames) {
            return (name, Int(X509_V_ERR_EXCLUDED_VIOLATION))
        }
        if let rejected = rejectedCommonName(of: certificate, constraints) { return rejected }
        if let name = excludedDirectoryName(of: certificate, constraints.excludedDirectories) {
            return (name, Int(X509_V_ERR_EXCLUDED_VIOLATION))
        }
        return rejectedAddress(of: certificate, constraints)
    }

    /// The first e-mail address of `certificate` that the constraints reject; nil if there is none.
    private func rejectedAddress(
        of certificate: Certificate, _ constraints: AuthorityConstraints
    ) -> (name: GeneralName, code: Int)? {
        let excluded = constraints.excludedNames.compactMap(\.withoutFinalDots.mailSubtree)
        let permitted = constraints.permittedNames.compactMap(\.mailSubtree)
        let excludesAll = constraints.excludedNames.contains(where: \.isMalformedMailSubtree)
        let constrainsInternational = (constraints.excludedNames + constraints.permittedNames)
            .contains(where: \.isInternationalAddress)
        guard !excluded.isEmpty || !permitted.isEmpty || constrainsInternational else { return nil }
        for case (let name, let mailbox?) in mailAddresses(of: certificate) {
            if constrainsInternational, name.isInternationalAddress {
                return (name, Int(X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE))
            }
            if excludesAll || excluded.contains(where: mailbox.isWithin) {
                return (name, Int(X509_V_ERR_EXCLUDED_VIOLATION))
            }
            if !permitted.isEmpty, !permitted.contains(where: mailbox.isWithin) {
                return (name, Int(X509_V_ERR_PERMITTED_VIOLATION))
            }
        }
        return nil
    }

    /// The first common name of `certificate` that is below an excluded host or not below a permitted one, although OpenSSL
    /// does not compare it: it contains a wildcard, has one label, or is malformed, such as `www.evil.com.` or
    /// `www-.evil.com`. Nil if there is none.
    private func rejectedCommonName(
        of certificate: Certificate, _ constraints: AuthorityConstraints
    ) -> (name: GeneralName, code: Int)? {
        func hosts(_ names: [GeneralName]) -> Set<String> {
            Set(names.map(\.withoutFinalDots).filter { $0.kind == .dNSName }.compactMap(\.host))
        }
        let (excluded, permitted) = (hosts(constraints.excludedNames), hosts(constraints.permittedNames))
        guard !excluded.isEmpty || !permitted.isEmpty else { return nil }
        for name in Self.commonHosts(of: certificate).map(\.withoutFinalDots) {
            guard let text = name.host else { continue }
            let label = text.prefix { $0 != "." }
            // Every host that a wildcard matches has the same parent domain.
            let host = label.contains("*") ? name.parentDomain ?? "" : text
            if GeneralName.isHost(host, within: excluded, isDomain: true)
                || excluded.contains(where: { Self.matches(label, host, $0) })
            {
                return (name, Int(X509_V_ERR_EXCLUDED_VIOLATION))
            }
            if !permitted.isEmpty, !GeneralName.isHost(host, within: permitted, isDomain: true) {
                return (name, Int(X509_V_ERR_PERMITTED_VIOLATION))
            }
        }
        return nil
    }

    /// Whether a label with a wildcard, below a parent domain, matches a host (RFC 6125 6.4.3).
    private static func matches(_ label: Substring, _ parent: String, _ host: String) -> Bool {
        guard let star = label.firstIndex(of: "*"), host.hasSuffix("." + parent) else { return false }
        let (start, end) = (label[..<star], label[label.index(after: star)...])
        let first = host.dropLast(parent.count + 1)
        return !first.contains(".") && first.count >= start.count + end.count && first.hasPrefix(start)
            && first.hasSuffix(end)
    }

    /// The first wildcard of `certificate` that matches one of the excluded hosts, or name below an excluded host with a
    /// final dot; nil if there is none. A malformed excluded subtree of host names or URIs excludes every name of its type.
    private func excludedHost(of certificate: Certificate, _ excluded: [GeneralName]) -> GeneralName? {
        let parents = Set(excluded.compactMap(\.withoutFinalDots.parentDomain))
        let dotted = excluded.filter { $0.withoutFinalDots != $0 }.map(\.withoutFinalDots)
        let malformed = Set(excluded.filter(\.isMalformedHostSubtree).map(\.kind))
        guard !parents.isEmpty || !dotted.isEmpty || !malformed.isEmpty else { return nil }
        let domains = Set(dotted.filter { $0.kind == .dNSName }.compactMap(\.host))
        let hosts = Set(dotted.filter { $0.kind == .uniformResourceIdentifier }.compactMap(\.host))
        return (certificate.subjectAlternativeNames + Self.commonHosts(of: certificate)).first { name in
            switch name {
            case .dNSName(let text):
                malformed.contains(.dNSName)
                    || name.isWildcard && name.parentDomain.map(parents.contains) == true
                    || !name.isMalformedHost
                        && GeneralName.isHost(text.lowercased(), within: domains, isDomain: true)
            case .uniformResourceIdentifier:
                malformed.contains(.uniformResourceIdentifier)
                    || name.hostOfURI.map { GeneralName.isHost($0, within: hosts, isDomain: false) } == true
            default: false
            }
        }
    }

    /// The subject or the first directory name of `certificate` that is below an excluded one after string preparation;
    /// nil if there is none.
    private func excludedDirectoryName(
        of certificate: Certificate, _ subtrees: [PreparedName]
    ) -> GeneralName? {
        guard !subtrees.isEmpty else { return nil }
        return directoryNames(of: certificate).first { subtrees.contains(where: $0.prepared.isWithin) }?.name
    }

    /// The subject and the directory names of a certificate. The result is cached.
    private func directoryNames(
        of certificate: Certificate
    ) -> [(name: GeneralName, prepared: PreparedName)] {
        if let known = directoryNames[certificate] { return known }
        let names = [GeneralName.directoryName(certificate.subject)] + certificate.subjectAlternativeNames
        // Constraints do not apply to an empty subject (RFC 5280 4.2.1.10).
        let directories = names.filter { $0.directory?.isEmpty == false }
        let prepared = Array(zip(directories, PreparedName.names(directories.compactMap(\.directory))))
        directoryNames[certificate] = prepared.map { (name: $0, prepared: $1) }
        return directoryNames[certificate] ?? []
    }

    /// The common names of a certificate that consist of characters of host names and wildcards, if no alternative name
    /// is a host name and the certificate is neither an authority's nor a person's. A name without a dot and without a
    /// wildcard is included only if the extended key usages include TLS servers.
    private static func commonHosts(of certificate: Certificate) -> [GeneralName] {
        guard !certificate.isCertificateAuthority, !hasNamesOfPersons(certificate),
            !certificate.subjectAlternativeNames.contains(where: { $0.kind == .dNSName })
        else { return [] }
        let isServer = certificate.extendedKeyUsage?.contains(where: serverUsages.contains) == true
        return certificate.subject.values(of: "2.5.4.3").map { GeneralName.dNSName($0) }
            .filter { $0.withoutFinalDots.isHostLike(requiresDot: !isServer) }
    }

    /// The extended key usages of TLS servers: server authentication, and Netscape's and Microsoft's Server Gated
    /// Cryptography.
    private static let serverUsages =
        (CertificatePurpose.sslserver.extendedKeyUsages ?? [])
        + ["2.16.840.1.113730.4.1", "1.3.6.1.4.1.311.10.3.3"]

    /// Whether no common name of a certificate is a host name: the extended key usages do not include TLS servers, or they
    /// do not require them and the last label of every name has ten digits, as in `DOE.JANE.1234567890`. A name with a
    /// control character never counts as a person's, because some programs end it there.
    static func hasNamesOfPersons(_ certificate: Certificate) -> Bool {
        let names = certificate.subject.values(of: "2.5.4.3")
        guard names.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }) else { return false }
        if let usages = certificate.extendedKeyUsage {
            if usages.contains(where: serverUsages.contains) { return false }
            if !usages.contains(CertificateVerifier.anyExtendedKeyUsage) { return true }
        }
        return names.allSatisfy { name in
            let label = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).last
            return label.map { $0.count == 10 && $0.allSatisfy { (0x30...0x39).contains($0) } } ?? false
        }
    }

    /// The e-mail addresses of a certificate, each with its form for comparisons, which is nil if it is malformed.
    ///
    /// Those in the subject are included: constraints of e-mail addresses also apply to them (RFC 5280 4.2.1.10).
    private func mailAddresses(
        of certificate: Certificate
    ) -> [(name: GeneralName, mailbox: ConstrainedMailbox?)] {
        if let known = mailAddresses[certificate] { return known }
        let subject = certificate.subject.values(of: OID.emailAddress)
        let names =
            certificate.subjectAlternativeNames.filter { $0.kind == .rfc822Name }
            + subject.map { GeneralName.rfc822Name($0) }
        let read = names.map { (name: $0, mailbox: $0.mailbox) }
        mailAddresses[certificate] = read
        return read
    }

    /// The names of `certificate` that the name constraints of `authority` reject, each with OpenSSL's error.
    func rejectedNames(
        of certificate: Certificate, under authority: Certificate
    ) -> [(name: GeneralName, code: Int)] {
        defer { OpenSSLError.discardQueue() }
        guard let pointer = unsafe try? pointer(authority),
            let decoded = unsafe X509_get_ext_d2i(pointer, NID_name_constraints, nil, nil)
        else { return [] }
        let constraints = unsafe decoded.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
        defer { unsafe NAME_CONSTRAINTS_free(constraints) }
        let names = certificate.subjectAlternativeNames.prefix(Self.mostNames)
        return ([.directoryName(certificate.subject)] + names).compactMap { name in
            let code = unsafe Self.verdict(on: name, of: certificate, constraints)
            return code == X509_V_OK ? nil : (name, Int(code))
        }
    }

    /// OpenSSL's verdict on one name, which is the only name of a new certificate.
    private static func verdict(
        on name: GeneralName, of certificate: Certificate,
        _ constraints: UnsafeMutablePointer<NAME_CONSTRAINTS>
    ) -> CInt {
        guard let copy = unsafe X509_new() else { return X509_V_OK }
        defer { unsafe X509_free(copy) }
        if case .directoryName(certificate.subject) = name {
            _ = try? unsafe certificate.subject.withPointer { unsafe X509_set_subject_name(copy, $0) }
        } else {
            guard let names = unsafe try? [name].makePointer() else { return X509_V_OK }
            defer { unsafe GENERAL_NAMES_free(names) }
            unsafe X509_add1_ext_i2d(copy, NID_subject_alt_name, UnsafeMutableRawPointer(names), 0, 0)
        }
        // The check looks at alternative names that only this call reads (X509_check_purpose(3)).
        unsafe _ = X509_check_purpose(copy, -1, 0)
        return unsafe NAME_CONSTRAINTS_check(copy, constraints)
    }
}

extension GeneralName {
    /// The types of names. Constraints apply to names of the same type.
    enum Kind: Hashable {
        case rfc822Name, dNSName, uniformResourceIdentifier, directoryName, iPAddress, registeredID, other
    }

    /// The type of the name.
    var kind: Kind {
        switch self {
        case .rfc822Name: .rfc822Name
        case .dNSName: .dNSName
        case .uniformResourceIdentifier: .uniformResourceIdentifier
        case .directoryName: .directoryName
        case .iPAddress: .iPAddress
        case .registeredID: .registeredID
        // Constraints of e-mail addresses also apply to this form of address (RFC 9598 6).
        case .otherName(OID.smtpUTF8Mailbox, _): .rfc822Name
        case .otherName, .other: .other
        }
    }

    /// Whether a host name has an invalid form (RFC 5280 4.2.1.6); false for other names.
    var isMalformedHost: Bool {
        guard case .dNSName(let name) = self else { return false }
        return !Self.isHost(name.hasPrefix("*.") ? name.dropFirst(2) : name[...])
    }

    /// Whether a host name consists of the characters of host names and wildcards. It may be malformed; some programs
    /// compare it nevertheless.
    ///
    /// - Parameter requiresDot: Whether the name must contain a dot or a wildcard.
    func isHostLike(requiresDot: Bool) -> Bool {
        guard case .dNSName(let name) = self, !name.isEmpty else { return false }
        return (!requiresDot || name.utf8.contains { ".*".utf8.contains($0) })
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || ".*-_".utf8.contains(byte)
            }
    }

    /// Whether the name matches every host that is one label below a domain (RFC 9525 6.3).
    var isWildcard: Bool {
        guard case .dNSName(let name) = self else { return false }
        return name.hasPrefix("*.")
    }

    /// The part of a host name after its first label, in lower case; nil for a host name of one label, and for other
    /// names.
    var parentDomain: String? {
        guard case .dNSName(let name) = self, let dot = name.firstIndex(of: ".") else { return nil }
        return name[name.index(after: dot)...].lowercased()
    }

    /// The name without dots at the end, if it is a constraint on host names, URIs or e-mail addresses. In DNS, a name
    /// with a final dot is the same name.
    var withoutFinalDots: GeneralName {
        func trimmed(_ text: String) -> String {
            let end = text.utf8.lastIndex { $0 != UInt8(ascii: ".") }
            return end.map { String(Substring(text.utf8[...$0])) } ?? ""
        }
        return switch self {
        case .rfc822Name(let text): .rfc822Name(trimmed(text))
        case .dNSName(let text): .dNSName(trimmed(text))
        case .uniformResourceIdentifier(let text): .uniformResourceIdentifier(trimmed(text))
        default: self
        }
    }

    /// Whether the name, as an excluded subtree of host names or URIs, is neither a host nor a domain with a dot in front
    /// (RFC 5280 4.2.1.10); false for other names. An empty subtree of host names contains every host.
    var isMalformedHostSubtree: Bool {
        switch withoutFinalDots {
        case .dNSName(let text): !text.isEmpty && !Self.isHostOrDomain(text[...])
        case .uniformResourceIdentifier(let text): !Self.isHostOrDomain(text[...])
        default: false
        }
    }

    /// Whether the name, as an excluded subtree of e-mail addresses, is neither an address, nor a host, nor a domain with a
    /// dot in front (RFC 5280 4.2.1.10); false for other names. An empty subtree contains every address.
    var isMalformedMailSubtree: Bool {
        let subtree = withoutFinalDots
        guard let text = subtree.mailSubtree, !text.isEmpty else { return false }
        guard let at = text.lastIndex(of: "@") else { return !Self.isHostOrDomain(text[...]) }
        let (local, host) = (text[..<at], text[text.index(after: at)...])
        // OpenSSL accepts an empty local part, which stands for all addresses of the host.
        if local.isEmpty { return !host.isEmpty && !Self.isHost(host) }
        return subtree.mailbox == nil || local.contains(":") && !local.hasPrefix("\"")
    }

    /// Whether a text is a host, or a domain with a dot in front.
    private static func isHostOrDomain(_ text: Substring) -> Bool {
        isHost(text.hasPrefix(".") ? text.dropFirst() : text)
    }

    /// Whether the name is an e-mail address of the type SmtpUTF8Mailbox (RFC 9598 3).
    var isInternationalAddress: Bool {
        if case .otherName(OID.smtpUTF8Mailbox, _) = self { true } else { false }
    }

    /// The distinguished name; nil for other names.
    var directory: DistinguishedName? {
        if case .directoryName(let name) = self { name } else { nil }
    }

    /// The host of a constraint on host names or URIs, in lower case; nil for other constraints.
    var host: String? {
        switch self {
        case .dNSName(let text), .uniformResourceIdentifier(let text): text.lowercased()
        default: nil
        }
    }

    /// Whether a host in lower case is one of these subtrees or in one of them (RFC 5280 4.2.1.10).
    ///
    /// - Parameters:
    ///   - subtrees: Hosts in lower case. One that begins with a dot contains all hosts below it.
    ///   - isDomain: Whether every other subtree also contains all hosts below it; an empty one contains all hosts.
    static func isHost(_ host: String, within subtrees: Set<String>, isDomain: Bool) -> Bool {
        if subtrees.isEmpty { return false }
        if subtrees.contains(host) || isDomain && subtrees.contains("") { return true }
        return host.indices.contains { index in
            host[index] == "."
                && (subtrees.contains(String(host[index...]))
                    || isDomain && subtrees.contains(String(host[host.index(after: index)...])))
        }
    }

    /// The e-mail address in the form for comparisons; nil if it is malformed, and for other names.
    var mailbox: ConstrainedMailbox? {
        switch self {
        case .rfc822Name(let text): ConstrainedMailbox(text, isInternational: false)
        case .otherName(OID.smtpUTF8Mailbox, .utf8String(let text)):
            ConstrainedMailbox(text, isInternational: true)
        default: nil
        }
    }

    /// The subtree of a constraint on e-mail addresses; nil for other constraints.
    var mailSubtree: String? {
        guard case .rfc822Name(let text) = self else { return nil }
        return text
    }

    /// The maximum length of a host name in octets (RFC 1035 3.1, without the length octets at both ends).
    static let longestHost = 253

    /// Whether each label of a name is non-empty and contains only letters, digits, hyphens (RFC 1034 3.5) and
    /// underscores, which are common although the RFC forbids them.
    static func isHost(_ name: Substring) -> Bool {
        guard name.utf8.count <= longestHost else { return false }
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy {
                    switch $0 {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                        true
                    default: false
                    }
                }
        }
    }
}

extension GeneralName {
    /// Whether the host of a URI cannot be compared with constraints (RFC 5280 4.2.1.10); false for other names.
    ///
    /// OpenSSL takes everything up to the first colon or slash as the host. A URI with user information, a query directly
    /// after the host, or a host in another form would therefore be compared wrongly. An IP address is not a host name.
    var isMalformedURI: Bool { kind == .uniformResourceIdentifier && hostOfURI == nil }

    /// The host of a URI in lower case; nil if it is malformed (``isMalformedURI``), and for other names.
    var hostOfURI: String? {
        guard case .uniformResourceIdentifier(let text) = self else { return nil }
        let bytes = Array(text.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[(colon + 1)...].starts(with: "//".utf8)
        else { return nil }
        let authority = bytes[(colon + 3)...].prefix { !"/?#".utf8.contains($0) }
        let parts = authority.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let next = authority.endIndex < bytes.endIndex ? bytes[authority.endIndex] : UInt8(ascii: "/")
        let host = String(decoding: parts[0], as: UTF8.self).lowercased()
        guard next == UInt8(ascii: "/"), parts.count <= 2, Self.isHost(host[...]), !Self.isAddress(host),
            parts.count < 2 || parts[1].allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return host
    }

    /// Whether programs read a host in lower case as an IPv4 address: its last label is a decimal or hexadecimal number
    /// (WHATWG URL, 3.5).
    private static func isAddress(_ host: String) -> Bool {
        guard let last = host.split(separator: ".").last else { return false }
        if last.hasPrefix("0x") { return last.dropFirst(2).allSatisfy(\.isHexDigit) }
        return last.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
