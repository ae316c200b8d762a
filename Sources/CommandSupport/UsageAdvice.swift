internal import Diagnostics
internal import Foundation

/// What the argument parser says of wrong arguments, and what was probably meant.
///
/// The parser guesses too, but only at options, and even where nothing is near: `--dates` for `--name`.
struct UsageAdvice {
    /// What is wrong, without a guess.
    let message: String
    /// What was probably meant; nil where nothing is near.
    let guess: String?

    /// Judges a message of the argument parser, or of a rule of ours about a value.
    ///
    /// - Parameters:
    ///   - message: the message, in which the wrong word is the first in quotation marks.
    ///   - subcommands: the names that could stand at the place of a superfluous argument.
    init(_ message: String, subcommands: [String] = []) {
        var said = message
        var candidates: [String] = []
        if let range = message.range(of: ". Did you mean '") {
            said = String(message[..<range.lowerBound])
            candidates = [String(message[range.upperBound...].prefix { $0 != "'" })]
        } else if message.hasPrefix("Unexpected argument '") {
            candidates = subcommands
        } else if let list = Self.list(in: message) {
            candidates = list.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init)
                .filter { !["or", "and"].contains($0) }
        }
        // The error of a value repeats the value; the parser quotes otherwise than we do.
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

    /// The words that a message lists as those that could stand in place of the wrong one; nil where it lists none.
    private static func list(in message: String) -> Substring? {
        for mark in ["one of the following:", "one of ", "is none of ", "there are "] {
            if let range = message.range(of: mark) { return message[range.upperBound...] }
        }
        return nil
    }

    /// An option without its dashes, which would make short options alike.
    private static func bare(_ word: String) -> String {
        String(word.drop { $0 == "-" })
    }
}
