import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import Glibc

/// The answer of the user to the question of the pasteboard, for runs without a terminal.
struct PasteOptions: ParsableArguments {
    @Flag(help: "Let the consumer read the pasteboard without asking.")
    var allowPaste = false

    @Flag(help: "Do not let the consumer read the pasteboard.")
    var denyPaste = false

    func validate() throws {
        if allowPaste && denyPaste {
            throw ValidationError("--allow-paste and --deny-paste exclude each other")
        }
    }

    /// Whether the user lets `request.reader` read what `request.owner` copied.
    ///
    /// - Throws: `CommandFailure` 10 where there is no terminal to ask on.
    func consent(to request: PasteboardRequest) throws -> Bool {
        if allowPaste || denyPaste { return allowPaste }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .noConsent,
                "there is no terminal on which to allow \(request.reader) to read the pasteboard",
                hint: "add --allow-paste or --deny-paste")
        }
        let question = "\(request.reader) would like to paste from \(request.owner). Allow? [y/N] "
        Console.say(question)
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}
