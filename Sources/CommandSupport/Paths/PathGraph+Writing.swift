internal import Foundation
internal import PrivateFiles

extension PathGraph {
    /// Whether a file of this name can be drawn into: it ends in `.svg`, `.dot` or `.gv`.
    package static func isDrawable(_ path: String) -> Bool { drawing(path) != nil }

    /// Draws the graph into a file with mode 0600. An earlier drawing of ours is replaced, and no other file.
    ///
    /// - Throws: `CommandFailure`: 10 where another file has the name, 73 where none can be made, 74 where the bytes do
    ///   not reach the disk.
    package func draw(into path: String) throws(CommandFailure) {
        guard let drawing = Self.drawing(path) else { return }
        let bytes = Array(self[keyPath: drawing].utf8)
        let start = FileHandle(forReadingAtPath: path).flatMap { try? $0.read(upToCount: 512) }
        let text = start.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let isOurs = text.contains(Self.title) || text.hasPrefix(Self.start)
        do throws(FileError) {
            try AtomicFile.write(bytes, to: path, replacing: isOurs)
        } catch {
            let failure = error.commandFailure
            throw CommandFailure(
                failure.status, code: failure.code, failure.message, hint: "name another file with --graph")
        }
    }

    private static func drawing(_ path: String) -> KeyPath<PathGraph, String>? {
        switch URL(fileURLWithPath: path).pathExtension.lowercased() {
        case "svg": \.svg
        case "dot", "gv": \.dot
        default: nil
        }
    }

    /// The element of SVG by which a drawing of ours is known.
    static var title: String { "<title>Certification paths</title>" }
    /// The line by which a graph of ours for Graphviz is known.
    static var start: String { "digraph paths {" }
}
