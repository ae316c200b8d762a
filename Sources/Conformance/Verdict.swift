internal import Diagnostics
internal import Foundation
package import TestVectors

/// The verdict on a consumer's behaviour with one test vector.
package enum Verdict: String, Sendable, Hashable, Codable, CaseIterable {
    // Reports sort by this order, the worst verdict first.
    /// The consumer was ended by a signal, or by an exit code that is not among its declared rejections.
    case crash
    /// The consumer exceeded its time limit.
    case hang
    /// The consumer used too much memory or started too many processes.
    case memory
    /// The consumer accepts a defective file.
    case acceptsBad = "accepts-bad"
    /// The consumer rejects a valid file.
    case refusesGood = "refuses-good"
    /// The consumer accepts only a part of a valid file.
    case incomplete
    /// The consumer blames the password although the password is correct.
    case blamesPassword = "blames-password"
    /// The consumer was not run, because the run was stopped.
    case notRun = "not-run"
    /// The consumer behaves correctly.
    case pass

    /// The severity of the verdict. The smallest value is the worst.
    package var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Whether a CI server should report an error rather than a failure, because the consumer gave no answer.
    package var isError: Bool { [.crash, .hang, .memory].contains(self) }

    /// The meaning of the verdict, as a phrase.
    package var explanation: String {
        switch self {
        case .crash: "ended by a signal or an undeclared exit code"
        case .hang: "exceeded its time limit"
        case .memory: "used too much memory or too many processes"
        case .acceptsBad: "accepts a defective file"
        case .refusesGood: "rejects a valid file"
        case .incomplete: "accepts only a part of a valid file"
        case .blamesPassword: "blames the password although it is correct"
        case .notRun: "was not run"
        case .pass: "behaves like a correct consumer"
        }
    }

    /// The recommended action for the consumer's developer.
    package var advice: String {
        switch self {
        case .crash:
            "Run the command on the file under a debugger; anyone who sends such a file can crash the program."
        case .hang: "Check counts and sizes before any work that depends on them, and limit the work."
        case .memory: "Limit the number and size of decoded objects, above the values of any valid file."
        case .acceptsBad: "Reject the file, or show the user its defect, before storing anything."
        case .refusesGood: "Find the rule that rejects it: files like this one are in use."
        case .incomplete: "Import everything in the file, and report each omission with its reason."
        case .blamesPassword:
            "Distinguish a wrong password from a defective file: if the MAC is valid, the password is correct."
        case .notRun: "Run it again."
        case .pass: "Nothing."
        }
    }
}

/// The rules that determine a consumer's answer from its exit code and output.
package struct AnswerReading: Sendable, Hashable {
    /// The exit codes with which the consumer rejects a file. Nil if every exit code except 0 is a rejection.
    package var refusals: Set<Int32>?
    /// The exit codes with which the consumer reports a wrong password.
    package var passwordBlames: Set<Int32> = []
    /// Whether the consumer writes a JSON report to standard output.
    package var hasReports = false
    /// The checks that the consumer claims to make.
    package var claim = TestVectorClaim.parse

    /// Creates the default rules: exit code 0 accepts, and any other exit code rejects.
    package init() {}
}

/// The JSON document that a consumer may write to standard output.
package struct ConsumerReport: Sendable, Hashable, Codable {
    /// The consumer's reason for a rejection.
    package enum Blame: String, Sendable, Hashable, Codable {
        case password, file
    }

    /// The number of imported identities.
    package let identities: Int
    /// The cause that the consumer reported if it rejected something, or nil.
    package let blames: Blame?
    /// The SHA-256 digests of the imported certificates, in hexadecimal. Optional; only the fuzzer compares them.
    package let certificates: [String]?
}

extension AnswerReading {
    /// Judges a consumer's behaviour with a test vector.
    ///
    /// - Returns: The verdict, and the observation that led to it, as a phrase.
    package func judge(
        _ result: ProcessResult, _ vector: TestVectorSuite.Entry, limits: ProcessLimits
    ) -> (verdict: Verdict, seen: String) {
        switch result.end {
        case .overTime: (.hang, "killed after \(limits.time.formatted()) s")
        case .overMemory: (.memory, "killed for using more than \(limits.memory >> 20) MiB of memory")
        case .overProcesses: (.memory, "killed for starting more than \(limits.processes) processes")
        case .stopped: (.notRun, "the run was stopped")
        case .notStarted(let code): (.crash, "not started, errno \(code)")
        case .signal(let number): (.crash, "ended by signal \(number)")
        case .exit(let code): judge(exit: code, report(in: result.output), vector)
        }
    }

    private func judge(
        exit code: Int32, _ report: ConsumerReport?, _ vector: TestVectorSuite.Entry
    ) -> (Verdict, String) {
        let seen =
            "exit code \(code)"
            + (report.map { ", " + counted($0.identities, "identity", "identities") } ?? "")
        if code != 0, let refusals, !refusals.contains(code), !passwordBlames.contains(code) {
            return (.crash, seen + ", which is not a declared rejection")
        }
        let blamesPassword = report.map { $0.blames == .password } ?? passwordBlames.contains(code)
        if blamesPassword, !vector.mayBlamePassword {
            return (.blamesPassword, seen + ", blames the password")
        }
        let expected = vector.expected[claim]
        switch expected.answer {
        case .refuse:
            let took = code == 0 || (report?.identities ?? 0) > 0
            return (took ? .acceptsBad : .pass, seen)
        case .accept:
            if let report, hasReports, report.identities == 0, code == 0, expected.identities ?? 0 > 0 {
                return (.incomplete, seen)
            }
            guard code == 0 else {
                let tookSome = (report?.identities ?? 0) > 0
                return (tookSome && expected.identities != nil ? .incomplete : .refusesGood, seen)
            }
            guard hasReports, let wanted = expected.identities else { return (.pass, seen) }
            guard let report else { return (.incomplete, seen + ", no report on standard output") }
            return (Self.count(report.identities, of: wanted), seen)
        case .acceptSome:
            // An exit code cannot report a partial import. Some programs return 0 for it, and others an error.
            guard hasReports, let wanted = expected.identities else { return (.pass, seen) }
            guard let report else { return (code == 0 ? .incomplete : .refusesGood, seen) }
            if report.identities == 0 { return (.refusesGood, seen) }
            return (Self.count(report.identities, of: wanted), seen)
        case .either:
            if let report, let wanted = expected.identities, report.identities > wanted {
                return (.acceptsBad, seen)
            }
            return (.pass, code == 0 ? seen : seen + ", the stricter of two defensible answers")
        }
    }

    private static func count(_ got: Int, of wanted: Int) -> Verdict {
        got == wanted ? .pass : got < wanted ? .incomplete : .acceptsBad
    }

    /// The report on standard output. Nil if no report is expected, or if the output is not a report.
    func report(in output: [UInt8]) -> ConsumerReport? {
        guard hasReports, CombiningMarks.areFew(inJSON: output) else { return nil }
        return try? JSONDecoder().decode(ConsumerReport.self, from: Data(output))
    }
}
