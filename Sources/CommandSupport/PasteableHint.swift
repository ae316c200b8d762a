internal import Foundation

/// Completes the commands in hints.
///
/// If a hint contains a command, the command is at the end, so that it can be pasted. It uses the same device as the
/// failed command, and its file names are quoted for the shell.
enum PasteableHint {
    /// Returns the hint with this run's `--device` and `--socket` added to the command at its end.
    ///
    /// - Parameters:
    ///   - hint: The hint, with or without a command.
    ///   - arguments: The arguments of this run.
    static func complete(
        _ hint: String, arguments: [String] = Array(CommandLine.arguments.dropFirst())
    ) -> String {
        guard let start = hint.range(of: "keyshare-", options: .backwards)?.lowerBound,
            !hint[start...].contains("--help"), !hint[start...].contains("--device")
        else { return hint }
        let command = hint[start...]
        let isToken = command.hasPrefix("keyshare-consumer token ")
        let subcommand = String(command.split(separator: " ").dropFirst().first ?? "")
        let connects = isToken || ["serve", "browse", "import", "explain"].contains(subcommand)
        let options = ["--device"] + (connects ? ["--socket"] : [])
        return options.reduce(hint) { hint, option in
            value(of: option, in: arguments).map { "\(hint) \(option) \($0.quotedForShell)" } ?? hint
        }
    }

    /// Returns the value of an option in the arguments; nil if the option is missing.
    private static func value(of option: String, in arguments: [String]) -> String? {
        let options = arguments.prefix { $0 != "--" }
        if let place = options.firstIndex(of: option), place + 1 < options.endIndex {
            return options[place + 1]
        }
        return options.first { $0.hasPrefix(option + "=") }.map { String($0.dropFirst(option.count + 1)) }
    }
}
