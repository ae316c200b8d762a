import CommandSupport
import Diagnostics
import Foundation
import KeyShareConsumer
import OpenSSL
import PathValidation

/// The outcome of one `verify` command.
struct VerificationOutcome {
    /// The identities that were checked, with the file of each.
    private(set) var reports: [(report: ValidationReport, file: String?)] = []
    /// The files and labels that could not be checked.
    private(set) var unchecked: [(item: String, failure: CommandFailure)] = []
    /// The first failure: nil if nothing has failed, `.some(nil)` if an identity failed a check, and otherwise the
    /// failure of an item that could not be checked.
    private var first: CommandFailure??

    mutating func add(_ report: ValidationReport, file: String?) {
        reports.append((report, file))
        if first == nil, !report.isValid { first = .some(nil) }
    }

    mutating func add(unchecked item: String, _ failure: CommandFailure) {
        unchecked.append((item, failure))
        if first == nil { first = failure }
    }

    /// The number of identities with each verdict.
    var summary: VerificationDocument.Summary {
        .init(
            of: reports.count, valid: reports.count { $0.report.isValid },
            expired: reports.count { $0.report.hasOnlyExpired }, unchecked: unchecked.count)
    }

    /// The failure that determines the exit code, and all failures; nil and empty if everything is valid.
    ///
    /// - Parameter options: The options of the command, for advice.
    func failures(_ options: ValidationOptions, isExplained: Bool) -> (
        first: CommandFailure?, all: [CommandFailure]
    ) {
        let summary = failure(options, isExplained: isExplained)
        return (first.flatMap { $0 ?? summary }, unchecked.map(\.failure) + [summary].compactMap(\.self))
    }

    /// The failure for the identities that are not valid; nil if all are valid.
    private func failure(_ options: ValidationOptions, isExplained: Bool) -> CommandFailure? {
        let failed = reports.map(\.report).filter { !$0.isValid }
        guard let first = failed.first else { return nil }
        if let error = first.keyError { return CommandFailure(error) }
        let count = summary
        let all = counted(reports.count, "identity", "identities")
        if count.failed == 0 {
            return CommandFailure(
                .validationFailed,
                "\(count.expired) of \(all) \(count.expired == 1 ? "has" : "have") expired; every other check passed",
                hint: "accept expired certificates with: " + Self.command(adding: "--allow-expired"))
        }
        let others =
            count.expired > 0
            ? ", and \(count.expired) \(count.expired == 1 ? "has" : "have") only expired" : ""
        return CommandFailure(
            .validationFailed, "\(count.failed) of \(all) failed a check\(others)",
            hint: advice(failed.filter { !$0.hasOnlyExpired }, options, isExplained: isExplained))
    }

    /// Advice about identities that are not valid.
    private func advice(
        _ failed: [ValidationReport], _ options: ValidationOptions, isExplained: Bool
    ) -> String {
        let outcomes = failed.map { report in
            Set(
                report.validation.verification.checks.filter {
                    $0.outcome == .failed || $0.outcome == .unsettled
                }.map(\.kind))
        }
        let refused = failed.flatMap(\.fetched).first { $0.status == .hostNotPermitted }
        if options.fetch, let host = refused.flatMap({ URLComponents(string: $0.url)?.host }) {
            return "also fetch from that host with: " + Self.command(adding: "--fetch-from", host)
        }
        if !outcomes.isEmpty, outcomes.allSatisfy({ $0 == [.revocation] }),
            failed.allSatisfy({ $0.validation.verification.check(.revocation).outcome == .unsettled })
        {
            return "add the missing list with --crl, or a response with --ocsp"
        }
        if outcomes.contains(where: { $0.contains(.chain) }),
            failed.contains(where: { !$0.validation.verification.isComplete })
        {
            return "add the missing issuers with --untrusted, or their root with --trust"
                + (isExplained ? "" : "; see the partial path with: " + Self.command(adding: "--explain"))
        }
        if isExplained { return "the lines marked PROBLEM explain the failures" }
        return "see the paths with: " + Self.command(adding: "--explain")
    }

    /// The running command with additional arguments, quoted for a shell.
    private static func command(adding arguments: String...) -> String {
        let given = Array(CommandLine.arguments.dropFirst())
        // After `--`, all arguments are labels.
        let place = given.firstIndex(of: "--") ?? given.count
        let all = given[..<place] + arguments + given[place...]
        return ([CommandMain.programName] + all).map(\.quotedForShell).joined(separator: " ")
    }
}
