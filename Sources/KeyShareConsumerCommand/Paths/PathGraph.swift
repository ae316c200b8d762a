internal import CommandSupport
internal import Diagnostics
internal import Foundation
internal import OpenSSL
package import PathValidation
internal import StandardExtensions

/// The paths of one or more certificates as a graph: a node for each certificate, and an edge from each issuer to each
/// certificate that it issued.
package struct PathGraph {
    /// The best result of the paths that contain a node or an edge.
    enum Standing: Int, Comparable {
        /// The node or edge is only on failed paths.
        case fallen
        /// The node or edge is on the path nearest to being valid, and no path is valid.
        case nearest
        /// The node or edge is on a valid path.
        case valid

        static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }
    }

    /// A certificate with its text and its state in the drawing.
    struct Node {
        let certificate: Certificate
        /// The lines of text in the node, starting with the name.
        var lines: [String]
        var standing: Standing
        var isAnchor: Bool
        var isLeaf: Bool
        /// The number of links from the leaf to the certificate, on the first path that contains the certificate.
        let height: Int
        /// The problems of the certificate on the best path of each validation.
        var problems: [String] = []
        /// Whether ``lines`` already contains the certificate's constraints, policies and revocation sources.
        var isDescribed = false
    }

    /// A link from an issuer to a certificate, by their node indices.
    struct Link: Hashable {
        let issuer: Int
        let subject: Int
    }

    /// A link with the results of the paths that contain it.
    struct Edge {
        let link: Link
        var standing: Standing
        /// The reason why the first path that failed at this edge failed. Nil if the edge is on a best path.
        var reason: String?
        /// Whether the subject was not signed with the issuer's key.
        var isWrongKey = false
    }

    private var unmarkedNodes: [Node] = []
    private(set) var edges: [Edge] = []

    private var places: [Certificate: Int] = [:]
    private var edgePlaces: [Link: Int] = [:]

    /// Creates an empty graph.
    package init() {}

    /// The certificates. If several authorities have the same name, their serial numbers and key identifiers are
    /// shown.
    var nodes: [Node] {
        let names = Dictionary(grouping: unmarkedNodes, by: \.certificate.subject)
        return unmarkedNodes.map { node in
            guard !node.isLeaf, (names[node.certificate.subject]?.count ?? 0) > 1 else { return node }
            let certificate = node.certificate
            let key = certificate.subjectKeyIdentifier ?? certificate.publicKey.keyIdentifier
            var node = node
            node.lines.insert("serial \(certificate.serialHex), key \(key.prefix(8).upperHex)", at: 1)
            return node
        }
    }

    /// Adds the paths of one certificate: the best one and all others that were tried.
    package mutating func add(_ validation: PathValidation) {
        let standing: Standing = validation.isValid ? .valid : .nearest
        add(validation.attempts[validation.chosen], standing)
        for link in validation.path {
            guard let place = places[link.certificate] else { continue }
            if !unmarkedNodes[place].isDescribed {
                unmarkedNodes[place].isDescribed = true
                unmarkedNodes[place].lines += PathTree.constraints(link.constraints)
                unmarkedNodes[place].lines += link.policies.map { "policy \(NamedIdentifier.policy($0))" }
                unmarkedNodes[place].lines += link.revocation.map(PathTree.words)
            }
            for problem in link.problems where !unmarkedNodes[place].problems.contains(problem.reason) {
                unmarkedNodes[place].problems.append(problem.reason)
            }
        }
        for (index, attempt) in validation.attempts.enumerated() where index != validation.chosen {
            add(attempt, .fallen)
        }
    }

    private mutating func add(_ attempt: PathValidation.Attempt, _ standing: Standing) {
        let reason = standing == .fallen ? Self.reason(attempt) : nil
        var below: Int?
        for (height, certificate) in attempt.certificates.enumerated() {
            let isAnchor = attempt.isAnchored && height == attempt.certificates.count - 1
            let place = place(of: certificate, standing, height: height)
            unmarkedNodes[place].standing = max(unmarkedNodes[place].standing, standing)
            unmarkedNodes[place].isAnchor = unmarkedNodes[place].isAnchor || isAnchor
            unmarkedNodes[place].isLeaf = unmarkedNodes[place].isLeaf || height == 0
            if let below {
                let edge = edgePlace(Link(issuer: place, subject: below), standing)
                edges[edge].standing = max(edges[edge].standing, standing)
                if edges[edge].standing != .fallen {
                    edges[edge].reason = nil
                } else if let reason, reason.edge == height, edges[edge].reason == nil {
                    edges[edge].reason = reason.text
                }
                if attempt.problems.contains(where: { $0.isWrongSignature && $0.depth == height - 1 }) {
                    edges[edge].isWrongKey = true
                }
            }
            below = place
        }
    }

    private mutating func place(of certificate: Certificate, _ standing: Standing, height: Int) -> Int {
        if let place = places[certificate] { return place }
        places[certificate] = unmarkedNodes.count
        unmarkedNodes.append(
            Node(
                certificate: certificate,
                lines: [
                    certificate.subject.shortName,
                    "\(certificate.notBefore.dayText) to \(certificate.notAfter.dayText)",
                ],
                standing: standing, isAnchor: false, isLeaf: height == 0, height: height))
        return unmarkedNodes.count - 1
    }

    private mutating func edgePlace(_ link: Link, _ standing: Standing) -> Int {
        if let place = edgePlaces[link] { return place }
        edgePlaces[link] = edges.count
        edges.append(Edge(link: link, standing: standing))
        return edges.count - 1
    }

    /// Returns the reason why a path failed, and the height of the issuer at the edge that shows the reason. The edge
    /// is the one above the certificate with the first problem, or the uppermost edge if that certificate has no
    /// issuer.
    private static func reason(_ attempt: PathValidation.Attempt) -> (edge: Int, text: String)? {
        let top = attempt.certificates.count - 1
        if let problem = attempt.problems.first(where: { !$0.isMissingList }) ?? attempt.problems.first {
            return (min(problem.depth + 1, top), problem.reason)
        }
        return attempt.failures.first.map { (min(1, top), "\($0.kind.words): \($0.explanation)") }
    }
}

extension PathGraph.Standing {
    /// The colour of lines, in a notation that SVG and DOT support.
    var color: String {
        switch self {
        case .valid: "#1a7f37"
        case .nearest: "#b42318"
        case .fallen: "#8c959f"
        }
    }

    /// The fill colour of a node.
    var fill: String {
        switch self {
        case .valid: "#eefaf1"
        case .nearest: "#fdf0ee"
        case .fallen: "#f6f8fa"
        }
    }
}

extension PathGraph.Edge {
    /// The colour of the line. Edges with a wrong key have their own colour.
    var color: String { isWrongKey ? "#9a6700" : standing.color }

    /// The text next to the line; nil if there is none.
    var label: String? { isWrongKey ? "wrong key" : reason }
}

// MARK: - DOT

extension PathGraph {
    /// The graph in Graphviz's DOT language.
    package var dot: String {
        var lines = [
            Self.start, "  rankdir=TB;",
            "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=11];",
            "  edge [fontname=\"sans-serif\", fontsize=9, fontcolor=\"#57606a\"];",
        ]
        for (place, node) in nodes.enumerated() {
            let text = (node.lines + node.problems.map { "PROBLEM: " + $0 }).map(Self.dotText).joined(
                separator: "\\n")
            let width = node.isAnchor ? ", penwidth=3" : ""
            lines.append(
                "  n\(place) [label=\"\(text)\", color=\"\(node.standing.color)\", "
                    + "fillcolor=\"\(node.standing.fill)\"\(width)];")
        }
        for edge in edges {
            let style =
                edge.isWrongKey
                ? ", style=dotted, penwidth=2" : edge.standing == .fallen ? ", style=dashed" : ", penwidth=2"
            let label = edge.label.map { ", label=\"\(Self.dotText(Self.shortened($0)))\"" } ?? ""
            lines.append(
                "  n\(edge.link.issuer) -> n\(edge.link.subject) [color=\"\(edge.color)\"\(style)\(label)];")
        }
        return (lines + ["}"]).joined(separator: "\n") + "\n"
    }

    /// Escapes text for DOT's quotation marks.
    private static func dotText(_ text: String) -> String {
        text.visible.replacingScalars { ["\\": "\\\\", "\"": "\\\""][$0] }
    }

    /// Shortens text to fit next to an edge.
    static func shortened(_ text: String) -> String {
        text.count <= 80 ? text : text.prefix(79) + "\u{2026}"
    }
}
