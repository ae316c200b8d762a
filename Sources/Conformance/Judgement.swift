internal import Foundation
package import TestCredentials

/// What a consumer under test made of a test vector.
package enum Verdict: String, Sendable, Hashable, Codable, CaseIterable {
    // The worst comes first: reports sort by it.
    /// It was ended by a signal, or by an exit code that it does not say is a refusal.
    case crash
    /// It did not end in its time.
    case hang
    /// It took too much memory, or started too many processes.
    case memory
    /// It takes what is not sound.
    case acceptsBad = "accepts-bad"
    /// It refuses what is sound.
    case refusesGood = "refuses-good"
    /// It takes less than there is.
    case incomplete
    /// It says that the password is wrong where it is not.
    case blamesPassword = "blames-password"
    /// It was not run, because the run was ended.
    case notRun = "not-run"
    /// As a correct consumer does.
    case pass

    /// How bad the verdict is; the smallest is the worst.
    package var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Whether a CI server should call it an error rather than a failure: there is no answer at all.
    package var isError: Bool { [.crash, .hang, .memory].contains(self) }

    /// What the verdict says, as a phrase.
    package var explanation: String {
        switch self {
        case .crash: "ended by a signal or an exit code that is no answer"
        case .hang: "did not end in its time"
        case .memory: "took too much memory or too many processes"
        case .acceptsBad: "takes what is not sound"
        case .refusesGood: "refuses what is sound"
        case .incomplete: "takes less than there is"
        case .blamesPassword: "says that the password is wrong where it is not"
        case .notRun: "was not run"
        case .pass: "does as a correct consumer"
        }
    }

    /// What to do about it.
    package var advice: String {
        switch self {
        case .crash:
            "Run the command on the file under a debugger; whoever sends such a file ends the program."
        case .hang: "Look at counts and sizes before any work that depends on them, and bound the work."
        case .memory: "Count what is read and made, and stop at a limit that no good file reaches."
        case .acceptsBad: "Refuse it, or show to whom it matters what is wrong, before anything is stored."
        case .refusesGood: "Find the rule that refuses it: files like it are in use."
        case .incomplete: "Take everything that the file holds, and say what is left out and why."
        case .blamesPassword:
            "Tell a wrong password from a bad file: once the MAC holds, the password is right."
        case .notRun: "Run it again."
        case .pass: "Nothing."
        }
    }
}

/// How the answer of a consumer is read off what it leaves behind.
package struct AnswerReading: Sendable, Hashable {
    /// The exit codes by which it refuses; nil where every one but 0 does.
    package var refusals: Set<Int32>?
    /// The exit codes by which it says that the password is wrong.
    package var passwordBlames: Set<Int32> = []
    /// Whether it reports in JSON on standard output.
    package var hasReports = false
    /// What it claims to check.
    package var claim = TestVectorClaim.parse

    /// The usual way: 0 accepts, anything else refuses.
    package init() {}
}

/// The document that a consumer reports with on its standard output.
package struct ConsumerReport: Sendable, Hashable, Codable {
    /// What a consumer says is to blame.
    package enum Blame: String, Sendable, Hashable, Codable {
        case password, file
    }

    /// How many identities it took.
    package let identities: Int
    /// What is to blame where it does not take everything; nil for nothing.
    package let blames: Blame?
}

extension AnswerReading {
    /// Judges what a consumer did with a test vector.
    ///
    /// - Returns: the verdict, and what was seen that led to it, as a phrase.
    package func judge(
        _ result: ProcessResult, _ vector: TestVectorSuite.Entry, limits: ProcessLimits
    ) -> (verdict: Verdict, seen: String) {
        switch result.end {
        case .overTime: (.hang, "killed after \(limits.time.formatted()) s")
        case .overMemory: (.memory, "killed beyond \(limits.memory >> 20) MiB of memory")
        case .overProcesses: (.memory, "killed beyond \(limits.processes) processes")
        case .stopped: (.notRun, "the run was ended")
        case .notStarted(let code): (.crash, "not started, errno \(code)")
        case .signal(let number): (.crash, "ended by signal \(number)")
        case .exit(let code): judge(exit: code, report(in: result.output), vector)
        }
    }

    private func judge(
        exit code: Int32, _ report: ConsumerReport?, _ vector: TestVectorSuite.Entry
    ) -> (Verdict, String) {
        let seen = "exit code \(code)" + (report.map { ", \($0.identities) identities" } ?? "")
        if code != 0, let refusals, !refusals.contains(code), !passwordBlames.contains(code) {
            return (.crash, seen + ", which is no refusal")
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
            // An exit code cannot say that a part was taken: both kinds of programs are in use.
            guard hasReports, let wanted = expected.identities else { return (.pass, seen) }
            guard let report else { return (code == 0 ? .incomplete : .refusesGood, seen) }
            if report.identities == 0 { return (.refusesGood, seen) }
            return (Self.count(report.identities, of: wanted), seen)
        }
    }

    private static func count(_ got: Int, of wanted: Int) -> Verdict {
        got == wanted ? .pass : got < wanted ? .incomplete : .acceptsBad
    }

    /// The report on standard output; nil where none is asked for, or what is there is none.
    private func report(in output: [UInt8]) -> ConsumerReport? {
        hasReports ? try? JSONDecoder().decode(ConsumerReport.self, from: Data(output)) : nil
    }
}
