internal import ArgumentParser
package import DeviceSimulation
package import KeySharing
internal import Foundation

/// What a shell asks when TAB is pressed: the words of the command line, and which of them is to be completed.
///
/// Whatever is wrong, such as a device that is not there, gives no candidates and no message: a shell would print it
/// into the line that is being typed.
package struct CompletionRequest: Sendable {
    /// The words of the command line as they were typed, quotes and backslashes included.
    private let words: [String]
    /// The place of the word that is to be completed among ``words``.
    private let index: Int
    /// The part of that word before the cursor.
    package let prefix: String

    /// Takes what swift-argument-parser passes to a custom completion.
    package init(_ words: [String], _ index: Int, _ prefix: String) {
        (self.words, self.index, self.prefix) = (words, index, prefix)
    }

    /// The values that an option has elsewhere on the line.
    ///
    /// - Parameter option: the option with its dashes.
    package func values(of option: String) -> [String] {
        words.indices.compactMap { place -> String? in
            guard place != index else { return nil }
            if words[place].hasPrefix(option + "=") {
                return Self.unquoted(words[place].dropFirst(option.count + 1))
            }
            return place > 0 && words[place - 1] == option ? Self.unquoted(words[place][...]) : nil
        }
    }

    /// Whether a word elsewhere on the line is this one.
    package func contains(_ word: String) -> Bool {
        words.indices.contains { $0 != index && words[$0] == word }
    }

    /// The device that the line or the environment names; nil where there is none. It is left as it is.
    package var device: Device? {
        let folder = values(of: "--device").last
        return try? DeviceOptions.parse(folder.map { ["--device", $0] } ?? []).untouchedDevice()
    }

    /// The path of the provider's socket that the line or the environment names; nil where there is none.
    package var socket: String? {
        let named = values(of: "--socket").last
        guard let options = try? SocketOptions.parse(named.map { ["--socket", $0] } ?? []) else { return nil }
        if let path = options.named { return path }
        return device.flatMap { try? options.path(of: $0, making: false) }
    }

    /// The candidates that begin with what was typed. There are at most ``mostCandidates``: nobody chooses from more.
    package func matching(_ candidates: some Sequence<String>) -> [String] {
        Array(candidates.lazy.filter { $0.hasPrefix(prefix) }.prefix(Self.mostCandidates))
    }

    /// The candidates for one more value of an option that may be given several times.
    package func remaining(_ candidates: [String], of option: String) -> [String] {
        let given = Set(values(of: option))
        return matching(candidates.filter { !given.contains($0) })
    }

    /// The candidates for the last part of a list that is separated by commas: each with what stands before it, and
    /// without the parts that the list has already.
    package func list(of candidates: [String]) -> [String] {
        let parts = prefix.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let before = parts.dropLast()
        return matching(
            candidates.filter { !before.contains($0) }.map { (before + [$0]).joined(separator: ",") })
    }

    /// The names by which items can be called: those of the root, or those of the folder that was begun to be typed,
    /// as `Encryption/` and a file name.
    ///
    /// - Parameter items: lists a container.
    package func itemNames(
        _ items: (_ container: String) async throws -> [Item]
    ) async -> [String] {
        guard let slash = prefix.firstIndex(of: "/") else {
            let root = (try? await items(Item.root)) ?? []
            return matching(root.map { $0.kind == .folder ? $0.filename + "/" : $0.filename })
        }
        let container = ItemLookup.container(String(prefix[..<slash]))
        let held = (try? await items(container)) ?? []
        return matching(held.map { prefix[...slash] + $0.filename })
    }

    /// The folders and the files of these extensions that go on with the path that was begun to be typed.
    package func paths(extensions: Set<String>) -> [String] {
        let folder = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
        return matching(
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

    /// The most candidates that are offered.
    package static let mostCandidates = 1_000

    /// A word as the shell would pass it, but for variables and commands in it.
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
