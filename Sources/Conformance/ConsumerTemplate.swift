internal import Foundation
internal import Glibc

/// The command of the consumer under test. Its words contain placeholders for the parts that differ between test
/// vectors.
package struct ConsumerTemplate: Sendable, Hashable {
    /// A placeholder in a word.
    package enum Placeholder: String, Sendable, CaseIterable {
        /// The path of the file. For a test vector of the service, the name of the item.
        case file
        /// The path of a file whose first line is the password.
        case passwordFile = "password-file"
        /// The password itself.
        case password
        /// The path of the trust anchors and authorities, in PEM.
        case trust
        /// The path of the revocation lists of these authorities, in PEM.
        case crl
        /// The path of an empty folder.
        case out
        /// The path of the PKCS #12 file with the key that opens encrypted messages.
        case recipient
        /// The date at which certificates are validated, in ISO 8601.
        case date
    }

    /// The reason why words are not a valid command.
    package enum Problem: Sendable, Hashable {
        /// There are no words.
        case empty
        /// The program does not exist or is not executable.
        case noSuchProgram(String)
        /// No word contains the placeholder of the file.
        case noFile
    }

    /// The result of parsing a command.
    package enum Made: Sendable, Hashable {
        case template(ConsumerTemplate)
        case problem(Problem)
    }

    /// The words of the command, unchanged.
    package let words: [String]
    /// The absolute path of the program.
    package let program: String

    /// Creates a template, and finds the program like a shell.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - path: The folders of programs, separated by colons.
    ///   - needsFile: Whether a word must contain the placeholder of the file.
    /// - Returns: The template, or the reason why the words are not a valid command.
    package static func make(_ words: [String], path: String, needsFile: Bool) -> Made {
        guard let first = words.first, !first.isEmpty else { return .problem(.empty) }
        let candidates =
            first.contains("/")
            ? [first]
            : path.split(separator: ":", omittingEmptySubsequences: false).map {
                ($0.isEmpty ? "." : String($0)) + "/" + first
            }
        guard let program = candidates.first(where: isProgram) else {
            return .problem(.noSuchProgram(first))
        }
        let arguments = words.dropFirst()
        guard !needsFile || arguments.contains(where: { $0.contains("{file}") }) else {
            return .problem(.noFile)
        }
        return .template(ConsumerTemplate(words: words, program: URL(fileURLWithPath: program).path))
    }

    /// The arguments, beginning with the program's name. Replaces every placeholder that has a value. Inserted values
    /// are not searched for placeholders.
    package func arguments(_ values: [Placeholder: String]) -> [String] {
        [words[0]]
            + words.dropFirst().map { word in
                word.replacing(/\{([a-z-]+)\}/) { match in
                    Placeholder(rawValue: String(match.1)).flatMap { values[$0] } ?? String(match.0)
                }
            }
    }

    private static func isProgram(_ path: String) -> Bool {
        var information = stat()
        return unsafe stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }
}
