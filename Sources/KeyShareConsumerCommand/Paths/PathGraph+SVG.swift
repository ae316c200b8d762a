internal import CommandSupport
internal import Diagnostics
internal import Foundation
internal import OpenSSL

/// Draws the graph as SVG. Leaves are in the bottom row. The row of an authority is its number of links from the leaf.
extension PathGraph {
    /// The graph as an SVG 1.1 document.
    package var svg: String {
        let nodes = nodes
        let layout = SVGLayout(nodes)
        var parts = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#,
            #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(layout.width)" height="\#(layout.height)" "#
                + #"viewBox="0 0 \#(layout.width) \#(layout.height)" font-family="monospace" font-size="12">"#,
            Self.title,
            Self.arrowheads(edges), #"<rect width="100%" height="100%" fill="white"/>"#,
        ]
        for (place, node) in nodes.enumerated() {
            parts.append(Self.box(node, layout.boxes[place], layout.texts[place]))
        }
        // Edges are drawn over the boxes, so that no arrowhead is hidden. Edges of failed paths are drawn first.
        for edge in edges.sorted(by: { $0.standing < $1.standing }) {
            let (issuer, subject) = (layout.boxes[edge.link.issuer], layout.boxes[edge.link.subject])
            parts.append(Self.line(edge, from: issuer, to: subject))
        }
        return (parts + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    /// An arrowhead for each edge colour.
    private static func arrowheads(_ edges: [Edge]) -> String {
        let markers = Set(edges.map(\.color)).sorted().map { color in
            #"<marker id="\#(arrowhead(color))" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" "#
                + #"markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">"#
                + #"<path d="M 0 0 L 8 4 L 0 8 z" fill="\#(color)"/></marker>"#
        }
        return "<defs>" + markers.joined() + "</defs>"
    }

    private static func arrowhead(_ color: String) -> String { "arrow-" + color.dropFirst() }

    /// An edge from the bottom of the issuer's box to the top of the subject's box below it. An edge within a row
    /// starts and ends at the bottom of the boxes. An edge to a higher box starts at the top.
    private static func line(_ edge: Edge, from issuer: SVGLayout.Box, to subject: SVGLayout.Box) -> String {
        let isDown = issuer.y < subject.y
        let isLevel = issuer.y == subject.y
        let start = (
            x: issuer.x + issuer.width / 2, y: isDown || isLevel ? issuer.y + issuer.height : issuer.y
        )
        let end = (x: subject.x + subject.width / 2, y: isDown ? subject.y : subject.y + subject.height)
        // The curve of an edge within a row stays in the gap below the row.
        let middle = isLevel ? max(start.y, end.y) + SVGLayout.rowGap / 2 : (start.y + end.y) / 2
        let style =
            edge.isWrongKey
            ? #" stroke-width="2" stroke-dasharray="1 4" stroke-linecap="round""#
            : edge.standing == .fallen ? #" stroke-dasharray="4 3""# : #" stroke-width="2""#
        let path =
            #"<path d="M \#(start.x) \#(start.y) C \#(start.x) \#(middle), \#(end.x) \#(middle), "#
            + #"\#(end.x) \#(end.y)" fill="none" stroke="\#(edge.color)"\#(style) "#
            + #"marker-end="url(#\#(arrowhead(edge.color)))"/>"#
        guard let label = edge.label else { return path }
        return "<g><title>\(label.visible.escapedInXML)</title>" + path
            + #"<text x="\#((start.x + end.x) / 2)" y="\#(middle)" text-anchor="middle" font-size="10" "#
            + ##"fill="#57606a">\##(shortened(label).visible.escapedInXML)</text></g>"##
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

/// The positions of the boxes, in pixels.
private struct SVGLayout {
    struct Box {
        var x = 0
        var y = 0
        let width: Int
        let height: Int
    }

    /// One line of text in a box.
    struct Text {
        enum Kind { case name, fact, problem }

        let line: String
        let kind: Kind
    }

    static let padding = 8
    static let line = 15
    private static let gap = 24
    /// The distance between two rows.
    static let rowGap = 56
    private static let margin = 20
    /// The maximum number of characters in a line. Longer text is wrapped.
    private static let longestLine = 60
    /// The maximum number of lines of one item in a box. Certificates may contain text of any length.
    private static let mostLines = 4
    /// The maximum width of a character, as an estimate in pixels.
    private static let character = 8

    private(set) var boxes: [Box] = []
    private(set) var texts: [[Text]] = []
    private(set) var width = 0
    private(set) var height = 0

    init(_ nodes: [PathGraph.Node]) {
        texts = nodes.map { node in
            let name = node.lines[0] + (node.isAnchor ? " (anchor)" : "")
            return Self.lines(name, .name) + node.lines.dropFirst().flatMap { Self.lines($0, .fact) }
                + node.problems.flatMap { Self.lines($0, .problem) }
        }
        boxes = texts.map { lines in
            Box(
                width: (lines.map(\.line.columnCount).max() ?? 1) * Self.character + 2 * Self.padding,
                height: lines.count * Self.line + 2 * Self.padding)
        }
        let rows = Dictionary(grouping: nodes.indices) { nodes[$0].height }
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
        // Leave room below the last row for edges between its boxes.
        height = max(y - Self.rowGap / 2, 0) + Self.margin
    }

    /// Wraps text to several lines, indents continuation lines, and truncates with an ellipsis.
    private static func lines(_ text: String, _ kind: Text.Kind) -> [Text] {
        var lines = text.visible.wrapped(to: longestLine - 2, splittingWords: true)
        if lines.count > mostLines {
            lines = lines.prefix(mostLines - 1) + [lines[mostLines - 1] + "\u{2026}"]
        }
        // XML collapses ordinary spaces but not no-break spaces.
        return lines.enumerated().map {
            Text(line: ($0.offset == 0 ? "" : "\u{A0}\u{A0}") + $0.element, kind: kind)
        }
    }
}
