import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider

struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See that nothing in the keychain was damaged or altered.",
        discussion: """
            Opens every record, holds each identity's certificate, private key, label and summary against each \
            other, and looks at the keychain's tables and who may enter the device's folders. Makes and repairs \
            nothing; ends with 74 where something is wrong. It cannot tell that another program has deleted a \
            record, or put older files of this device in place of the newer ones.

            EXAMPLE:
              keyshare-provider check --json
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let report = try IntegrityReport(of: try device.existingDevice())
        let failure = report.problems.isEmpty ? nil : Self.failure(report.problems)
        if output.json {
            try console.document(
                Document(
                    identities: report.identities, problems: report.problems.map(Document.Problem.init),
                    error: failure.map(FailureDocument.Body.init)))
        } else {
            for problem in report.problems {
                Console.standardError("\(problem.label.map { "\($0): " } ?? "")\(problem.reason)")
            }
        }
        if let failure {
            Console.failure(failure, of: CommandMain.programName)
            throw ReportedFailure(failure)
        }
        console.note("\(counted(report.identities, "identity", "identities")), nothing wrong")
    }

    /// The failure that problems are, for whoever must not go on with them.
    static func failure(_ problems: [IntegrityProblem]) -> CommandFailure {
        let isKeychain = problems.contains { $0.kind != .device }
        return CommandFailure(
            .inputOutput, code: "damaged",
            "the \(isKeychain ? "keychain" : "device") has \(counted(problems.count, "problem", "problems"))",
            hint: !isKeychain
                ? "close the folders to others with chmod 700; keyshare-device reset makes the device anew"
                : problems.contains { $0.kind == .structure }
                    ? KeychainError.remedyOfDamage : KeychainError.remedyOfAlteration)
    }

    private struct Document: Encodable {
        struct Problem: Encodable {
            let kind: String
            let label: String?
            let message: String

            init(_ problem: IntegrityProblem) {
                kind = problem.kind.rawValue
                label = problem.label
                message = problem.reason
            }
        }

        let identities: Int
        let problems: [Problem]
        let error: FailureDocument.Body?
    }
}
