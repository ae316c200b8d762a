import CommandSupport
import Diagnostics
import KeySharing

/// A summary of the decisions about all items: one line for each folder and reason, requested items first.
///
/// The number of lines does not depend on the number of identities.
struct ExplanationSummary {
    /// Decisions that share a line.
    struct Group {
        /// The folder of the items, the name of the only item, or the type that cannot be requested.
        fileprivate(set) var name: String
        /// The decisions, in list order.
        fileprivate(set) var decisions: [ItemDecision]

        /// Whether the items can be picked.
        var isEnabled: Bool { decisions.first?.isEnabled ?? false }

        /// The state and reason of the items, and the types that would change it, for display after the name.
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
            // Requesting another type changes nothing if the item is already requested or contains no identity.
            let remedy = [.requested, .emptySelection].contains(first.reason) ? [] : first.missing
            return ("\(number)\(first.state.rawValue), \(first.reason.phrase)", remedy)
        }
    }

    /// The groups: errors in the request first, then requested items, then all other items.
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

    /// The properties that the items of one line share.
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

    /// The rank in the summary: 0 for errors in the request, 1 for requested items, 2 for all other items.
    fileprivate var rank: Int {
        guard let first = decisions.first, first.item != nil else { return 0 }
        return !first.isEnabled && [.notRequested, .emptySelection].contains(first.reason) ? 2 : 1
    }
}

extension ItemDecision {
    /// The name of the item, after the name of its folder. A slash follows the name of a folder. For a decision about a
    /// type, the type.
    var path: String {
        guard let item else { return identifier }
        let folder = item.parent == Item.root ? "" : item.parent + "/"
        return folder + item.filename + (item.kind == .folder ? "/" : "")
    }
}

extension ItemDecision.Reason {
    /// The reason in a few words that apply to one or many items.
    fileprivate var phrase: String {
        switch self {
        case .requested: "requested"
        case .notRequested: "not requested"
        case .companionMissing: "companion missing"
        case .folderContentsDisabled: "opens, but its files are disabled"
        case .emptySelection: "contains no identity"
        case .olderGeneration: "replaced by a newer identity of the type"
        case .typeUnknown: "type unknown"
        case .classifiedDifferently: "different type under the other mechanism"
        case .undeclaredType: "undeclared type"
        case .deprecatedSpelling: "deprecated spelling"
        case .mixedMechanisms: "types of both mechanisms"
        case .otherMechanism: "belongs to the other mechanism"
        case .invalidRequest: "the request is invalid and enables nothing"
        }
    }
}

extension Console {
    /// Prints the groups, each on one line if the terminal is wide enough.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
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
