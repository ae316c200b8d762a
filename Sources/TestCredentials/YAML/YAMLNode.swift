internal import Yams

/// A value of a YAML document (YAML 1.2), with its position.
package struct YAMLNode: Sendable {
    /// The kinds of values. All scalars are strings. The reader of a key interprets the string.
    package enum Content: Sendable {
        /// An absent value, `~` or `null`.
        case nothing
        case text(String)
        case list([YAMLNode])
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// The content of the value.
    package let content: Content
    /// The position at which the value starts.
    package let position: SourcePosition
}

extension YAMLNode {
    /// Parses a YAML document in UTF-8. A JSON text is also a YAML document.
    ///
    /// - Parameters:
    ///   - bytes: The octets of the document.
    ///   - what: The subject of the text with its article, such as “a scenario”.
    ///   - most: The maximum number of values.
    /// - Throws: `ProvisioningError` with the position of the first syntax error, of a construct that ``YAMLScan``
    ///   rejects, or of a string that is too long.
    package init(text bytes: [UInt8], of what: String, most: Int) throws(ProvisioningError) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ProvisioningError(
                SourcePosition(line: bytes.linesUpToBrokenText, column: 1), "expected text in UTF-8")
        }
        // Some editors write a byte order mark, which is not part of the text.
        let isMarked = text.unicodeScalars.first == "\u{FEFF}"
        let unmarked = isMarked ? String(text.unicodeScalars.dropFirst()) : text
        try YAMLScan.check(unmarked, most: most)
        let node: Node?
        do {
            // Without an explicit encoding, Yams would use one from the environment.
            node = try Parser(yaml: unmarked, encoding: .utf8).singleRoot()
        } catch {
            throw ProvisioningError(error as? YamlError ?? .no, in: unmarked)
        }
        guard let node else {
            throw ProvisioningError(.start, "the text is empty; expected \(what)")
        }
        var allowance = Allowance(most: most)
        try self.init(node, &allowance, within: .start)
    }

    /// The maximum number of values, and the number that were read.
    private struct Allowance {
        let most: Int
        var count = 0
    }

    private init(_ node: Node, _ allowance: inout Allowance, within place: SourcePosition)
        throws(ProvisioningError)
    {
        position = node.mark.map { SourcePosition(line: $0.line, column: $0.column) } ?? place
        allowance.count += 1
        guard allowance.count <= allowance.most else {
            throw ProvisioningError(position, "the text has more than \(allowance.most) values")
        }
        switch node {
        case .scalar(let scalar):
            guard scalar.string.utf8.count <= TextBounds.largestText else {
                throw .longText(at: position)
            }
            let isNothing = scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
            content = isNothing ? .nothing : .text(scalar.string)
        case .sequence(let sequence):
            var list: [YAMLNode] = []
            for node in sequence { list.append(try YAMLNode(node, &allowance, within: position)) }
            content = .list(list)
        case .mapping(let mapping):
            var entries: [(key: YAMLNode, value: YAMLNode)] = []
            for (key, value) in mapping {
                let key = try YAMLNode(key, &allowance, within: position)
                entries.append((key, try YAMLNode(value, &allowance, within: key.position)))
            }
            content = .mapping(entries)
        case .alias:
            // This case does not occur: the parser replaces aliases with their values, and the scan has rejected all
            // aliases.
            content = .nothing
        }
    }
}

extension ProvisioningError {
    /// Converts an error of Yams about `text`, including its position.
    fileprivate init(_ error: YamlError, in text: String) {
        func at(_ mark: Yams.Mark) -> SourcePosition { .init(line: mark.line, column: mark.column) }
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            guard !problem.contains("nesting") else {
                self.init(at(mark), "this value is nested too deeply")
                return
            }
            let during = context.map { ", \($0.text) that starts in line \($0.mark.line)" } ?? ""
            self.init(at(mark), "this is not YAML: \(problem)\(during)")
        case .duplicatedKeysInMapping(let keys, let context):
            self.init(
                at(context.mark),
                "the key \u{201C}\(keys.first ?? "")\u{201D} occurs twice; expected it once")
        case .reader(let problem, let offset, _, _):
            let before = text.prefix(offset ?? 0).split(
                separator: "\n", omittingEmptySubsequences: false)
            self.init(
                .init(line: max(before.count, 1), column: (before.last?.unicodeScalars.count ?? 0) + 1),
                "this is not YAML: \(problem)")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            self.init(.start, "this is not YAML: out of memory")
        }
    }
}

extension [UInt8] {
    /// The number of the first line with octets that are not UTF-8.
    var linesUpToBrokenText: Int {
        for (index, line) in split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        where String(validating: line, as: UTF8.self) == nil {
            return index + 1
        }
        return 1
    }
}
