internal import ArgumentParser
internal import Diagnostics
internal import Glibc

/// The option that confirms an irreversible action in advance.
package struct ConfirmationOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Do not ask for confirmation.")
    package var yes = false

    package init() {}

    /// Asks for confirmation on the terminal, unless `--yes` was given.
    ///
    /// - Throws: `CommandFailure` 10 if the user declines, or if there is no terminal.
    package func confirm(_ question: String) throws(CommandFailure) {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .notConfirmed, "confirmation requires a terminal",
                hint: "add --yes")
        }
        Console.say("\(question.visible) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else {
            throw CommandFailure(.notConfirmed, "nothing was done")
        }
    }
}
