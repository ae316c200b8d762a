internal import Diagnostics
internal import Foundation

/// The argument parser's message about wrong arguments, and a suggestion.
///
/// The parser's own suggestions cover only options and include dissimilar names, such as `--name` for `--dates`.
struct UsageAdvice {
    /// The error message, without a suggestion.
    let message: String
    /// The suggestion; nil if no name is similar enough.
    let guess: String?

    /// Rewrites a message of the argument parser, or of one of the program's own value checks.
    ///
    /// - Parameters:
    ///   - message: The message. Its first quoted word is the wrong one.
    ///   - subcommands: The permitted names, if the message is about a superfluous argument.
    init(_ message: String, subcommands: [String] = []) {
        var said = message
        var candidates: [String] = []
        if let range = message.range(of: ". Did you mean '") {
            said = String(message[..<range.lowerBound])
            candidates = [String(message[range.upperBound...].prefix { $0 != "'" })]
        } else if message.hasPrefix("Unexpected argument '") {
            candidates = subcommands
        } else if let list = Self.list(in: message) {
            candidates = list.split { !($0.isLetter || $0.isNumber || "-+".contains($0)) }.map(String.init)
                .filter { !["or", "and"].contains($0) }
        }
        // The parser lists several values, one per line. The program's own messages are one line and have no other line
        // feeds.
        said = said.replacingOccurrences(of: "one of the following:\n  - ", with: "one of ")
            .replacingOccurrences(of: "\n  - ", with: ", ")
        // The error about a value contains the value twice, and the parser uses different quotation marks.
        if let range = said.range(of: ">': \u{201C}") {
            said = String(said[said.index(range.upperBound, offsetBy: -1)...])
        }
        let wrong = said.split(
            separator: /['\u{201C}\u{201D}]/, maxSplits: 2, omittingEmptySubsequences: false
        )
        .dropFirst().first.map(
            String.init)
        if message.hasPrefix("Unexpected argument '"), let wrong, !subcommands.isEmpty {
            said = "there is no command \u{201C}\(wrong)\u{201D}"
        }
        self.message = said
        guess = wrong.flatMap { word in
            NearMatch.of(Self.bare(word), among: candidates.map(Self.bare)).flatMap { near in
                candidates.first { Self.bare($0) == near }
            }
        }
    }

    /// Returns the permitted words that a message lists; nil if it lists none.
    private static func list(in message: String) -> Substring? {
        for mark in ["one of the following:", "one of ", "is none of ", "there are "] {
            if let range = message.range(of: mark) { return message[range.upperBound...] }
        }
        return nil
    }

    /// Returns an option without its dashes, which would make short options look similar.
    private static func bare(_ word: String) -> String {
        String(word.drop { $0 == "-" })
    }
}
