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
        _ pool: CertificatePool, _ revocation: RevocationPool,
        skipped: [VerificationDocument.Skipped], _ console: Console
    ) async throws {
        let now = clock.now
        let validator = MessageValidator(
            validation.verifier, pool: pool, revocation: revocation, fetcher: validation.fetcher,
            at: clock.at, now: now)
        var outcome = MessageOutcome()
        var others: [VerificationDocument.Skipped] = []
        for (file, contents) in try await readMessages(pool) {
            switch contents {
            case .success(let contents): outcome.add(await validator.validate(contents), file: file.name)
            case .failure(let error as CMSError) where file.isFound && error.code == .noMessage:
                others.append(.init(file: file.path, reason: error.reason))
            case .failure(let error):
                outcome.add(unchecked: file.name, CommandFailure(error).about(file.name))
            }
        }
        if outcome.isEmpty {
            throw CommandFailure(
                .noSuchItem, "no message was found; skipped \(counted(others.count, "file", "files"))",
                hint: "specify messages, or a folder of messages")
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
            skipped: skipped + others, summary: outcome.summary)
        try console.present(document, failure: failures.first, reporting: failures.all) {
            for (report, file) in outcome.reports {
                try MessageVerdictText(console: console, isExplained: explain).write(report, file: file)
            }
            let count = outcome.summary
            if outcome.reports.count > 1 {
                console.note("\(count.valid) valid, \(count.expired) only expired, \(count.failed) failed")
            }
            Self.note(skipped + others, console)
        }
    }

    /// Reads every message before the first one is judged, because the keys of tokens and aliases are available only
    /// inside a closure.
    private func readMessages(_ pool: CertificatePool) async throws -> [ReadMessage] {
        let files = try message.flatMap(MessageFile.all(at:))
        let secret = try password.password()
        // A message need not contain the certificates of its signers.
        let certificates = pool.certificates
        func read(_ file: MessageFile, keys: @escaping MessageOpener.Keys) -> ReadMessage {
            let scratch = DestinationOptions.scratchFolder
            let reader = MessageReader(
                scratch: scratch, certificates: certificates, securityLevel: validation.securityLevel,
                secret: secret, keys: keys)
            return (file, Result { try file.withContents(scratch: scratch) { try reader.read($0) } })
        }
        if token || alias {
            let origin: MailIdentities.Origin = alias ? .keyChain : .token
            var results: [ReadMessage] = []
            try await MailIdentities.withIdentities(of: access, from: origin, only: nil) { identities in
                results = files.map { read($0, keys: identities.key) }
            }
            return results
        }
        // Signed messages need no keys, so a device is needed only for encrypted ones.
        var identities: MailIdentities?
        return files.map { file in
            read(file) { recipient in
                let held =
                    try identities
                    ?? MailIdentities(ConsumerStore(try access.device.openDevice()), only: nil)
                identities = held
                return try held.key(of: recipient)
            }
        }
    }
}

/// A file and its contents, or the reason why it cannot be read.
private typealias ReadMessage = (file: MessageFile, contents: Result<MessageContents, any Error>)

/// The outcome of one `verify --message` command.
private struct MessageOutcome {
    private(set) var reports: [(report: MessageReport, file: String)] = []
    private(set) var unchecked: [(item: String, failure: CommandFailure)] = []
    /// The first failure in the order of the files; nil if every message is valid.
    private var first: CommandFailure?

    /// Whether no message was read, and no file has failed.
    var isEmpty: Bool { reports.isEmpty && unchecked.isEmpty }

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
