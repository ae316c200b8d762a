package import CommandSupport
internal import Foundation
internal import PrivateFiles

extension PathGraph {
    /// Whether the file name has a supported extension: `.svg`, `.dot` or `.gv`.
    package static func isDrawable(_ path: String) -> Bool { drawing(path) != nil }

    /// Draws the graph into a file with mode 0600. Only an earlier drawing of this program is overwritten.
    ///
    /// - Throws: `CommandFailure`: 10 if another file has the name, 73 if the file cannot be created, 74 if it cannot
    ///   be written.
    package func draw(into path: String) throws(CommandFailure) {
        guard let drawing = Self.drawing(path) else { return }
        let bytes = Array(self[keyPath: drawing].utf8)
        let isOurs = Self.isDrawing(path)
        do throws(FileError) {
            try AtomicFile.write(bytes, to: path, replacing: isOurs)
        } catch {
            let failure = error.commandFailure
            throw CommandFailure(
                failure.status, code: failure.code, failure.message, hint: "choose another file with --graph")
        }
    }

    /// Whether the file at `path` is a private file of this user that contains a drawing by this program. No other file
    /// is read.
    private static func isDrawing(_ path: String) -> Bool {
        guard let file = try? PrivateFile.open(path), let start = try? file.read(atMost: 512) else {
            return false
        }
        let text = String(decoding: start, as: UTF8.self)
        return text.contains(title) || text.hasPrefix(Self.start)
    }

    private static func drawing(_ path: String) -> KeyPath<PathGraph, String>? {
        switch URL(fileURLWithPath: path).pathExtension.lowercased() {
        case "svg": \.svg
        case "dot", "gv": \.dot
        default: nil
        }
    }

    /// The SVG element that identifies a drawing of this program.
    static var title: String { "<title>Certification paths</title>" }
    /// The line that identifies a Graphviz file of this program.
    static var start: String { "digraph paths {" }
}
