import ArgumentParser
import Diagnostics
internal import KeyShareProtocol
import PersistentToken

/// The names of key algorithms on the command line.
enum AlgorithmName {
    /// Parses a name or a value of a Security framework constant, ignoring case.
    ///
    /// - Throws: `ValidationError`, with a suggestion if a name is similar.
    static func parse(_ text: String) throws -> SecKeyAlgorithm {
        if let algorithm = SecKeyAlgorithm(named: text) { return algorithm }
        let prefix = "kseckeyalgorithm"
        let wanted = text.lowercased()
        let name = wanted.hasPrefix(prefix) ? String(wanted.dropFirst(prefix.count)) : wanted
        if let algorithm = SecKeyAlgorithm.allCases.first(where: {
            $0.name.lowercased() == name || $0.identifier.lowercased() == name
        }) {
            return algorithm
        }
        let near = NearMatch.of(name, among: SecKeyAlgorithm.allCases.map(\.name))
        throw ValidationError(
            "\u{201C}\(text)\u{201D} is not an algorithm" + (near.map { "; did you mean \($0)?" } ?? ""))
    }

    /// All names for a help text: a heading for each operation and kind of key, followed by one name on each line.
    static let list = [
        heading("to sign with an RSA key", .sign, .rsa), heading("to sign with an EC key", .sign, .ec),
        heading("to decrypt with an RSA key", .decrypt, .rsa),
        heading("to decrypt with an EC key", .decrypt, .ec),
        heading("to agree on a secret with an EC key (token matrix --all)", .keyExchange, .ec),
    ].joined(separator: "\n\n")

    private static func heading(
        _ words: String, _ operation: TokenOperation, _ family: SecKeyAlgorithm.KeyFamily
    ) -> String {
        let names = SecKeyAlgorithm.allCases.filter { $0.operation == operation && $0.family == family }
        return (["Algorithms \(words):"] + names.map { "  " + $0.name }).joined(separator: "\n")
    }
}
