package import ArgumentParser
internal import Foundation
internal import Glibc

/// Runs a command and turns whatever comes of it into output and exit code.
package enum CommandMain {
    /// The version of package and commands.
    package static let version = "0.1.0"

    /// The name this process was started by, for the front of messages.
    package static var programName: String {
        CommandLine.arguments.first.map { String($0.split(separator: "/").last ?? "keyshare") } ?? "keyshare"
    }

    /// Parses the process's arguments, runs the command they name, and exits.
    package static func run(_ root: any ParsableCommand.Type) async -> Never {
        // A reader that goes away is an error of writing, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            var command = try root.parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            exit(ExitStatus.success.rawValue)
        } catch {
            exit(report(error, of: root, arguments: arguments))
        }
    }

    /// Writes what is to be said of an error, and gives the exit code.
    private static func report(
        _ error: any Error, of root: any ParsableCommand.Type, arguments: [String]
    ) -> Int32 {
        let name = root.configuration.commandName ?? root._commandName
        if root.exitCode(for: error) == .success {
            // Help, version and completion scripts are data that was asked for.
            print(root.fullMessage(for: error))
            return ExitStatus.success.rawValue
        }
        let failure: CommandFailure
        if let reported = error as? ReportedFailure {
            return reported.failure.status.rawValue
        } else if isParserError(error, of: root) {
            let asked = arguments.prefix { !$0.hasPrefix("-") }.prefix(1).joined()
            let help = "\(name)\(isSubcommand(asked, of: root) ? " \(asked)" : "") --help"
            failure = CommandFailure(.usage, root.message(for: error), hint: "see \(help)")
        } else {
            failure = CommandFailure(error)
        }
        Console.failure(failure, of: name)
        if arguments.contains("--json") {
            let console = Console(isJSON: true, verbosity: .quiet, environment: [:])
            try? console.document(FailureDocument(error: .init(failure)))
        }
        return failure.status.rawValue
    }

    private static func isParserError(_ error: any Error, of root: any ParsableCommand.Type) -> Bool {
        !(error is any CommandReportable) && root.exitCode(for: error) == .validationFailure
    }

    private static func isSubcommand(_ name: String, of root: any ParsableCommand.Type) -> Bool {
        root.configuration.subcommands.contains { $0._commandName == name }
    }
}

/// A failure that stands already in the command's own output; only its exit code is left to give.
package struct ReportedFailure: Error {
    package let failure: CommandFailure

    package init(_ failure: CommandFailure) {
        self.failure = failure
    }
}

/// `{"error": {"code", "message", "hint"}}`, alone or inside another document.
package struct FailureDocument: Encodable, Sendable {
    /// What a failure looks like in JSON.
    package struct Body: Encodable, Sendable {
        package let code: String
        package let message: String
        package let hint: String?

        package init(_ failure: CommandFailure) {
            code = failure.code
            message = failure.message
            hint = failure.hint
        }
    }

    package let error: Body
}
