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
        occupyStandardDescriptors()
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
            do throws(CommandFailure) {
                let console = Console(isJSON: false, verbosity: .normal, environment: [:])
                try console.write(Data((root.fullMessage(for: error) + "\n").utf8))
                return ExitStatus.success.rawValue
            } catch {
                Console.failure(error, of: name)
                return error.status.rawValue
            }
        }
        // Nothing is to be said: whoever sent the signal knows.
        if let code = error as? ExitCode { return code.rawValue }
        let failure: CommandFailure
        if let reported = error as? ReportedFailure {
            return reported.failure.status.rawValue
        } else if isParserError(error, of: root) {
            let asked = subcommands(in: arguments, of: root).map { " " + $0 }.joined()
            failure = CommandFailure(.usage, root.message(for: error), hint: "see \(name)\(asked) --help")
        } else {
            failure = CommandFailure(error)
        }
        Console.failure(failure, of: name)
        if arguments.prefix(while: { $0 != "--" }).contains("--json") {
            let console = Console(isJSON: true, verbosity: .quiet, environment: [:])
            try? console.document(FailureDocument(error: .init(failure)))
        }
        return failure.status.rawValue
    }

    private static func isParserError(_ error: any Error, of root: any ParsableCommand.Type) -> Bool {
        !(error is any CommandReportable) && root.exitCode(for: error) == .validationFailure
    }

    /// The names of the subcommands that the arguments begin with.
    private static func subcommands(in arguments: [String], of root: any ParsableCommand.Type) -> [String] {
        guard let name = arguments.first,
            let subcommand = root.configuration.subcommands.first(where: { $0._commandName == name })
        else { return [] }
        return [name] + subcommands(in: Array(arguments.dropFirst()), of: subcommand)
    }

    /// Opens what stands for nothing on the standard descriptors that are closed, lest the first file to be
    /// opened gets one of them and the command's text with it.
    private static func occupyStandardDescriptors() {
        while true {
            let descriptor = unsafe open("/dev/null", O_RDWR)
            guard (0...STDERR_FILENO).contains(descriptor) else {
                if descriptor > STDERR_FILENO { close(descriptor) }
                return
            }
        }
    }
}

/// A failure that stands already in the command's own output; only its exit code is left to give.
package struct ReportedFailure: Error {
    package let failure: CommandFailure

    package init(_ failure: CommandFailure) {
        self.failure = failure
    }
}
