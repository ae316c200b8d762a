internal import Diagnostics
internal import OpenSSL
internal import PathValidation
internal import SecureMail

/// The checks of messages that need no path: signatures, senders, encryption, header fields and structure.
enum MessageChecks {
    typealias Check = ValidationReport.Check

    // MARK: - The message

    /// Whether the message itself is protected, and whether unprotected parts endanger an encrypted one.
    static func structure(of contents: MessageContents) -> Check {
        let name = "structure"
        let unprotected = contents.unprotected.map(description).joined(separator: ", ")
        if let ambiguity = contents.ambiguity {
            return Check(name: name, outcome: .failed, explanation: ambiguity)
        }
        if let limit = contents.limit {
            return Check(name: name, outcome: .unsettled, explanation: limit)
        }
        let own = contents.parts.filter(\.isOwn)
        guard !own.isEmpty else {
            let inner = contents.parts.map { $0.path ?? "" }.joined(separator: ", ")
            return Check(
                name: name, outcome: .failed,
                explanation: "the message itself is neither signed nor encrypted"
                    + (inner.isEmpty ? "" : "; only the message inside it is (part \(inner))"))
        }
        // Mail programs that combine parts would send the decrypted text to a server that the HTML names (the Efail
        // attack of 2018).
        if let (part, encrypted) = contents.exposure {
            let path = encrypted.path.map { " \($0)" } ?? ""
            return Check(
                name: name, outcome: .failed,
                explanation:
                    "\(description(of: part)) is outside the encrypted part\(path), and could send "
                    + "its text to a server")
        }
        let choices = Set(own.flatMap(\.choices))
        if let first = contents.unprotected.first(where: { !choices.isDisjoint(with: $0.choices) }) {
            return Check(
                name: name, outcome: .failed,
                explanation:
                    "\(description(of: first)) is not protected, and mail programs could show it "
                    + "instead of the S/MIME part")
        }
        // The parts of the message itself have checks of their own.
        let unread =
            contents.contents.filter(\.isUnread).map(description)
            + contents.parts.filter { !$0.isOwn && $0.isUnread }.map {
                "part \($0.path ?? "1") (\($0.type.visible))"
            }
        if let first = unread.first {
            return Check(
                name: name, outcome: .unsettled,
                explanation: "\(first) cannot be read, and could contain an encrypted part")
        }
        return Check(
            name: name, outcome: .passed,
            explanation: unprotected.isEmpty ? "every part is protected" : "not protected: \(unprotected)")
    }

    private static func description(of part: MessageContents.ContentPart) -> String {
        "part \(part.path) (\(part.hasAmbiguousType ? "ambiguous media type" : part.type.visible))"
    }

    // MARK: - A part

    /// Whether one of the authors is a valid signer.
    static func signature(of part: MessageContents.ProtectedPart, by authors: [MessageReport.Signer]) -> Check
    {
        let name = "signed"
        if let failure = part.failure {
            let code = (failure as? CMSError)?.code
            let isOpen =
                switch code {
                case .missingKey, .wrongPassword, .unsupported, .overLimit: true
                default: false
                }
            return Check(
                name: name, outcome: isOpen ? .unsettled : .failed,
                explanation: (failure as? any Failure)?.reason.visible ?? "\(failure)")
        }
        if case .encrypted = part.layers.last {
            let isSigned = part.layers.contains { if case .signed = $0 { true } else { false } }
            return Check(
                name: name, outcome: .failed,
                explanation: isSigned
                    ? "only the encrypted message is signed; the signer may not know its content"
                    : "the content is not signed")
        }
        if authors.contains(where: { $0.signature.outcome == .mismatch }) {
            return Check(name: name, outcome: .failed, explanation: "a signature does not match the content")
        }
        guard let author = authors.first(where: \.isValid) else {
            let isFailed = authors.contains { $0.checks.contains { $0.outcome == .failed } }
            return Check(
                name: name, outcome: isFailed ? .failed : .unsettled,
                explanation: "no signer is valid for this message")
        }
        let subject = author.signature.certificate.map { $0.subject.commonName ?? $0.subject.description }
        let count = authors.count > 1 ? " (one of \(authors.count) signers)" : ""
        return Check(
            name: name, outcome: .passed, explanation: "by \((subject ?? "").visible)\(count)")
    }

    /// Whether an alteration of the encrypted content would be detected.
    static func encryption(of part: MessageContents.ProtectedPart) -> Check {
        let name = "encryption"
        let ciphers = part.layers.compactMap { layer -> ContentCipher? in
            if case .encrypted(let cipher, _, _, _) = layer { cipher } else { nil }
        }
        guard !ciphers.isEmpty else {
            return Check(
                name: name, outcome: .notChecked,
                explanation: part.isEncrypted
                    ? "the content was not decrypted" : "the content is not encrypted")
        }
        let names = ciphers.map(\.rawValue).joined(separator: ", ")
        guard case .encrypted(let last, _, _, _)? = part.layers.last else {
            return Check(
                name: name, outcome: .passed,
                explanation: names
                    + (ciphers.allSatisfy(\.isAuthenticated)
                        ? ", which detects alterations" : "; the signature inside detects alterations"))
        }
        return last.isAuthenticated
            ? Check(name: name, outcome: .passed, explanation: "\(names), which detects alterations")
            : Check(
                name: name, outcome: .failed,
                explanation: "\(names) does not detect alterations, and no signature inside does")
    }

    /// Whether header fields are protected, and how they differ outside.
    static func header(of part: MessageContents.ProtectedPart) -> Check {
        let name = "headers"
        guard let protection = part.headerProtection else {
            return Check(
                name: name, outcome: .notChecked,
                explanation: part.header == nil
                    ? "there are none" : "From, Subject and other header fields are not protected")
        }
        let form =
            switch protection.form {
            case .clear: "protected (hp=clear)"
            case .cipher: "protected (hp=cipher)"
            case .wrapped: "protected, in a message inside (RFC 8551)"
            case .draft: "protected (protected-headers, a draft)"
            }
        let differences = protection.differences.map { "\($0.name.visible) \(words($0.kind))" }
        // A mail program that shows the outer From would name a person who did not sign.
        let isForged = part.header.map { !hasSameAuthors(protection.header, $0) } ?? false
        let isExplained = protection.differences.contains {
            $0.name.lowercased() == "from" && $0.kind != .hidden
        }
        let reason = isForged && !isExplained ? ["From contains other addresses outside"] : []
        return Check(
            name: name, outcome: isForged ? .failed : .passed,
            explanation: ([form] + differences + reason).joined(separator: "; "))
    }

    /// Whether the From fields of two headers contain the same addresses, or the first header has none. Encoded words are
    /// not decoded, because they cannot contain addresses (RFC 2047, 5). A field that cannot be read must be identical.
    private static func hasSameAuthors(_ one: MailHeader, _ other: MailHeader) -> Bool {
        func values(_ header: MailHeader) -> [String] {
            header.fields.filter { $0.name.lowercased() == "from" }.map(\.value)
        }
        let (values, others) = (values(one), values(other))
        if values.isEmpty { return true }
        guard values.count == others.count else { return false }
        return zip(values, others).allSatisfy { value, other in
            if value.utf8.elementsEqual(other.utf8) { return true }
            guard let addresses = MailAddress.list(value) else { return false }
            return addresses == MailAddress.list(other)
        }
    }

    private static func words(_ kind: HeaderProtection.Difference.Kind) -> String {
        switch kind {
        case .hidden: "is hidden outside"
        case .changed: "differs outside"
        case .added: "is only outside, not protected"
        case .removed: "is missing outside"
        }
    }

    // MARK: - A signer

    /// Whether the signature matches the content, and is strong enough.
    static func signature(_ report: CMSSignerReport) -> Check {
        let name = "signature"
        switch report.outcome {
        case .sound:
            if let weakness = report.weakness {
                return Check(
                    name: name, outcome: .failed,
                    explanation: "matches the content, but does not authenticate it: \(weakness)")
            }
            return Check(
                name: name, outcome: .passed,
                explanation: "matches the content (\(report.signatureAlgorithm), \(report.digest))")
        case .mismatch:
            return Check(
                name: name, outcome: .failed,
                explanation: "does not match: the content or the signature was altered")
        case .unsuitableAttributes(let reason):
            return Check(name: name, outcome: .failed, explanation: "is not accepted: \(reason)")
        case .missingCertificate:
            return Check(
                name: name, outcome: .unsettled,
                explanation:
                    "the certificate \(report.signerName.visible) is not in the message; add it with "
                    + "--untrusted")
        case .unsupported(let reason):
            return Check(name: name, outcome: .unsettled, explanation: reason.visible)
        }
    }

    /// Whether the sender of the message that contains the part is the signer (RFC 8550, 3).
    static func sender(
        of part: MessageContents.ProtectedPart, signedBy certificate: Certificate, _ addresses: AddressCache
    ) -> Check {
        let name = "sender"
        // Some programs protect only other fields, such as Subject.
        let protected = part.headerProtection?.header
        guard let header = protected?["From"] == nil ? part.header ?? protected : protected else {
            return Check(name: name, outcome: .notChecked, explanation: "the message has no header fields")
        }
        if let ambiguity = header.lineAmbiguity {
            return Check(
                name: name, outcome: .failed,
                explanation: "some programs could find another From field, because the header \(ambiguity)")
        }
        let fields = header.fields.filter { $0.name.lowercased() == "from" }
        guard fields.count == 1, let field = fields.first, let from = addresses.list(field.value),
            !from.isEmpty
        else {
            let reason =
                fields.isEmpty
                ? "there is no From field"
                : fields.count > 1 ? "there are \(fields.count) From fields" : "the From field cannot be read"
            return Check(name: name, outcome: .failed, explanation: reason)
        }
        guard certificate.subjectAlternativeNames.count <= MailLimits.addresses else {
            return Check(
                name: name, outcome: .unsettled,
                explanation: "the certificate has more than \(MailLimits.addresses) alternative names")
        }
        let (certified, names) = addresses.addresses(in: certificate)
        guard !names.isEmpty else {
            return Check(
                name: name, outcome: .notChecked,
                explanation: "the certificate contains no e-mail address to compare with "
                    + list(from))
        }
        let others = from.filter { !names.contains($0) }
        guard !others.isEmpty else {
            return Check(name: name, outcome: .passed, explanation: list(from))
        }
        let sender = header["Sender"].flatMap(addresses.list) ?? []
        let delegate = sender.first { names.contains($0) }
        return Check(
            name: name, outcome: .failed,
            explanation: "From contains \(list(others)), but the signer is \(list(certified))"
                + (delegate == nil ? "" : ", who is the Sender"))
    }

    /// The first addresses. The explanation of each signature can contain them.
    private static func list(_ addresses: [MailAddress]) -> String {
        let shown = addresses.prefix(8).map { "\($0)".visible }.joined(separator: ", ")
        return addresses.count > 8 ? "\(shown) and \(addresses.count - 8) more" : shown
    }
}
