import CommandSupport
import Diagnostics
import Foundation
import KeyShareConsumer
import OpenSSL
import PathValidation
import SecureMail

extension Verify {
    /// Judges the messages that `--message` names.
    func verifyMessages(
        _ pool: CertificatePool, _ revocation: RevocationPool, _ console: Console
    ) async throws {
        let now = clock.now
        let validator = MessageValidator(
            validation.verifier, pool: pool, revocation: revocation, fetcher: validation.fetcher,
            at: clock.at, now: now)
        var outcome = MessageOutcome()
        for (file, contents) in try await readMessages(pool, console) {
            switch contents {
            case .success(let contents): outcome.add(await validator.validate(contents), file: file)
            case .failure(let error): outcome.add(unchecked: file, CommandFailure(error))
            }
        }
        if let graph {
            try draw(
                outcome.reports.flatMap(\.report.parts).flatMap(\.signers).compactMap(\.validation),
                into: graph, console)
        }
        let failures = outcome.failures
        let document = VerificationDocument(
            results: [],
            messages: outcome.reports.map {
                MessageVerdictDocument($0.report, file: $0.file, isFetching: validation.fetch)
            },
            failures: outcome.unchecked.map { .init(item: $0.item, failure: $0.failure) },
            summary: outcome.summary)
        try console.present(document, failure: failures.first, reporting: failures.all) {
            for (report, file) in outcome.reports {
                try MessageVerdictText(console: console, isExplained: explain).write(report, file: file)
            }
            let count = outcome.summary
            if outcome.reports.count > 1 {
                console.note("\(count.valid) valid, \(count.expired) only expired, \(count.failed) failed")
            }
        }
    }

    /// Reads every message before the first one is judged, because the keys of tokens and aliases are available only
    /// inside a closure.
    private func readMessages(
        _ pool: CertificatePool, _ console: Console
    ) async throws -> [(file: String, contents: Result<MessageContents, any Error>)] {
        let files = try message.flatMap(MessageFile.all(at:))
        let secret = try password.password()
        // A message need not contain the certificates of its signers.
        let certificates = pool.certificates
        func read(
            _ file: MessageFile, keys: @escaping MessageOpener.Keys
        ) -> (file: String, contents: Result<MessageContents, any Error>)? {
            self.read(file, console) { scratch in
                MessageReader(
                    scratch: scratch, certificates: certificates,
                    securityLevel: validation.securityLevel, secret: secret, keys: keys)
            }
        }
        var results: [(file: String, contents: Result<MessageContents, any Error>)] = []
        if token || alias {
            let origin: MailIdentities.Origin = alias ? .keyChain : .token
            try await MailIdentities.withIdentities(of: access, from: origin, only: nil) { identities in
                results = files.compactMap { read($0, keys: identities.key) }
            }
        } else {
            // Signed messages need no keys, so a device is needed only for encrypted ones.
            var identities: MailIdentities?
            results = files.compactMap { file in
                read(file) { recipient in
                    let held =
                        try identities
                        ?? MailIdentities(ConsumerStore(try access.device.openDevice()), only: nil)
                    identities = held
                    return try held.key(of: recipient)
                }
            }
        }
        return results
    }

    /// Reads a message; returns nil for a file that was found in a folder and is not a message.
    private func read(
        _ file: MessageFile, _ console: Console, _ reader: (_ scratch: String) -> MessageReader
    ) -> (file: String, contents: Result<MessageContents, any Error>)? {
        let scratch = DestinationOptions.scratchFolder
        do {
            let contents = try InputFile.withFile(file.path, scratch: scratch) {
                try reader(scratch).read($0)
            }
            return (file.name, .success(contents))
        } catch let error as CMSError where file.isFound && error.code == .noMessage {
            console.detail("skipped \(file.path): \(error.reason)")
            return nil
        } catch {
            return (file.name, .failure(CommandFailure(error).about(file.name)))
        }
    }
}

/// The outcome of one `verify --message` command.
private struct MessageOutcome {
    private(set) var reports: [(report: MessageReport, file: String)] = []
    private(set) var unchecked: [(item: String, failure: CommandFailure)] = []
    /// The first failure in the order of the files; nil if every message is valid.
    private var first: CommandFailure?

    mutating func add(_ report: MessageReport, file: String) {
        reports.append((report, file))
        if first == nil, !report.isValid { first = Self.failure(of: report, file) }
    }

    mutating func add(unchecked item: String, _ failure: CommandFailure) {
        unchecked.append((item, failure))
        first = first ?? failure
    }

    /// The failure of a message that is not valid. If only a key is missing, it is that of `decrypt`.
    private static func failure(of report: MessageReport, _ file: String) -> CommandFailure {
        let missing = report.ownParts.compactMap { $0.part.failure as? CMSError }.first {
            $0.code == .missingKey
        }
        if let missing { return CommandFailure(missing).about(file) }
        if report.hasOnlyExpired {
            return CommandFailure(
                .validationFailed, "\(file): a certificate has expired; every other check passed",
                hint: "accept expired certificates with --allow-expired")
        }
        let checks = [report.checks] + report.ownParts.flatMap { [$0.checks] + $0.signers.map(\.checks) }
        let faults = checks.flatMap(\.self).filter { $0.outcome == .failed || $0.outcome == .unsettled }
        // The reason of a signer is more specific than the verdict on its part.
        let fault = faults.first { $0.name != "signed" } ?? faults.first
        return CommandFailure(
            .validationFailed,
            "\(file): \(fault.map { "\($0.name): \($0.explanation)" } ?? "the message is not valid")",
            hint: "show the paths with --explain, and all checks with --json")
    }

    /// The number of messages with each verdict.
    var summary: VerificationDocument.Summary {
        .init(
            of: reports.count, valid: reports.count { $0.report.isValid },
            expired: reports.count { $0.report.hasOnlyExpired }, unchecked: unchecked.count)
    }

    /// The failure that determines the exit code, and all failures to print.
    var failures: (first: CommandFailure?, all: [CommandFailure]) {
        let invalid = reports.filter { !$0.report.isValid }
        guard invalid.count > 1, let one = invalid.first else {
            return (first, unchecked.map(\.failure) + invalid.map { Self.failure(of: $0.report, $0.file) })
        }
        let all = Self.failure(of: one.report, one.file).saying(
            "\(invalid.count) of \(reports.count) messages are not valid")
        return (first, unchecked.map(\.failure) + [all])
    }
}
