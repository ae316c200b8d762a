import CertificateReading
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check what was imported, or a file: chain, validity, key match and usage.",
        discussion: """
            Each check passes, fails or was not made. One failed check makes the exit code 7; a private key that \
            cannot be read, such as on a locked device, makes it what show gives. With several labels or files \
            all are tried; the exit code is that of the first failure.

            EXAMPLE:
              keyshare-provider trust -o test-ca.pem
              keyshare-consumer verify --trust test-ca.pem
              keyshare-consumer verify --trust test-ca.pem --file signature.p12 --password-file secret.txt
            """)

    @Argument(help: ArgumentHelp("Labels, or enough of their starts (default: all).", valueName: "label"))
    var labels: [String] = []

    @Option(
        help: ArgumentHelp(
            "Certificates in PEM; the self-signed ones are trusted, the others help to build chains.",
            valueName: "file"))
    var trust: String

    @Option(
        help: ArgumentHelp("Revocation lists in PEM or DER; may be given several times.", valueName: "file"))
    var crl: [String] = []

    @Option(
        help: ArgumentHelp(
            "A policy of which the chain must be valid for at least one, dotted; may be given several times.",
            valueName: "oid"))
    var policy: [String] = []

    @Option(
        help: ArgumentHelp(
            "A PKCS #12 file to check without importing it, with the chain that is in it; may be given several times.",
            valueName: "file"))
    var file: [String] = []

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try password.validate(files: file + crl + [trust])
        guard file.isEmpty || labels.isEmpty else {
            throw ValidationError("labels and --file exclude each other")
        }
        for oid in policy where oid.wholeMatch(of: /[0-2](\.\d+)+/) == nil {
            throw ValidationError("\u{201C}\(oid)\u{201D} is no dotted object identifier")
        }
    }

    func run() throws {
        let console = output.console
        let trustBytes = try InputFile.read(trust, limit: Self.limit)
        let given: [Certificate]
        do throws(CertificateError) {
            given = try Certificate.pem(trustBytes)
        } catch {
            throw CommandFailure(.malformed, "\(trust): \(error.reason)")
        }
        var verifier = CertificateVerifier(trustAnchors: given.filter(\.isSelfIssued))
        verifier.intermediates = given.filter { !$0.isSelfIssued }
        verifier.securityLevel = Self.securityLevel
        verifier.acceptedPolicies = policy
        for path in crl { verifier.revocationLists += try revocationLists(path) }
        let subjects = file.isEmpty ? try heldSubjects() : try fileSubjects()
        let outcomes = subjects.map { $0.map { IdentityVerification($0, verifier, at: clock.now) } }
        let reports = outcomes.compactMap { try? $0.get() }
        let failed = reports.filter { !$0.valid }
        let unchecked = outcomes.compactMap(\.failure)
        let summary = failed.first.map { first in
            first.unread
                ?? CommandFailure(
                    .validationFailed, "\(failed.count) of \(reports.count) identities failed a check")
        }
        let first = outcomes.first { (try? $0.get().valid) != true }
        let failure = first.flatMap { $0.failure?.failure ?? summary }
        let document = VerificationDocument(
            results: reports.map(\.document),
            failures: unchecked.map { VerificationDocument.Failure(item: $0.item, failure: $0.failure) })
        try console.present(
            document, failure: failure, telling: unchecked.map(\.failure) + [summary].compactMap(\.self)
        ) {
            for report in reports { try write(report, console) }
        }
    }

    private static let limit = 16 << 20
    /// Refuses RSA below 2,048 bits, and signatures over SHA-1.
    private static let securityLevel = 2

    private func revocationLists(_ path: String) throws -> [CertificateRevocationList] {
        let bytes = try InputFile.read(path, limit: Self.limit)
        do throws(CertificateError) {
            if bytes.starts(with: Array("-----".utf8)) { return try CertificateRevocationList.pem(bytes) }
            return [try CertificateRevocationList(der: bytes)]
        } catch {
            throw CommandFailure(.malformed, "\(path): \(error.reason)")
        }
    }

    private func heldSubjects() throws -> [Subject] {
        let store = try ConsumerStore(try device.openDevice())
        let identities =
            labels.isEmpty
            ? try store.identities().map { .success($0) }
            : labels.map { label in Result { try store.identity(labelled: label) } }
        guard !identities.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "the keychain holds no identity",
                hint: "import one, or name a file with --file")
        }
        return identities.enumerated().map { index, identity in
            identity.map { identity in
                Candidate(
                    certificate: identity.certificate,
                    privateKey: Result { try store.privateKey(of: identity.summary.label) }, helpers: [])
            }.mapError { UncheckedItem(item: labels[index], failure: CommandFailure($0)) }
        }
    }

    private func fileSubjects() throws -> [Subject] {
        var passwords = PasswordAttempts(given: try password.password())
        return file.flatMap { path -> [Subject] in
            func unchecked(_ error: any Error) -> Subject {
                .failure(UncheckedItem(item: path, failure: CommandFailure(error).naming(path)))
            }
            do {
                let bytes = try InputFile.read(
                    path, limit: reading.limits.fileSize + reading.limits.trailingZeroes)
                return try subjects(in: reading.open(bytes, with: &passwords, named: path), unchecked)
            } catch {
                return [unchecked(error)]
            }
        }
    }

    /// The identities of a file, and the certificates that a key names though they are another's: those fail.
    private func subjects(
        in contents: PKCS12Contents, _ unchecked: (any Error) -> Subject
    ) throws -> [Subject] {
        let pairs =
            contents.identities.map { ($0.certificate, $0.privateKey) }
            + contents.mismatchedKeys.flatMap { key in
                key.namedCertificates.map { ($0, key.privateKey) }
            }
        let subjects = pairs.map { certificate, key in
            Subject.success(
                Candidate(
                    certificate: certificate, privateKey: .success(key), helpers: contents.certificates))
        }
        return subjects + contents.obstacles.filter { $0.code != .keyMismatch }.map { unchecked($0) }
    }

    private func write(_ report: IdentityVerification, _ console: Console) throws {
        try console.data(
            "\(report.type)  \(report.serial)  \(report.label.abbreviated)  \(report.verdict)"
        )
        try console.fields(report.checks.map { (name: "\($0.check): \($0.outcome)", value: $0.explanation) })
    }
}

/// A file or a label, or part of a file, that gave nothing to check.
private struct UncheckedItem: Error {
    let item: String
    let failure: CommandFailure
}

private typealias Subject = Result<Candidate, UncheckedItem>

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

extension CommandFailure {
    /// This failure with the path of the file before its message, where the message does not name the file yet.
    fileprivate func naming(_ path: String) -> CommandFailure {
        message.contains(path) ? self : about(path)
    }
}

/// An identity to check, with the certificates that came with it.
private struct Candidate {
    let certificate: Certificate
    let privateKey: Result<PrivateKey, any Error>
    let helpers: [Certificate]
}

/// The checks of one identity.
private struct IdentityVerification {
    typealias Check = VerificationDocument.Check

    let label: String
    let type: String
    let serial: String
    let valid: Bool
    let checks: [Check]
    /// Why the private key could not be read and compared; nil where it was.
    let unread: CommandFailure?

    var document: VerificationDocument.Result {
        .init(label: label, type: type, serial: serial, valid: valid, checks: checks)
    }

    var verdict: String {
        valid ? "ok" : checks.contains { $0.outcome == Self.failed } ? "FAILED" : "NOT CHECKED"
    }

    private static let failed = Verification.Outcome.failed.word

    init(_ candidate: Candidate, _ verifier: CertificateVerifier, at date: Date) {
        let summary = IdentitySummary(candidate.certificate)
        let type = summary.type(.keySharing2025)
        var verifier = verifier
        verifier.intermediates += candidate.helpers
        verifier.expectedKeyUsage = type.expectedKeyUsage(isEllipticCurve: summary.facts.isEllipticCurve)
        verifier.expectedExtendedKeyUsage = type.expectedExtendedKeyUsage
        let verification = verifier.verify(candidate.certificate, at: date)
        let match: Check
        do {
            let matches = try candidate.privateKey.get().matches(candidate.certificate)
            match = Check(
                check: "key match",
                outcome: (matches ? Verification.Outcome.passed : .failed).word,
                explanation: matches
                    ? "the private key is the certificate's" : "the private key is another one's")
            unread = nil
        } catch {
            let failure = CommandFailure(error)
            match = Check(
                check: "key match", outcome: Verification.Outcome.notChecked.word,
                explanation: failure.message)
            unread = failure
        }
        checks =
            [match]
            + verification.checks.map {
                Check(check: $0.kind.words, outcome: $0.outcome.word, explanation: $0.explanation)
            }
        valid = verification.isValid && match.outcome == Verification.Outcome.passed.word
        label = summary.label
        self.type = type.rawValue
        serial = summary.serialNumber
    }
}

extension Verification.Outcome {
    fileprivate var word: String {
        switch self {
        case .passed: "pass"
        case .failed: "fail"
        case .notChecked: "not checked"
        }
    }
}

extension Verification.Kind {
    fileprivate var words: String {
        switch self {
        case .chain: "chain"
        case .validity: "validity"
        case .keyUsage: "key usage"
        case .extendedKeyUsage: "extended key usage"
        case .policies: "policies"
        case .nameConstraints: "name constraints"
        case .revocation: "revocation"
        case .strength: "strength"
        }
    }
}
