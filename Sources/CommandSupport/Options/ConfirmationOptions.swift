internal import ArgumentParser
internal import Glibc

/// Whether something that cannot be undone is meant.
package struct ConfirmationOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Do not ask.")
    package var yes = false

    package init() {}

    /// Asks on the terminal, unless `--yes` was given.
    ///
    /// - Throws: `CommandFailure` 10 where the answer is no, or nobody is there to answer.
    package func confirm(_ question: String) throws(CommandFailure) {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .refused, code: "not-confirmed", "nobody is there to confirm this", hint: "add --yes")
        }
        Console.say("\(question) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else {
            throw CommandFailure(.refused, code: "not-confirmed", "nothing was done")
        }
    }
}
