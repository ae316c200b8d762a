internal import ArgumentParser
package import DeviceSimulation
package import KeySharing
internal import Foundation

/// A shell's completion request: the words of the command line and the position of the word to complete.
///
/// If anything fails, for example because the device is missing, there are no candidates and no message. A shell would
/// print the message into the line that is being typed.
package struct CompletionRequest: Sendable {
    /// The words of the command line as typed, including quotes and backslashes.
    private let words: [String]
    /// The index of the word to complete in ``words``.
    private let index: Int
    /// The part of the word that precedes the cursor.
    package let prefix: String

    /// Creates a request from the arguments that swift-argument-parser passes to a custom completion.
    package init(_ words: [String], _ index: Int, _ prefix: String) {
        (self.words, self.index, self.prefix) = (words, index, prefix)
    }

    /// Returns the values that an option has elsewhere on the line.
    ///
    /// - Parameter option: The option with its dashes.
    package func values(of option: String) -> [String] {
        words.indices.compactMap { place -> String? in
            guard place != index else { return nil }
            if words[place].hasPrefix(option + "=") {
                return Self.unquoted(words[place].dropFirst(option.count + 1))
            }
            return place > 0 && words[place - 1] == option ? Self.unquoted(words[place][...]) : nil
        }
    }

    /// Returns whether this word is elsewhere on the line.
    package func contains(_ word: String) -> Bool {
        words.indices.contains { $0 != index && words[$0] == word }
    }

    /// The device that is specified on the line or in the environment; nil if it does not exist. The device is not
    /// changed.
    package var device: Device? {
        let folder = values(of: "--device").last
        return try? DeviceOptions.parse(folder.map { ["--device", $0] } ?? []).untouchedDevice()
    }

    /// The path of the provider's socket on the line or in the environment; nil if neither contains it.
    package var socket: String? {
        let named = values(of: "--socket").last
        guard let options = try? SocketOptions.parse(named.map { ["--socket", $0] } ?? []) else { return nil }
        if let path = options.named { return path }
        return device.flatMap { try? options.path(of: $0) }
    }

    /// Returns the candidates that begin with the typed text, at most ``mostCandidates``, because a longer list would
    /// be useless. The candidates must not contain characters that have a meaning for the shell.
    package func matching(_ candidates: some Sequence<String>) -> [String] {
        Array(candidates.lazy.filter { $0.hasPrefix(prefix) }.prefix(Self.mostCandidates))
    }

    /// Returns the candidates that begin with the typed text and are not yet on the line. In contrast to ``matching``, the
    /// candidates may contain spaces and other characters that have a meaning for the shell.
    package func matchingTexts(_ candidates: some Sequence<String>) -> [String] {
        let given = Set(words.indices.filter { $0 != index }.map { Self.unquoted(words[$0][...]) })
        return quoted(candidates.lazy.filter { !given.contains($0) })
    }

    /// Returns the candidates that begin with the typed text, quoted for the shell. Candidates with control characters
    /// are omitted, because each line is a candidate.
    private func quoted(_ candidates: some Sequence<String>) -> [String] {
        let typed = typed
        let found = candidates.lazy.filter { text in
            text.hasPrefix(typed)
                && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        let shell = CompletionShell.requesting
        return found.prefix(Self.mostCandidates).map { text in
            // The script for bash expands candidates like words of a command, even command substitutions.
            if shell == .bash { return text.quotedForShell }
            // In zsh, a description follows a colon.
            return shell == .zsh ? text.replacingScalars { $0 == ":" ? "\\:" : nil } : text
        }
    }

    /// The typed text without quotes and backslashes.
    private var typed: String { Self.unquoted(prefix[...]) }

    /// Returns the candidates for another value of a repeatable option.
    package func remaining(_ candidates: [String], of option: String) -> [String] {
        let given = Set(values(of: option))
        return matching(candidates.filter { !given.contains($0) })
    }

    /// Returns the candidates for the last element of a comma-separated list. Each candidate includes the text before
    /// it. Elements that are already in the list are omitted.
    package func list(of candidates: [String]) -> [String] {
        let parts = prefix.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let before = parts.dropLast()
        return matching(
            candidates.filter { !before.contains($0) }.map { (before + [$0]).joined(separator: ",") })
    }

    /// Returns the names of the items at the root. If the typed text contains a slash, as in `Encryption/`, returns the
    /// paths of the items in that folder.
    ///
    /// - Parameter items: A function that lists a container.
    package func itemNames(
        _ items: (_ container: String) async throws -> [Item]
    ) async -> [String] {
        let typed = typed
        guard let slash = typed.firstIndex(of: "/") else {
            let root = (try? await items(Item.root)) ?? []
            return quoted(root.map { $0.kind == .folder ? $0.filename + "/" : $0.filename })
        }
        let container = ItemLookup.container(String(typed[..<slash]))
        let held = (try? await items(container)) ?? []
        return quoted(held.map { typed[...slash] + $0.filename })
    }

    /// Returns the folders, and the files with these extensions, that continue the typed path.
    package func paths(extensions: Set<String>) -> [String] {
        let typed = typed
        let folder = typed.lastIndex(of: "/").map { String(typed[...$0]) } ?? ""
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
        return quoted(
            names.sorted().filter { !$0.hasPrefix(".") }.compactMap { name in
                var isFolder: ObjCBool = false
                let path = folder + name
                guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
                    return nil
                }
                if isFolder.boolValue { return path + "/" }
                return name.split(separator: ".").last.map { extensions.contains(String($0)) } == true
                    ? path : nil
            })
    }

    /// The maximum number of completion candidates.
    package static let mostCandidates = 1_000

    /// Removes the quotes and backslashes of a word, as the shell does. Variables and commands are not expanded.
    private static func unquoted(_ word: Substring) -> String {
        var text = ""
        var quote: Character?
        var isEscaped = false
        for character in word {
            if isEscaped {
                text.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            } else {
                text.append(character)
            }
        }
        if word.hasPrefix("~/") { text = NSHomeDirectory() + text.dropFirst() }
        return text
    }
}
