internal import ArgumentParser
internal import Diagnostics
internal import Glibc

/// The confirmation of something that cannot be undone.
package struct ConfirmationOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Do not ask for confirmation.")
    package var yes = false

    package init() {}

    /// Asks on the terminal, unless `--yes` was given.
    ///
    /// - Throws: `CommandFailure` 10 where the answer is no, or where there is no terminal.
    package func confirm(_ question: String) throws(CommandFailure) {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .notConfirmed, "there is no terminal on which to confirm this",
                hint: "add --yes")
        }
        Console.say("\(question.visible) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else {
            throw CommandFailure(.notConfirmed, "nothing was done")
        }
    }
}
