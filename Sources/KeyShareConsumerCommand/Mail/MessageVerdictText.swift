import CommandSupport
import Diagnostics
import KeyShareConsumer
import KeySharing
import OpenSSL
import PathValidation
import SecureMail

/// Prints the verdicts of `verify --message`.
struct MessageVerdictText {
    let console: Console
    /// Whether the paths of the signers are printed.
    let isExplained: Bool

    /// Prints the verdict on a message, and the checks of each part and signer.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    func write(_ report: MessageReport, file: String) throws {
        let isPartial = report.isValid && !report.unprotected.isEmpty
        let verdict =
            Self.word(
                report.isValid, report.hasOnlyExpired, report.checks + report.ownParts.flatMap(\.checks))
            + (isPartial ? ", partly protected" : "")
        let from = report.from.map { ["from " + MailText.decoded(headerValue: $0)] } ?? []
        try console.paragraph(([file] + from + [verdict]).joined(separator: "  "))
        try write(report.checks, indent: 2)
        for part in report.parts { try write(part) }
    }

    private func write(_ report: MessageReport.Part) throws {
        let part = report.part
        let kind = part.isForwarded ? "message inside" : "S/MIME message"
        let place = part.path.map { "part \($0), \(kind)" } ?? kind
        let from = part.isForwarded ? part.header?["From"].map(MailText.shortened) : nil
        let verdict = Self.word(report.isValid, report.hasOnlyExpired, report.checks)
        try console.paragraph(
            ([place] + (from.map { ["from " + MailText.decoded(headerValue: $0)] } ?? []) + [verdict]).joined(
                separator: "  "), indent: 2)
        try write(report.checks, indent: 4)
        for difference in part.headerProtection?.differences ?? [] {
            let (inner, outer) = (difference.inner ?? "absent", difference.outer ?? "absent")
            try console.fields(
                [(difference.name, "\(inner) (protected), \(outer) (outside)")], indent: "      ")
        }
        for signer in report.signers {
            let certificate = signer.signature.certificate
            let name = certificate.map { $0.subject.commonName ?? $0.subject.description }
            let verdict = Self.word(signer.isValid, signer.hasOnlyExpired, signer.checks)
            try console.paragraph("signer \(name ?? signer.signature.signerName)  \(verdict)", indent: 4)
            try write(signer.checks, indent: 6)
            if isExplained, let validation = signer.validation {
                let lines = PathTree(validation, fetched: signer.fetched)
                    .lines(fitting: console.width.map { $0 - 6 })
                try console.lines(lines.map { "      " + $0 }.joined(separator: "\n"))
            }
        }
    }

    private func write(_ checks: [ValidationReport.Check], indent: Int) throws {
        try console.fields(
            checks.map { (name: "\($0.name): \($0.outcome.words)", value: $0.explanation) },
            indent: String(repeating: " ", count: indent))
    }

    private static func word(
        _ isValid: Bool, _ hasOnlyExpired: Bool, _ checks: [ValidationReport.Check]
    ) -> String {
        if isValid { return "ok" }
        if hasOnlyExpired { return "EXPIRED" }
        return checks.contains { $0.outcome == .failed } ? "FAILED" : "NOT CHECKED"
    }
}
