internal import Diagnostics
internal import Foundation
internal import OpenSSL

/// Draws the graph without another program: leaves at the bottom, each authority in the row of its height above them.
extension PathGraph {
    /// The graph as an SVG 1.1 document.
    package var svg: String {
        let layout = SVGLayout(self)
        var parts = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#,
            #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(layout.width)" height="\#(layout.height)" "#
                + #"viewBox="0 0 \#(layout.width) \#(layout.height)" font-family="monospace" font-size="12">"#,
            Self.title,
            #"<rect width="100%" height="100%" fill="white"/>"#,
        ]
        // Those that fell lie below the others.
        for (edge, standing) in edges.sorted(by: { $0.standing < $1.standing }) {
            parts.append(Self.line(from: layout.boxes[edge.issuer], to: layout.boxes[edge.subject], standing))
        }
        for (place, node) in nodes.enumerated() {
            parts.append(Self.box(node, layout.boxes[place], layout.texts[place]))
        }
        return (parts + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    private static func line(from issuer: SVGLayout.Box, to subject: SVGLayout.Box, _ standing: Standing)
        -> String
    {
        let start = (x: issuer.x + issuer.width / 2, y: issuer.y + issuer.height)
        let end = (x: subject.x + subject.width / 2, y: subject.y)
        let middle = (start.y + end.y) / 2
        let style = standing == .fallen ? #" stroke-dasharray="4 3""# : #" stroke-width="2""#
        return #"<path d="M \#(start.x) \#(start.y) C \#(start.x) \#(middle), \#(end.x) \#(middle), "#
            + #"\#(end.x) \#(end.y)" fill="none" stroke="\#(standing.color)"\#(style)/>"#
    }

    private static func box(_ node: Node, _ box: SVGLayout.Box, _ texts: [SVGLayout.Text]) -> String {
        var parts = ["<g>", "<title>\("\(node.certificate.subject)".escapedInXML)</title>"]
        let width = node.isAnchor ? 3 : 1
        parts.append(
            #"<rect x="\#(box.x)" y="\#(box.y)" width="\#(box.width)" height="\#(box.height)" rx="4" "#
                + #"fill="\#(node.standing.fill)" stroke="\#(node.standing.color)" stroke-width="\#(width)"/>"#
        )
        for (index, text) in texts.enumerated() {
            let style =
                switch text.kind {
                case .name: #" font-weight="bold""#
                case .fact: ##" fill="#424a53""##
                case .problem: ##" fill="#b42318""##
                }
            parts.append(
                #"<text x="\#(box.x + SVGLayout.padding)" y="\#(box.y + SVGLayout.padding + 10 + index * SVGLayout.line)""#
                    + "\(style)>\(text.line.escapedInXML)</text>")
        }
        return (parts + ["</g>"]).joined(separator: "\n")
    }
}

/// Where the boxes of a graph stand, in pixels.
private struct SVGLayout {
    struct Box {
        var x = 0
        var y = 0
        let width: Int
        let height: Int
    }

    /// One line inside a box.
    struct Text {
        enum Kind { case name, fact, problem }

        let line: String
        let kind: Kind
    }

    static let padding = 8
    static let line = 15
    private static let gap = 24
    private static let rowGap = 56
    private static let margin = 20
    /// The characters of a line, beyond which a text goes on in the next one.
    private static let longestLine = 60
    /// The most lines of one text, whose author may have chosen its length.
    private static let mostLines = 4
    /// The width of a character, rather too much than too little.
    private static let character = 8

    private(set) var boxes: [Box] = []
    private(set) var texts: [[Text]] = []
    private(set) var width = 0
    private(set) var height = 0

    init(_ graph: PathGraph) {
        texts = graph.nodes.map { node in
            let name = node.lines[0] + (node.isAnchor ? " (anchor)" : "")
            return Self.lines(name, .name) + node.lines.dropFirst().flatMap { Self.lines($0, .fact) }
                + node.problems.flatMap { Self.lines($0, .problem) }
        }
        boxes = texts.map { lines in
            Box(
                width: (lines.map(\.line.columnCount).max() ?? 1) * Self.character + 2 * Self.padding,
                height: lines.count * Self.line + 2 * Self.padding)
        }
        let rows = Dictionary(grouping: graph.nodes.indices) { graph.nodes[$0].height }
        func rowWidth(_ row: [Int]) -> Int { row.reduce(-Self.gap) { $0 + boxes[$1].width + Self.gap } }
        width = (rows.values.map(rowWidth).max() ?? 0) + 2 * Self.margin
        var y = Self.margin
        for level in rows.keys.sorted(by: >) {
            let row = rows[level] ?? []
            var x = (width - rowWidth(row)) / 2
            for place in row {
                boxes[place].x = x
                boxes[place].y = y
                x += boxes[place].width + Self.gap
            }
            y += (row.map { boxes[$0].height }.max() ?? 0) + Self.rowGap
        }
        height = max(y - Self.rowGap, 0) + Self.margin
    }

    /// A text in lines, what goes on being set in, and an ellipsis where there are too many.
    private static func lines(_ text: String, _ kind: Text.Kind) -> [Text] {
        var lines = text.visible.wrapped(to: longestLine - 2, splittingWords: true)
        if lines.count > mostLines {
            lines = lines.prefix(mostLines - 1) + [lines[mostLines - 1] + "\u{2026}"]
        }
        // XML folds blanks, but not those at which no line may break.
        return lines.enumerated().map {
            Text(line: ($0.offset == 0 ? "" : "\u{A0}\u{A0}") + $0.element, kind: kind)
        }
    }
}
