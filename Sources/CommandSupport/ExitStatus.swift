/// The exit codes of all commands. Scripts depend on the numbers.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case success = 0
    case unexpected = 1
    case wrongPassword = 3
    case unsupportedAlgorithm = 4
    case malformed = 5
    case incomplete = 6
    case validationFailed = 7
    case providerUnavailable = 8
    case noSuchItem = 9
    case refused = 10
    case usage = 64
    case cannotCreate = 73
    case inputOutput = 74
    /// The exit code that a shell shows for a process that SIGPIPE ended: 128 plus the number of the signal.
    case closedOutput = 141

    /// The stable name in JSON errors if no more specific name is known.
    package var name: String {
        switch self {
        case .success: "ok"
        case .unexpected: "unexpected"
        case .wrongPassword: "wrong-password"
        case .unsupportedAlgorithm: "unsupported-algorithm"
        case .malformed: "malformed"
        case .incomplete: "incomplete"
        case .validationFailed: "validation-failed"
        case .providerUnavailable: "provider-unavailable"
        case .noSuchItem: "no-such-item"
        case .refused: "refused"
        case .usage: "usage"
        case .cannotCreate: "cannot-create"
        case .inputOutput: "input-output"
        case .closedOutput: "closed-output"
        }
    }

    /// The description in the table of `--help`.
    package var explanation: String {
        switch self {
        case .success: "ok"
        case .unexpected: "unexpected (a bug)"
        case .wrongPassword: "wrong password"
        case .unsupportedAlgorithm: "unsupported algorithm"
        case .malformed: "malformed: not a PKCS #12 file, not a zip, or damaged DER"
        case .incomplete: "incomplete: a type required by --require is missing"
        case .validationFailed: "validation failed: key mismatch, expired, untrusted, wrong usage"
        case .providerUnavailable: "provider or password service unreachable or failing"
        case .noSuchItem: "no such item, or nothing matches"
        case .refused: "refused: a limit, disabled item, no consent, not entitled, device locked"
        case .usage: "usage: unknown or deprecated type, mixed mechanisms, wrong options"
        case .cannotCreate: "cannot create a file or folder"
        case .inputOutput: "input or output error"
        case .closedOutput: "standard output was closed by its reader (SIGPIPE); no message"
        }
    }

    /// The hint for failures that have no more specific hint; nil if there is no general advice.
    package var usualHint: String? {
        switch self {
        case .success, .usage, .refused, .noSuchItem, .closedOutput: nil
        case .unexpected: "this is a bug; please report it"
        case .wrongPassword: "use the password that the file was encrypted with"
        case .unsupportedAlgorithm:
            "to list the algorithms and the programs that support them: keyshare-consumer inspect --readers FILE"
        case .malformed: "get the file from its source again; inspect shows the contents of a file"
        case .incomplete: "provision or import the type that is missing"
        case .validationFailed: "verify shows the result of each check"
        case .providerUnavailable: "to log the provider's actions: keyshare-provider serve --verbose"
        case .cannotCreate: "choose a writable location"
        case .inputOutput: "check that the file exists and is accessible, and that the disk has free space"
        }
    }

    /// The table of all exit codes, which is at the end of `--help`.
    package static var table: String {
        let lines = allCases.map { status in
            let number = String(status.rawValue)
            return String(repeating: " ", count: 4 - number.count) + number + "  " + status.explanation
        }
        return "EXIT CODES:\n" + lines.joined(separator: "\n")
    }
}
