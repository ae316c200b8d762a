/// Whether a consumer may pick an item, and why: what a picker shows and what an explanation says are both
/// read from it.
public struct ItemDecision: Sendable, Hashable {
    /// What the user sees.
    public enum State: String, Sendable, Hashable {
        /// Shown and can be picked.
        case enabled
        /// Shown greyed out.
        case disabled
        /// Not shown at all.
        case absent
    }

    /// Why; the raw value is a stable code for scripts.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        case requested
        case notRequested = "not-requested"
        case companionMissing = "companion-missing"
        case folderContentsDisabled = "folder-contents-disabled"
        case emptySelection = "empty-selection"
        case olderGeneration = "older-generation"
        case typeUnknown = "type-unknown"
        case classifiedDifferently = "classified-differently"
        case undeclaredType = "undeclared-type"
        case deprecatedSpelling = "deprecated-spelling"
        case mixedMechanisms = "mixed-mechanisms"
        case otherMechanism = "other-mechanism"
    }

    /// What it is about: an item's identifier, or the uniform type that cannot be asked for.
    public let identifier: String
    /// The item; nil where a uniform type is explained.
    public let item: Item?
    public let state: State
    public let reason: Reason
    /// The reason as one sentence.
    public let message: String
    /// The types that would have to be asked for, or asked for instead, to change the decision.
    public let missing: [String]

    /// Whether it can be picked.
    public var isEnabled: Bool { state == .enabled }

    init(_ item: Item, _ state: State, _ reason: Reason, _ message: String, missing: [String] = []) {
        identifier = item.identifier
        self.item = item
        self.state = state
        self.reason = reason
        self.message = message
        self.missing = missing
    }

    init(type: String, _ reason: Reason, _ message: String, missing: [String] = []) {
        identifier = type
        item = nil
        state = .absent
        self.reason = reason
        self.message = message
        self.missing = missing
    }
}

extension TypeRequest {
    /// Decides about an item of the 2025 mechanism, as the document picker does: by conformance of its type.
    ///
    /// - Parameter isEmpty: whether the folder or zip is known to hold nothing.
    public func decide(
        _ item: Item, isEmpty: Bool = false, registry: UniformTypeRegistry = .standard
    ) -> ItemDecision {
        let match = identifiers.first { registry.conforms(item.contentType, to: $0) }
        let selector = Self.selector(of: item)
        if isEmpty, let selector {
            return ItemDecision(
                item, match == nil ? .disabled : .enabled, .emptySelection,
                "no identity of the provider belongs to \(selector.rawValue), so there is nothing in it",
                missing: match == nil ? [item.contentType] : [])
        }
        if let match {
            if item.kind == .folder, let companion = selector?.companionType, !asks(for: companion, registry)
            {
                return ItemDecision(
                    item, .enabled, .folderContentsDisabled,
                    "the folder can be opened, but what is in it has the type \(companion), which was not asked for",
                    missing: [companion])
            }
            let detail =
                match == item.contentType ? "was asked for" : "conforms to \(match), which was asked for"
            return ItemDecision(item, .enabled, .requested, "its type \(item.contentType) \(detail)")
        }
        if item.kind == .pkcs12, let folderType = selector?.selectType(.keySharing2025),
            asks(for: folderType, registry)
        {
            return ItemDecision(
                item, .disabled, .companionMissing,
                "its folder's type \(folderType) was asked for without the companion \(item.contentType)",
                missing: [item.contentType])
        }
        let opening = item.kind == .folder ? "; the folder can be opened all the same" : ""
        return ItemDecision(
            item, .disabled, .notRequested,
            "its type \(item.contentType) conforms to none of the types asked for\(opening)",
            missing: [item.contentType])
    }

    private func asks(for type: String, _ registry: UniformTypeRegistry) -> Bool {
        identifiers.contains { registry.conforms(type, to: $0) }
    }

    private static func selector(of item: Item) -> Selector? {
        switch ItemIdentifier(item.identifier) {
        case .member(let selector, _), .folder(let selector), .zip(let selector): selector
        case .identity, nil: nil
        }
    }
}
