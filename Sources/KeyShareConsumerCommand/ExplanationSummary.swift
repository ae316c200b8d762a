import CommandSupport
import Diagnostics
import KeySharing

/// The decisions about all items in a few lines: one for each folder and reason, what was asked for first.
///
/// The number of lines does not grow with the number of identities.
struct ExplanationSummary {
    /// Decisions that one line tells.
    struct Group {
        /// The folder of the items, or the name of the only item, or the type that cannot be asked for.
        fileprivate(set) var name: String
        /// The decisions, in the order of the lists.
        fileprivate(set) var decisions: [ItemDecision]

        /// Whether the items can be picked.
        var isEnabled: Bool { decisions.first?.isEnabled ?? false }

        /// What holds of the items, and what would change that, to be told after the name.
        var words: (fact: String, remedy: [String]) {
            guard let first = decisions.first else { return ("", []) }
            guard let item = first.item else { return (first.message, first.missing) }
            let kind =
                switch item.kind {
                case .pkcs12: ("file", "files")
                case .folder: ("folder", "folders")
                case .zip: ("zip", "zips")
                }
            let number = decisions.count == 1 ? "" : counted(decisions.count, kind.0, kind.1) + " "
            let remedy = first.isEnabled && first.reason == .requested ? [] : first.missing
            return ("\(number)\(first.state.rawValue), \(first.reason.phrase)", remedy)
        }
    }

    /// The groups, what was asked for first.
    let groups: [Group]

    /// Groups decisions by folder, kind, state, reason and remedy.
    init(_ decisions: [ItemDecision]) {
        var order: [Key] = []
        var members: [Key: [ItemDecision]] = [:]
        for decision in decisions {
            let key = Key(decision)
            if members[key] == nil { order.append(key) }
            members[key, default: []].append(decision)
        }
        let groups = order.compactMap { key in members[key].map { Group(key, $0) } }
        self.groups = (0...2).flatMap { rank in groups.filter { $0.rank == rank } }
    }

    /// What the items of one line have in common.
    fileprivate struct Key: Hashable {
        let parent: String
        let kind: Item.Kind?
        let state: ItemDecision.State
        let reason: ItemDecision.Reason
        let missing: [String]

        init(_ decision: ItemDecision) {
            parent = decision.item?.parent ?? decision.identifier
            kind = decision.item?.kind
            state = decision.state
            reason = decision.reason
            missing = decision.missing
        }
    }
}

extension ExplanationSummary.Group {
    fileprivate init(_ key: ExplanationSummary.Key, _ decisions: [ItemDecision]) {
        self.decisions = decisions
        if decisions.count == 1, let only = decisions.first {
            name = only.path
        } else {
            name = key.parent == Item.root ? "Root" : key.parent
        }
    }

    /// 0 for what is wrong with the request, 1 for what was asked for, 2 for everything else.
    fileprivate var rank: Int {
        guard let first = decisions.first, first.item != nil else { return 0 }
        return first.reason == .notRequested ? 2 : 1
    }
}

extension ItemDecision {
    /// The name of the item with its folder before it, and a slash behind a folder; the type where there is no item.
    var path: String {
        guard let item else { return identifier }
        let folder = item.parent == Item.root ? "" : item.parent + "/"
        return folder + item.filename + (item.kind == .folder ? "/" : "")
    }
}

extension ItemDecision.Reason {
    /// The reason in a few words, which hold of one item and of many.
    fileprivate var phrase: String {
        switch self {
        case .requested: "asked for"
        case .notRequested: "not asked for"
        case .companionMissing: "companion missing"
        case .folderContentsDisabled: "opens, but what is in it is disabled"
        case .emptySelection: "nothing belongs there"
        case .olderGeneration: "a newer one of the type takes the place"
        case .typeUnknown: "type unknown"
        case .classifiedDifferently: "of another type under the other mechanism"
        case .undeclaredType: "no declared type"
        case .deprecatedSpelling: "deprecated spelling"
        case .mixedMechanisms: "types of both mechanisms"
        case .otherMechanism: "of the other mechanism"
        case .invalidRequest: "the request is invalid, and enables nothing"
        }
    }
}

extension Console {
    /// Writes the groups, each on one line, or on more where the terminal is narrow.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    func summary(_ summary: ExplanationSummary) throws(CommandFailure) {
        for group in summary.groups {
            let (fact, remedy) = group.words
            let text = "\(group.name): \(fact)"
            let advice = remedy.isEmpty ? nil : "add --uti " + remedy.joined(separator: " --uti ")
            let line = advice.map { "\(text): \($0)" } ?? text
            let lines = fits(line) ? [line] : [text] + (advice.map { ["    " + $0] } ?? [])
            for line in lines {
                if group.isEnabled {
                    try data(line)
                } else {
                    try dimmed(line)
                }
            }
        }
    }
}
