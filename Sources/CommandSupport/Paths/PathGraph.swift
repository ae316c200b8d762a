internal import Diagnostics
internal import Foundation
internal import OpenSSL
package import PathValidation

/// The paths of one or more certificates as a graph: a node for each certificate, and an edge from each issuer to what
/// it issued.
package struct PathGraph {
    /// How a node or an edge stands to the paths.
    enum Standing: Int, Comparable {
        /// On paths that fell alone.
        case fallen
        /// On the path that came nearest, where none is valid.
        case nearest
        /// On a valid path.
        case valid

        static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }
    }

    /// A certificate.
    struct Node {
        let certificate: Certificate
        /// What is shown of the certificate, a line each: name first.
        var lines: [String]
        var standing: Standing
        var isAnchor: Bool
        var isLeaf: Bool
        /// How many links above the leaf the certificate was first met.
        let height: Int
        /// Why paths fell there.
        var problems: [String] = []
    }

    /// An issuer above a certificate, by their places among the nodes.
    struct Edge: Hashable {
        let issuer: Int
        let subject: Int
    }

    private(set) var nodes: [Node] = []
    private(set) var edges: [(edge: Edge, standing: Standing)] = []

    private var places: [Certificate: Int] = [:]
    private var edgePlaces: [Edge: Int] = [:]

    /// An empty graph.
    package init() {}

    /// Adds the paths of one certificate: the best one, and those that were tried.
    package mutating func add(_ validation: PathValidation) {
        let standing: Standing = validation.isValid ? .valid : .nearest
        let isAnchored = validation.attempts[validation.chosen].isAnchored
        add(validation.path.map(\.certificate), isAnchored: isAnchored, standing)
        for link in validation.path {
            guard let place = places[link.certificate] else { continue }
            if nodes[place].lines.count == 2 {
                nodes[place].lines += PathTree.constraints(link.constraints)
                nodes[place].lines += link.policies.map { "policy \(NamedIdentifier.policy($0))" }
                nodes[place].lines += link.revocation.map(PathTree.words)
            }
            for problem in link.problems where !nodes[place].problems.contains(problem.reason) {
                nodes[place].problems.append(problem.reason)
            }
        }
        for (index, attempt) in validation.attempts.enumerated() where index != validation.chosen {
            add(attempt.certificates, isAnchored: attempt.isAnchored, .fallen)
        }
    }

    private mutating func add(_ path: [Certificate], isAnchored: Bool, _ standing: Standing) {
        var below: Int?
        for (height, certificate) in path.enumerated() {
            let isAnchor = isAnchored && height == path.count - 1
            let place = places[certificate] ?? nodes.count
            if place == nodes.count {
                places[certificate] = place
                nodes.append(
                    Node(
                        certificate: certificate,
                        lines: [
                            certificate.subject.shortName,
                            "\(certificate.notBefore.dayText) to \(certificate.notAfter.dayText)",
                        ],
                        standing: standing, isAnchor: isAnchor, isLeaf: height == 0, height: height))
            }
            nodes[place].standing = max(nodes[place].standing, standing)
            nodes[place].isAnchor = nodes[place].isAnchor || isAnchor
            nodes[place].isLeaf = nodes[place].isLeaf || height == 0
            if let below {
                let edge = Edge(issuer: place, subject: below)
                if let known = edgePlaces[edge] {
                    edges[known].standing = max(edges[known].standing, standing)
                } else {
                    edgePlaces[edge] = edges.count
                    edges.append((edge, standing))
                }
            }
            below = place
        }
    }
}

extension PathGraph.Standing {
    /// The colour of lines, as SVG and DOT have it.
    var color: String {
        switch self {
        case .valid: "#1a7f37"
        case .nearest: "#b42318"
        case .fallen: "#8c959f"
        }
    }

    /// The colour inside a node.
    var fill: String {
        switch self {
        case .valid: "#eefaf1"
        case .nearest: "#fdf0ee"
        case .fallen: "#f6f8fa"
        }
    }
}

// MARK: - DOT

extension PathGraph {
    /// The graph in the language of Graphviz.
    package var dot: String {
        var lines = [
            Self.start, "  rankdir=TB;",
            "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=11];",
        ]
        for (place, node) in nodes.enumerated() {
            let text = (node.lines + node.problems.map { "PROBLEM: " + $0 }).map(Self.dotText).joined(
                separator: "\\n")
            let width = node.isAnchor ? ", penwidth=3" : ""
            lines.append(
                "  n\(place) [label=\"\(text)\", color=\"\(node.standing.color)\", "
                    + "fillcolor=\"\(node.standing.fill)\"\(width)];")
        }
        for (edge, standing) in edges {
            let style = standing == .fallen ? ", style=dashed" : ", penwidth=2"
            lines.append("  n\(edge.issuer) -> n\(edge.subject) [color=\"\(standing.color)\"\(style)];")
        }
        return (lines + ["}"]).joined(separator: "\n") + "\n"
    }

    /// A text inside the quotation marks of DOT.
    private static func dotText(_ text: String) -> String {
        text.visible.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
    }
}
