/// What a command's exit code says; scripts depend on the numbers.
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
    /// What a shell shows of a process that SIGPIPE ended: 128 and the number of the signal.
    case closedOutput = 141

    /// The stable name that JSON errors carry where nothing more exact is known.
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

    /// One line of the table in `--help`.
    package var explanation: String {
        switch self {
        case .success: "ok"
        case .unexpected: "unexpected (a bug)"
        case .wrongPassword: "wrong password"
        case .unsupportedAlgorithm: "unsupported algorithm"
        case .malformed: "malformed: no PKCS #12, no zip, broken DER"
        case .incomplete: "incomplete: a type that --require asked for is missing"
        case .validationFailed: "validation failed: key mismatch, expired, untrusted, wrong usage"
        case .providerUnavailable: "provider or password service not reachable or failing"
        case .noSuchItem: "no such item, or nothing matches"
        case .refused: "refused: a limit, disabled item, no consent, not entitled, device locked"
        case .usage: "usage: unknown or deprecated type, mixed mechanisms, wrong options"
        case .cannotCreate: "cannot create a file or folder"
        case .inputOutput: "input or output error"
        case .closedOutput: "who read standard output closed it; nothing is said"
        }
    }

    /// What usually helps, where a failure has no better advice of its own; nil where nothing does.
    var usualHint: String? {
        switch self {
        case .success, .usage, .refused, .noSuchItem, .closedOutput: nil
        case .unexpected: "this is a bug; please report it"
        case .wrongPassword: "give the password that the file was written with"
        case .unsupportedAlgorithm: "inspect with --readers names the algorithms and who reads them"
        case .malformed: "get the file anew from where it was written; inspect says what is in one"
        case .incomplete: "provision or import the type that is missing"
        case .validationFailed: "verify says of each check whether it passed"
        case .providerUnavailable: "the provider says what it does with: keyshare-provider serve --verbose"
        case .cannotCreate: "name a place that can be written to"
        case .inputOutput: "look whether the file is there, who may use it, and whether the disk has room"
        }
    }

    /// The whole table, for the end of `--help`.
    package static var table: String {
        let lines = allCases.map { status in
            let number = String(status.rawValue)
            return String(repeating: " ", count: 4 - number.count) + number + "  " + status.explanation
        }
        return "EXIT CODES:\n" + lines.joined(separator: "\n")
    }
}
