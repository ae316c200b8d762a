import Foundation
import Testing

@Suite("Documentation of KeySharing", .timeLimit(.minutes(10)))
struct DocumentationTests {
    private static let package = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A Swift file or an article of the module, by lines.
    private struct Source {
        let name: String
        let lines: [Substring]
    }

    private static func sources() throws -> [Source] {
        let folder = package.appending(path: "Sources/KeySharing")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }
            .filter { ["swift", "md"].contains($0.pathExtension) }
            .map { Source(name: $0.lastPathComponent, lines: try lines(of: $0)) }
    }

    private static func lines(of file: URL) throws -> [Substring] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    }

    /// Returns a line without its indentation and without the marker of a doc comment.
    private static func content(_ line: Substring) -> String {
        let line = line.drop { $0 == " " }
        return (line.hasPrefix("///") ? line.dropFirst(3).drop { $0 == " " } : line).description
    }

    @Test("DocumentationExamples compiles every example of a doc comment or an article")
    func examples() throws {
        let file = Self.package.appending(path: "Tests/KeySharingTests/DocumentationExamples.swift")
        let compiled = try Self.lines(of: file).map(Self.content).joined(separator: "\n")
        var count = 0
        for source in try Self.sources() {
            var example: [String]?
            for line in source.lines.map(Self.content) {
                if line == "```swift" {
                    example = []
                } else if line == "```", let code = example {
                    count += 1
                    #expect(compiled.contains(code.joined(separator: "\n")), "\(source.name): \(code)")
                    example = nil
                } else {
                    example?.append(line)
                }
            }
        }
        #expect(count == 35)
    }

    @Test("Every public top-level type has an example in its doc comment")
    func typesWithExamples() throws {
        var count = 0
        for source in try Self.sources() {
            for (index, line) in source.lines.enumerated()
            where line.hasPrefix("public struct ") || line.hasPrefix("public enum ") {
                count += 1
                let comment = source.lines[..<index].reversed().prefix { $0.hasPrefix("///") }
                #expect(comment.contains("/// ```swift"), "\(source.name): \(line)")
            }
        }
        #expect(count == 33)
    }
}
