/// The outcome of a conformance run.
package enum ConformanceOutcome: Sendable {
    /// The consumer ran on the test vectors. `files` contains their files by the names of the test vectors.
    case report(ConformanceReport, files: [String: [UInt8]])
    /// The consumer cannot be run, and nothing was judged.
    case unusable(UnusableConsumer)
}

/// A consumer that cannot be run: it did not start, reported a usage error, or failed in the same way on several valid
/// files.
package struct UnusableConsumer: Sendable, Hashable {
    /// The consumer's behaviour, as a clause without a full stop.
    package let reason: String
    /// Standard error of the consumer, shortened if it is long.
    package let stderr: String
}

/// Decides from the first valid test vectors whether a consumer can be run at all.
///
/// Without this check, a mistake in the command, such as a wrong option, would cause a false verdict for every test
/// vector.
struct UsabilityCheck {
    /// The decision after a run.
    enum Answer: Equatable {
        case usable
        case unusable(UnusableConsumer)
        /// Undecided; another run is needed.
        case open
    }

    /// The maximum number of valid test vectors to try.
    static let runs = 3

    private let reading: AnswerReading
    private var failures: [(code: Int32, errors: String)] = []

    init(reading: AnswerReading) {
        self.reading = reading
    }

    /// Adds the result of a run on a valid test vector.
    ///
    /// - Parameter varying: The parts of the arguments that differ between test vectors. They do not count as a
    ///   difference between two outputs.
    mutating func add(_ run: ProcessResult, varying: [String]) -> Answer {
        func unusable(_ reason: String) -> Answer {
            .unusable(UnusableConsumer(reason: reason, stderr: run.excerpt))
        }
        if case .notStarted(let code) = run.end { return unusable("cannot be started, errno \(code)") }
        guard let code = run.end.exitCode, code != 0 else { return .usable }
        if failures.isEmpty, !isRefusal(code), let reason = Self.commandErrors[code] {
            return unusable("ended with exit code \(code), \(reason), on a valid file")
        }
        var errors = String(decoding: run.errors, as: UTF8.self)
        for text in varying {
            errors = errors.split(separator: text, omittingEmptySubsequences: false).joined()
        }
        // Without a message, a wrong command cannot be distinguished from a consumer that rejects everything.
        guard !errors.isEmpty, failures.allSatisfy({ $0 == (code, errors) }) else { return .usable }
        failures.append((code, errors))
        guard failures.count == Self.runs else { return .open }
        return unusable(
            "failed in the same way on the first \(Self.runs) valid files, with exit code \(code)")
    }

    private func isRefusal(_ code: Int32) -> Bool {
        reading.refusals?.contains(code) == true || reading.passwordBlames.contains(code)
    }

    /// The exit codes with which shells and programs report that a command is wrong (sysexits.h, and POSIX, 2.8.2).
    private static let commandErrors: [Int32: String] = [
        64: "which reports wrong usage", 126: "which reports a program that cannot be run",
        127: "which reports a missing program",
    ]
}

extension ProcessResult {
    /// Standard error, as quoted in reports: the first line and the end if it is long.
    var excerpt: String {
        guard errors.count > 2_000 else { return String(decoding: errors, as: UTF8.self) }
        let first = errors.prefix(200).prefix { $0 != 0x0A }
        return String(decoding: first, as: UTF8.self) + "\n\u{2026}\n"
            + String(decoding: errors.suffix(1_790), as: UTF8.self)
    }
}
