internal import Diagnostics
package import TestCredentials

/// Which test vectors a run takes: names, groups, and starts of names with an asterisk behind them.
package struct VectorSelection: Sendable {
    /// What is taken; empty for every test vector that is a file.
    private let only: [String]
    /// What is left out of it.
    private let skip: [String]

    /// A selection.
    package init(only: [String] = [], skip: [String] = []) {
        self.only = only
        self.skip = skip
    }

    /// The test vectors that are files.
    package var files: [TestVector] {
        TestVector.all.filter { includes($0.name, $0.groups) }
    }

    /// The test vectors of the service, which are taken only where they are asked for: a consumer that knows no socket
    /// cannot be held against them.
    package var services: [ServiceVector] {
        only.isEmpty ? [] : ServiceVector.all.filter { includes($0.entry.name, $0.entry.groups) }
    }

    /// The words that name nothing, each with what was probably meant.
    package var unknown: [(word: String, nearest: String?)] {
        (only + skip).filter { word in !Self.allNames.contains { Self.names(word, $0) } }
            .map { ($0, NearMatch.of($0, among: Self.allNames)) }
    }

    /// The names that can be chosen by: the groups, then the test vectors.
    package static let allNames =
        TestVectorGroup.allCases.map(\.rawValue) + TestVector.all.map(\.name)
        + ServiceVector.all.map(\.entry.name)

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
