import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import Glibc

/// The user's answer to the pasteboard prompt, for runs without a terminal.
struct PasteOptions: ParsableArguments {
    @Flag(help: "Let the consumer read the pasteboard without asking.")
    var allowPaste = false

    @Flag(help: "Do not let the consumer read the pasteboard.")
    var denyPaste = false

    func validate() throws {
        if allowPaste && denyPaste {
            throw ValidationError("--allow-paste and --deny-paste cannot be combined")
        }
    }

    /// Returns whether the user permits `request.reader` to read the content that `request.owner` copied.
    ///
    /// - Throws: `CommandFailure` 10 if there is no terminal for the prompt.
    func consent(to request: PasteboardRequest) throws -> Bool {
        if allowPaste || denyPaste { return allowPaste }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .noConsent,
                "no terminal is available to allow \(request.reader) to read the pasteboard",
                hint: "add --allow-paste or --deny-paste")
        }
        let question = "\(request.reader) would like to paste from \(request.owner). Allow? [y/N] "
        Console.say(question)
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}
