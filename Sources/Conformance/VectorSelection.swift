internal import Diagnostics
package import TestVectors

/// The test vectors of a run, selected by name, by group, or by the beginning of a name followed by an asterisk.
package struct VectorSelection: Sendable {
    /// The words that select test vectors. If empty, every test vector that is a file is selected.
    private let only: [String]
    /// The words that exclude test vectors from the selection.
    private let skip: [String]

    /// Creates a selection.
    package init(only: [String] = [], skip: [String] = []) {
        self.only = only
        self.skip = skip
    }

    /// The test vectors that are files.
    package var files: [TestVector] {
        TestVector.all.filter { includes($0.name, $0.groups) }
    }

    /// The selected test vectors of the service. They are only included if they are named, because a consumer without
    /// socket support cannot run them.
    package var services: [ServiceVector] {
        only.isEmpty ? [] : ServiceVector.all.filter { includes($0.entry.name, $0.entry.groups) }
    }

    /// The selected messages. They are only included if they are named, because importers cannot read them.
    package var messages: [MessageVector] {
        only.isEmpty ? [] : MessageVector.all.filter { includes($0.name, [.messages]) }
    }

    /// Whether no test vector is selected.
    package var isEmpty: Bool { files.isEmpty && services.isEmpty && messages.isEmpty }

    /// The words that match nothing, each with the most similar name.
    package var unknown: [(word: String, nearest: String?)] {
        (only + skip).filter { word in !Self.allNames.contains { Self.names(word, $0) } }
            .map { ($0, NearMatch.of($0, among: Self.allNames)) }
    }

    /// The names of all test vectors.
    package static let vectorNames =
        TestVector.all.map(\.name) + ServiceVector.all.map(\.entry.name) + MessageVector.all.map(\.name)

    /// The names that a selection accepts: the groups, then the test vectors.
    package static let allNames = TestVectorGroup.allCases.map(\.rawValue) + vectorNames

    private func includes(_ name: String, _ groups: [TestVectorGroup]) -> Bool {
        func isNamed(by word: String) -> Bool {
            Self.names(word, name) || groups.contains { $0.rawValue == word }
        }
        return (only.isEmpty || only.contains(where: isNamed)) && !skip.contains(where: isNamed)
    }

    private static func names(_ word: String, _ name: String) -> Bool {
        word.hasSuffix("*") ? name.hasPrefix(word.dropLast()) : word == name
    }
}
