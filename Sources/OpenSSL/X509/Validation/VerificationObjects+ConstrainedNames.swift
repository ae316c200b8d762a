internal import COpenSSL

extension VerificationObjects {
    /// The maximum number of names of one certificate that are compared one at a time.
    private static let mostNames = 256

    /// The first host name or e-mail address of `certificate` that is malformed although `authority` constrains names
    /// of that type; nil if there is none.
    ///
    /// OpenSSL only compares the ends of such names. It would therefore not find that `evil.com.` is below `evil.com`.
    func malformedName(of certificate: Certificate, under authority: Certificate) -> GeneralName? {
        let constraints = constraints(of: authority)
        let subtrees = constraints.permittedNames + constraints.excludedNames
        guard !subtrees.isEmpty else { return nil }
        let names = certificate.subjectAlternativeNames
        // Constraints of e-mail addresses also apply to those in the subject (RFC 5280 4.2.1.10).
        let addresses =
            names.contains { $0.kind == .rfc822Name }
            ? [] : certificate.subject.values(of: "1.2.840.113549.1.9.1").map { GeneralName.rfc822Name($0) }
        return (names + addresses).first { name in
            name.isMalformed && subtrees.contains { $0.kind == name.kind }
        }
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

    /// OpenSSL's verdict on one name. OpenSSL checks a copy of the certificate without the other names.
    private static func verdict(
        on name: GeneralName, of certificate: Certificate,
        _ constraints: UnsafeMutablePointer<NAME_CONSTRAINTS>
    ) -> CInt {
        guard let copy = unsafe try? certificate.makePointer() else { return X509_V_OK }
        defer { unsafe X509_free(copy) }
        let place = unsafe X509_get_ext_by_NID(copy, NID_subject_alt_name, -1)
        if place >= 0 { unsafe X509_EXTENSION_free(X509_delete_ext(copy, place)) }
        if case .directoryName(certificate.subject) = name {
        } else {
            let empty = unsafe X509_NAME_new()
            defer { unsafe X509_NAME_free(empty) }
            unsafe X509_set_subject_name(copy, empty)
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
        case .otherName, .other: .other
        }
    }

    /// Whether a host name or an e-mail address has an invalid form (RFC 5280 4.2.1.6); false for other names.
    var isMalformed: Bool {
        switch self {
        case .dNSName(let name): !Self.isHost(name.hasPrefix("*.") ? name.dropFirst(2) : name[...])
        case .rfc822Name(let name): !Self.isMailbox(name)
        default: false
        }
    }

    /// Whether each label of a name is non-empty and contains only letters, digits, hyphens (RFC 1034 3.5) and
    /// underscores, which are common although the RFC forbids them.
    private static func isHost(_ name: Substring) -> Bool {
        guard name.utf8.count <= 253 else { return false }
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

    /// A local part, one @ and a host or an address in brackets (RFC 5321 4.1.2). Only a local part in quotation marks
    /// may contain an @.
    private static func isMailbox(_ name: String) -> Bool {
        guard let at = name.lastIndex(of: "@") else { return false }
        let (local, host) = (name[..<at], name[name.index(after: at)...])
        guard !local.isEmpty, local.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return false }
        let isQuoted = local.count > 2 && local.hasPrefix("\"") && local.hasSuffix("\"")
        guard isQuoted || !local.contains(where: { $0 == "@" || $0 == " " || $0 == "\"" }) else {
            return false
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            return host.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        return isHost(host)
    }
}
