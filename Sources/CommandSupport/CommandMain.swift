package import ArgumentParser
internal import Foundation
internal import Glibc

/// The command that a program is named after, whose subcommands do the work.
package protocol RootCommand: AsyncParsableCommand {}

extension RootCommand {
    /// Parses the arguments of the process, runs the subcommand that they name, turns the result or the error
    /// into output and an exit code, and ends the process.
    package static func main() async {
        // A reader that closes the pipe makes a write fail; without this the signal would end the process.
        signal(SIGPIPE, SIG_IGN)
        CommandMain.occupyStandardDescriptors()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            var command = try parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            Glibc.exit(ExitStatus.success.rawValue)
        } catch {
            Glibc.exit(CommandMain.report(error, of: Self.self, arguments: arguments))
        }
    }
}

/// The facts about this process that its messages name, and the report of an error.
package enum CommandMain {
    /// The version of the package, which all commands share.
    package static let version = "0.1.0"

    /// The name by which this process was started; every message begins with it.
    package static var programName: String {
        CommandLine.arguments.first.map { String($0.split(separator: "/").last ?? "keyshare") } ?? "keyshare"
    }

    /// Tells the user of an error, and returns the exit code that it has.
    fileprivate static func report(
        _ error: any Error, of root: any ParsableCommand.Type, arguments: [String]
    ) -> Int32 {
        let name = root.configuration.commandName ?? root._commandName
        if root.exitCode(for: error) == .success {
            // The parser throws help, version and completion scripts; they are data that the user asked for.
            do throws(CommandFailure) {
                let console = Console(isJSON: false, verbosity: .normal, environment: [:])
                try console.write(Data((root.fullMessage(for: error) + "\n").utf8))
                return ExitStatus.success.rawValue
            } catch {
                Console.failure(error, of: name)
                return error.status.rawValue
            }
        }
        // A command that a signal ended says nothing: the sender of the signal knows.
        if let code = error as? ExitCode { return code.rawValue }
        let failure: CommandFailure
        if isParserError(error, of: root) {
            let asked = subcommands(in: arguments, of: root).map { " " + $0 }.joined()
            failure = CommandFailure(.usage, root.message(for: error), hint: "see \(name)\(asked) --help")
        } else {
            failure = CommandFailure(error)
        }
        if failure.isReported { return failure.status.rawValue }
        Console.failure(failure, of: name)
        if arguments.prefix(while: { $0 != "--" }).contains("--json") {
            let console = Console(isJSON: true, verbosity: .quiet, environment: [:])
            try? console.document(FailureDocument(failure))
        }
        return failure.status.rawValue
    }

    /// Whether the argument parser refused the arguments.
    private static func isParserError(_ error: any Error, of root: any ParsableCommand.Type) -> Bool {
        !(error is any ReportableFailure) && root.exitCode(for: error) == .validationFailure
    }

    /// The names of the subcommands with which the arguments begin.
    private static func subcommands(in arguments: [String], of root: any ParsableCommand.Type) -> [String] {
        guard let name = arguments.first,
            let subcommand = root.configuration.subcommands.first(where: { $0._commandName == name })
        else { return [] }
        return [name] + subcommands(in: Array(arguments.dropFirst()), of: subcommand)
    }

    /// Opens /dev/null on each standard descriptor that is closed. Otherwise the first file that the command
    /// opens would get that descriptor, and the text that the command prints.
    fileprivate static func occupyStandardDescriptors() {
        while true {
            let descriptor = unsafe open("/dev/null", O_RDWR)
            guard (0...STDERR_FILENO).contains(descriptor) else {
                if descriptor > STDERR_FILENO { close(descriptor) }
                return
            }
        }
    }
}
