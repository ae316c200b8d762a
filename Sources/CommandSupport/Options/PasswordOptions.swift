package import SecretMemory
package import ArgumentParser
internal import CLinux
internal import Diagnostics
internal import Foundation
internal import Glibc

/// The source of a password. Passwords are never passed as arguments, because every process on the machine can read the
/// arguments of a command.
package struct PasswordOptions: ParsableArguments {
    @Option(
        name: .long, help: ArgumentHelp("Read the password from a file.", valueName: "file"),
        completion: .file())
    package var passwordFile: String?

    @Option(
        name: .long, help: ArgumentHelp("Read the password from an environment variable.", valueName: "var"))
    package var passwordEnv: String?

    @Flag(name: .long, help: "Read the password from standard input.")
    package var passwordStdin = false

    package init() {}

    package func validate() throws {
        let given = [passwordFile != nil, passwordEnv != nil, passwordStdin].filter { $0 }.count
        if given > 1 { throw ValidationError("only one password option is permitted") }
    }

    /// Whether the command line contains one of these options.
    package var isGiven: Bool { passwordFile != nil || passwordEnv != nil || passwordStdin }

    /// Checks that standard input has only one use: one of `files`, or the password.
    ///
    /// - Throws: `ValidationError` if it has several.
    package func validate(files: [String]) throws {
        if files.count(where: { $0 == "-" }) + (passwordStdin || passwordFile == "-" ? 1 : 0) > 1 {
            throw ValidationError("standard input can be used only once")
        }
    }

    /// Returns the password that the options name; nil if they name none.
    ///
    /// - Throws: `CommandFailure`: 74 for a file that cannot be read, 64 for a variable that is not set.
    package func password() throws(CommandFailure) -> SecretBytes? {
        if let passwordFile {
            return try InputFile.firstLine(passwordFile, limit: Self.largest)
        }
        if let passwordEnv {
            guard let value = unsafe getenv(passwordEnv) else {
                throw CommandFailure(.usage, "the environment variable \(passwordEnv) is not set")
            }
            let bytes = unsafe UnsafeRawBufferPointer(start: value, count: strlen(value))
            return unsafe SecretBytes(bytes)
        }
        if passwordStdin {
            return try InputFile.firstLine("-", limit: Self.largest)
        }
        return nil
    }

    /// Asks for a password on the terminal without echo. The question may contain untrusted text. Returns nil if
    /// standard input is not a terminal, or if it ends before the user enters a line.
    package static func prompt(_ question: String) -> SecretBytes? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        Console.say("\(question.visible): ")
        guard clinux_begin_silent_input(STDIN_FILENO) == 0 else { return nil }
        var end = PromptEnd.line
        let answer = try? unsafe SecretBytes(capacity: largest) { buffer throws(CommandFailure) in
            var count = 0
            while count < buffer.count {
                let got = unsafe read(STDIN_FILENO, buffer.baseAddress?.advanced(by: count), 1)
                if got < 0 && errno == EINTR { continue }
                if got != 1 {
                    end = count == 0 ? .nothing : .line
                    break
                }
                if unsafe buffer[count] == UInt8(ascii: "\n") { break }
                if unsafe buffer[count] == Self.interruptCharacter {
                    end = .interrupted
                    break
                }
                count += 1
            }
            return count
        }
        clinux_end_silent_input()
        Console.say("\n")
        if end == .interrupted { raise(SIGINT) }
        return end == .line ? answer : nil
    }

    private enum PromptEnd { case line, nothing, interrupted }

    /// The character that a terminal sends for Ctrl-C.
    private static let interruptCharacter: UInt8 = 3

    /// The maximum length of a password, in bytes.
    package static let largest = 4_096
}
