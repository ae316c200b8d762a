internal import CertificateReading
internal import CommandSupport
internal import KeyShareConsumer
internal import KeySharing
internal import OpenSSL
internal import PathValidation
internal import SecureMail
internal import StandardExtensions

extension MessageVerdictDocument {
    /// Creates the document from a report.
    ///
    /// - Parameters:
    ///   - report: The checks of the message.
    ///   - file: The name of the message's file.
    ///   - isFetching: Whether fetching was enabled.
    init(_ report: MessageReport, file: String, isFetching: Bool) {
        self.init(
            file: file, valid: report.isValid, expired: report.hasOnlyExpired,
            complete: report.isValid && report.unprotected.isEmpty,
            from: report.from.map { MailText.decoded(headerValue: $0) },
            subject: Self.text(report.header, "Subject"),
            checks: report.checks.map(VerificationDocument.Check.init),
            parts: report.parts.map { Part($0, in: report, isFetching: isFetching) },
            unprotected: report.unprotected.map { Unprotected(part: $0.path, type: $0.type) })
    }

    fileprivate static func text(_ header: MailHeader?, _ name: String) -> String? {
        header?[name].map { MailText.decoded(headerValue: $0) }
    }
}

extension VerificationDocument.Check {
    /// Converts a check of an identity or a message to its JSON form.
    init(_ check: ValidationReport.Check) {
        self.init(check: check.name, outcome: check.outcome.words, explanation: check.explanation)
    }
}

extension MessageVerdictDocument.Part {
    fileprivate init(_ report: MessageReport.Part, in message: MessageReport, isFetching: Bool) {
        let part = report.part
        self.init(
            part: part.path, type: part.type, forwarded: part.isForwarded,
            container: part.container.flatMap { message.parts[$0].part.path }, valid: report.isValid,
            expired: report.hasOnlyExpired, checks: report.checks.map(VerificationDocument.Check.init),
            encryption: part.layers.compactMap { layer in
                guard case .encrypted(let cipher, _, _, let certificate) = layer else { return nil }
                return .init(
                    cipher: cipher.rawValue, authenticated: cipher.isAuthenticated, label: certificate?.label)
            },
            signers: report.signers.map { MessageVerdictDocument.Signer($0, isFetching: isFetching) },
            header: part.headerProtection.map(MessageVerdictDocument.ProtectedHeader.init),
            body: part.sha256.map { $0.upperHex.lowercased() })
    }
}

extension MessageVerdictDocument.ProtectedHeader {
    fileprivate init(_ protection: HeaderProtection) {
        self.init(
            form: protection.form.rawValue, from: MessageVerdictDocument.text(protection.header, "From"),
            subject: MessageVerdictDocument.text(protection.header, "Subject"),
            differences: protection.differences.map {
                Difference(field: $0.name, kind: $0.kind.rawValue, inner: $0.inner, outer: $0.outer)
            })
    }
}

extension MessageVerdictDocument.Signer {
    fileprivate init(_ report: MessageReport.Signer, isFetching: Bool) {
        let signature = report.signature
        self.init(
            signer: signature.signerName,
            identity: signature.certificate.map { IdentityDocument(IdentitySummary($0)) },
            valid: report.isValid, expired: report.hasOnlyExpired, signingTime: signature.signingTime,
            validatedAt: report.date, signatureAlgorithm: signature.signatureAlgorithm,
            digest: signature.digest, capabilities: signature.capabilities,
            checks: report.checks.map(VerificationDocument.Check.init),
            path: report.validation?.path.map(VerificationDocument.Link.init) ?? [],
            fetched: isFetching ? report.fetched.map(VerificationDocument.Fetched.init) : nil)
    }
}
