package import ArgumentParser
internal import CLinux
internal import Foundation
internal import Glibc

/// The root command of a program. Its subcommands do the work.
package protocol RootCommand: AsyncParsableCommand {}

extension RootCommand {
    /// Checks and parses the process arguments, runs the subcommand, converts the result or the error into output and
    /// an exit code, and ends the process.
    package static func main() async {
        // Without this, SIGPIPE would end the process when the reader of its output closes the pipe. Now the write
        // fails instead.
        signal(SIGPIPE, SIG_IGN)
        CommandMain.occupyStandardDescriptors()
        // Nearly every command reads a password or a private key. A core dump would store it on disk.
        guard clinux_refuse_core_dumps() == 0 else {
            Console.standardError("\(CommandMain.programName): cannot disable core dumps of this process")
            Glibc.exit(ExitStatus.inputOutput.rawValue)
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            try InvocationText.requireUTF8()
            var command = try await asyncParseAsRoot(arguments)
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

/// The name and the version of the running program, and the reporting of its errors.
package enum CommandMain {
    /// The version of this build, shared by all commands.
    package static let version = BuildVersion.version(release: release, file: BuildVersion.installedFile)

    /// The newest version of the changelog.
    package static let release = "0.1.0"

    /// The name under which this process was started. Every message begins with it.
    package static var programName: String {
        CommandLine.arguments.first.map { String($0.split(separator: "/").last ?? "keyshare") } ?? "keyshare"
    }

    /// Ends the process with a failure before a command is parsed.
    package static func refuse(_ failure: CommandFailure) -> Never {
        Console.failure(failure)
        Glibc.exit(failure.status.rawValue)
    }

    /// Prints the error of a command, and returns the exit code.
    fileprivate static func report(
        _ error: any Error, of root: any ParsableCommand.Type, arguments: [String]
    ) -> Int32 {
        let name = root.configuration.commandName ?? root._commandName
        if root.exitCode(for: error) == .success {
            // The parser throws help, version and completion scripts as errors. They are requested output.
            do throws(CommandFailure) {
                let console = Console(
                    isJSON: false, verbosity: .normal, environment: Console.variables)
                let text = root.fullMessage(for: error, columns: HelpText.unbroken)
                let fitted = HelpText(text)?.wrapped(to: (console.width ?? 80) - 1) ?? text
                try console.write(Data((fitted + "\n").utf8))
                return ExitStatus.success.rawValue
            } catch {
                if !error.isReported { Console.failure(error, of: name) }
                return error.status.rawValue
            }
        }
        // Print no message for a completion request, because the shell would insert it into the line that is being
        // typed.
        if arguments.first == "---completion" { return ExitStatus.usage.rawValue }
        // A command that was ended by a signal prints no message.
        if let code = error as? ExitCode { return code.rawValue }
        let failure: CommandFailure
        if isParserError(error, of: root) {
            let asked = Self.command(in: arguments, of: root)
            let advice = UsageAdvice(
                root.message(for: error), subcommands: asked.subcommands)
            let guess = advice.guess.map { "did you mean \u{201C}\($0)\u{201D}? " } ?? ""
            let path = ([name] + asked.names).joined(separator: " ")
            failure = CommandFailure(.usage, advice.message, hint: "\(guess)see \(path) --help")
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

    /// Returns whether the argument parser rejected the arguments.
    private static func isParserError(_ error: any Error, of root: any ParsableCommand.Type) -> Bool {
        !(error is any ReportableFailure) && root.exitCode(for: error) == .validationFailure
    }

    /// Finds the subcommand at the start of the arguments. Returns the names that lead to it, and the names of its own
    /// subcommands.
    private static func command(
        in arguments: [String], of root: any ParsableCommand.Type
    ) -> (names: [String], subcommands: [String]) {
        guard let name = arguments.first,
            let subcommand = root.configuration.subcommands.first(where: { $0._commandName == name })
        else { return ([], root.configuration.subcommands.map { $0._commandName }) }
        let deeper = Self.command(in: Array(arguments.dropFirst()), of: subcommand)
        return ([name] + deeper.names, deeper.subcommands)
    }

    /// Opens /dev/null on each closed standard descriptor. Otherwise the first file that the command opens would get
    /// that descriptor, and the command's output would be written into it.
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
