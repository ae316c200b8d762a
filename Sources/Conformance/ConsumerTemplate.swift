internal import Foundation
internal import Glibc

/// The command of the consumer under test: words with places for what differs from one test vector to the next.
package struct ConsumerTemplate: Sendable, Hashable {
    /// What stands in a word for something of the test vector.
    package enum Placeholder: String, Sendable, CaseIterable {
        /// The path of the file; for a test vector of the service, the name of the item.
        case file
        /// The path of a file whose first line is the password.
        case passwordFile = "password-file"
        /// The password itself.
        case password
        /// The path of the trust anchors and authorities, in PEM.
        case trust
        /// The path of their revocation lists, in PEM.
        case crl
        /// The path of an empty folder.
        case out
    }

    /// Why words are no command.
    package enum Problem: Sendable, Hashable {
        /// There is no word.
        case empty
        /// There is no such program, or it cannot be run.
        case noSuchProgram(String)
        /// No word names the file.
        case noFile
    }

    /// What words come to.
    package enum Made: Sendable, Hashable {
        case template(ConsumerTemplate)
        case problem(Problem)
    }

    /// The words as they were given.
    package let words: [String]
    /// The absolute path of the program.
    package let program: String

    /// Finds the program of a command, as a shell does.
    ///
    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - path: the folders of programs, with colons between them.
    ///   - needsFile: whether a word has to name the file.
    /// - Returns: the template, or why the words are none.
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

    /// The arguments, the program's name first, with every placeholder replaced that has a value. What is put in is not
    /// looked at again.
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
