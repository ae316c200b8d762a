internal import CommandSupport
internal import Diagnostics
internal import OpenSSL
package import PathValidation

/// A path as a text tree with the anchor on top. It shows the effect of each certificate and the other paths that were
/// tried.
package struct PathTree {
    private let validation: PathValidation
    private let fetched: [FetchRecord]

    /// The maximum number of paths listed in addition to the best one.
    private static let mostAttempts = 20

    /// Creates the tree for a validation.
    ///
    /// - Parameters:
    ///   - validation: The path, and all paths that were tried.
    ///   - fetched: The requests for missing material.
    package init(_ validation: PathValidation, fetched: [FetchRecord] = []) {
        self.validation = validation
        self.fetched = fetched
    }

    /// The lines of the tree, wrapped to `width` columns, or not wrapped if `width` is nil.
    package func lines(fitting width: Int?) -> [String] {
        (heading + tree + others + urls).flatMap { line in
            guard let width else { return [line.lead + line.text] }
            let room = max(width - line.lead.columnCount, width / 2)
            return line.text.wrapped(to: room, splittingWords: true).enumerated().map {
                ($0.offset == 0 ? line.lead : line.rest) + $0.element
            }
        }
    }

    /// A line before it is wrapped.
    private struct Line {
        /// The prefix of the first line.
        let lead: String
        /// The prefix of continuation lines.
        let rest: String
        let text: String

        init(_ lead: String, _ text: String, rest: String? = nil) {
            self.lead = lead
            self.rest = rest ?? String(repeating: " ", count: lead.count)
            self.text = text
        }
    }

    private var heading: [Line] {
        let count = validation.attempts.count
        let tried = count == 1 ? "the only one tried" : "number \(validation.chosen + 1) of \(count) tried"
        let isAnchored = validation.attempts[validation.chosen].isAnchored
        let name =
            validation.isValid
            ? "valid path" : isAnchored ? "best candidate path" : "longest partial path"
        return [Line("", "\(name) (\(tried); \(validation.end.sentence)):")]
    }

    // MARK: - The best path

    private var tree: [Line] {
        var lines: [Line] = []
        let links = validation.path.reversed()
        if let top = links.first, top.role != .anchor {
            lines.append(Line("  ", "(not trusted: \(top.certificate.issuer))"))
        }
        for (depth, link) in links.enumerated() {
            let isLast = depth == links.count - 1
            let stem = "  " + String(repeating: "   ", count: max(depth - 1, 0))
            let indent = "  " + String(repeating: "   ", count: depth)
            lines.append(
                Line(
                    stem + (depth == 0 ? "" : "\u{2514}\u{2500} "),
                    "\(link.certificate.subject)" + role(link),
                    rest: indent + (isLast ? "  " : "\u{2502} ")))
            let below = indent + (isLast ? "     " : "\u{2502}    ")
            lines += details(of: link).map { Line(below, $0, rest: below + "  ") }
        }
        return lines
    }

    private func role(_ link: PathValidation.Link) -> String {
        switch link.role {
        case .anchor: " [anchor]"
        case .authority, .leaf: ""
        }
    }

    private func details(of link: PathValidation.Link) -> [String] {
        let certificate = link.certificate
        var lines = [
            "serial \(certificate.serialHex), \(certificate.notBefore.dayText) to \(certificate.notAfter.dayText)"
        ]
        if !link.policies.isEmpty { lines.append("policies: " + Self.policies(link.policies)) }
        lines += Self.constraints(link.constraints)
        for source in link.revocation { lines.append("revocation: " + Self.words(source)) }
        for problem in link.problems { lines.append("PROBLEM: " + problem.reason) }
        return lines
    }

    private static func policies(_ policies: [String]) -> String {
        policies.map { "\(NamedIdentifier.policy($0))" }.joined(separator: ", ")
    }

    /// The constraints that a certificate imposes on the certificates below it, one line for each constraint.
    static func constraints(_ constraints: AuthorityConstraints) -> [String] {
        var lines: [String] = []
        if let length = constraints.pathLength {
            lines.append("path length constraint: \(length)")
        }
        if !constraints.permittedNames.isEmpty {
            lines.append(
                "permits names in " + constraints.permittedNames.map(\.description).joined(separator: ", "))
        }
        if !constraints.excludedNames.isEmpty {
            lines.append(
                "excludes names in " + constraints.excludedNames.map(\.description).joined(separator: ", "))
        }
        for mapping in constraints.policyMappings {
            lines.append(
                "maps policy \(NamedIdentifier.policy(mapping.issuerPolicy)) to "
                    + "\(NamedIdentifier.policy(mapping.subjectPolicy))")
        }
        func after(_ count: Int) -> String {
            count == 0 ? "from here on" : "after \(counted(count, "certificate", "certificates"))"
        }
        if let count = constraints.requireExplicitPolicy { lines.append("requires a policy \(after(count))") }
        if let count = constraints.inhibitPolicyMapping {
            lines.append("forbids policy mapping \(after(count))")
        }
        if let count = constraints.inhibitAnyPolicy { lines.append("forbids anyPolicy \(after(count))") }
        return lines
    }

    /// Formats a source of revocation status, and the revocation if the source contains one.
    static func words(_ source: RevocationSource) -> String {
        func span(_ start: String, _ end: String?) -> String {
            "of \(start)" + (end.map { ", valid until \($0)" } ?? "")
        }
        let origin =
            switch source {
            case .list(let issuer, let thisUpdate, let nextUpdate, let isDelta, _):
                "a \(isDelta ? "delta list" : "list") of \(issuer) "
                    + span(thisUpdate.dayText, nextUpdate?.dayText)
            case .response(let thisUpdate, let nextUpdate, _):
                "an OCSP response " + span(thisUpdate.dayText, nextUpdate?.dayText)
            }
        return origin + (source.revocation.map { ": \($0)" } ?? "")
    }

    // MARK: - Other paths

    private var others: [Line] {
        let fallen = validation.attempts.enumerated().filter { $0.offset != validation.chosen }
        guard !fallen.isEmpty else { return [] }
        var lines = [Line("", validation.isValid ? "tried before it:" : "also tried:")]
        for (place, attempt) in fallen.prefix(Self.mostAttempts) {
            lines.append(
                Line(
                    "  \(place + 1). ",
                    attempt.certificates.map(\.subject.shortName).joined(separator: " \u{2190} ")))
            lines += attempt.failures.map { Line("     ", "\($0.kind.words): \($0.explanation)") }
        }
        if fallen.count > Self.mostAttempts {
            lines.append(Line("  ", "and \(fallen.count - Self.mostAttempts) more, which --json shows"))
        }
        return lines
    }

    private var urls: [Line] {
        if fetched.isEmpty { return [] }
        return [Line("", "asked:")] + fetched.map { Line("  ", "\($0.url): \($0.outcome)".visible) }
    }
}

extension DistinguishedName {
    /// The common name, or the complete name if there is none.
    var shortName: String { (commonName ?? description).visible }
}
