internal import Yams

/// A value of a YAML text, with the place where it stands.
struct MarkedValue: Sendable {
    /// A place in a text, counted from one, columns in Unicode scalars.
    struct Mark: Sendable, Hashable {
        let line: Int
        let column: Int
    }

    /// What the value is; what scalars mean is for the reader of the key to say.
    enum Content: Sendable {
        /// Nothing at all, `~` or `null`.
        case nothing
        case text(String)
        case list([MarkedValue])
        case mapping([(key: MarkedValue, value: MarkedValue)])
    }

    let content: Content
    let mark: Mark
}

extension MarkedValue {
    /// Parses the octets of a YAML document, or of a JSON text, which is one.
    ///
    /// - Parameters:
    ///   - what: what the text describes, with its article.
    ///   - most: how many values there may be; aliases of aliases would make any number of them.
    /// - Throws: `ScenarioProblem` with the place where it stops being YAML in UTF-8.
    init(text bytes: [UInt8], of what: String, most: Int = 10_000) throws(ScenarioProblem) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ScenarioProblem(
                Mark(line: bytes.linesUpToBrokenText, column: 1), "expected text in UTF-8")
        }
        // Some editors put a byte order mark in front, which is no part of the text.
        let isMarked = text.unicodeScalars.first == "\u{FEFF}"
        let unmarked = isMarked ? String(text.unicodeScalars.dropFirst()) : text
        let node: Node?
        do {
            // The encoding is named because Yams would else look into the environment for one.
            node = try Parser(yaml: unmarked, encoding: .utf8).singleRoot()
        } catch {
            throw ScenarioProblem(error as? YamlError ?? .no, in: unmarked)
        }
        guard let node else {
            throw ScenarioProblem(Mark(line: 1, column: 1), "the text is empty; expected \(what)")
        }
        var allowance = Allowance(most: most)
        try self.init(node, &allowance, within: Mark(line: 1, column: 1))
    }

    /// How many values there may be, and are.
    private struct Allowance {
        let most: Int
        var count = 0
    }

    private init(_ node: Node, _ allowance: inout Allowance, within place: Mark) throws(ScenarioProblem) {
        mark = node.mark.map { Mark(line: $0.line, column: $0.column) } ?? place
        allowance.count += 1
        guard allowance.count <= allowance.most else {
            throw ScenarioProblem(mark, "there are more than \(allowance.most) values in the text")
        }
        switch node {
        case .scalar(let scalar):
            let isNothing = scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
            content = isNothing ? .nothing : .text(scalar.string)
        case .sequence(let sequence):
            var list: [MarkedValue] = []
            for node in sequence { list.append(try MarkedValue(node, &allowance, within: mark)) }
            content = .list(list)
        case .mapping(let mapping):
            var entries: [(key: MarkedValue, value: MarkedValue)] = []
            for (key, value) in mapping {
                let key = try MarkedValue(key, &allowance, within: mark)
                entries.append((key, try MarkedValue(value, &allowance, within: key.mark)))
            }
            content = .mapping(entries)
        case .alias:
            // Parsing puts what an alias stands for in its place.
            content = .nothing
        }
    }
}

extension ScenarioProblem {
    /// What Yams says about a text, at the place it names.
    fileprivate init(_ error: YamlError, in text: String) {
        func at(_ mark: Yams.Mark) -> MarkedValue.Mark { .init(line: mark.line, column: mark.column) }
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            guard !problem.contains("nesting") else {
                self.init(at(mark), "this is nested too deeply")
                return
            }
            let during = context.map { ", \($0.text) that starts in line \($0.mark.line)" } ?? ""
            self.init(at(mark), "this is no YAML: \(problem)\(during)")
        case .duplicatedKeysInMapping(let keys, let context):
            self.init(
                at(context.mark),
                "the key \u{201C}\(keys.first ?? "")\u{201D} is there twice; expected it once")
        case .reader(let problem, let offset, _, _):
            let before = text.prefix(offset ?? 0).split(
                separator: "\n", omittingEmptySubsequences: false)
            self.init(
                .init(line: max(before.count, 1), column: (before.last?.unicodeScalars.count ?? 0) + 1),
                "this is no YAML: \(problem)")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            self.init(.init(line: 1, column: 1), "this is no YAML: there is no memory for it")
        }
    }
}

extension [UInt8] {
    /// The number of the line that holds the first octets that are no UTF-8.
    fileprivate var linesUpToBrokenText: Int {
        for (index, line) in split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        where String(validating: line, as: UTF8.self) == nil {
            return index + 1
        }
        return 1
    }
}
