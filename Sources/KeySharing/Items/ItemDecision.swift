/// The decision whether a consumer may pick an item, and why. Pickers show decisions; explanations print them.
///
/// ```swift
/// let request = try TypeRequest(["purebred2025.select.signature"], under: .keySharing2025)
/// let decision = request.keySharing2025Decision(
///     for: .file(identity, in: .signature, under: .keySharing2025))
/// let reason = decision.reason  // .companionMissing
/// let remedy = decision.missing  // ["purebred2025.select.signature-p12"]
/// ```
public struct ItemDecision: Sendable, Hashable {
    /// The ways in which a picker shows an item.
    public enum State: String, Sendable, Hashable {
        /// The item is shown and can be picked.
        case enabled
        /// The item is shown and cannot be picked.
        case disabled
        /// The item is not shown.
        case absent
    }

    /// The reasons for a decision. The raw values are stable codes for scripts.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The item's type, or a type that it conforms to, was requested.
        case requested
        /// The item's type was not requested.
        case notRequested = "not-requested"
        /// The file's folder type was requested without the type of the files in the folder (docs/rules.md R2.9).
        case companionMissing = "companion-missing"
        /// The folder's type was requested without the type of the files in it (docs/rules.md R2.9).
        case folderContentsDisabled = "folder-contents-disabled"
        /// No identity belongs to the folder, zip or legacy type.
        case emptySelection = "empty-selection"
        /// A newer identity of the same type replaces the identity (docs/rules.md R3.5).
        case olderGeneration = "older-generation"
        /// The identity matches no classification rule (docs/rules.md R5.10).
        case typeUnknown = "type-unknown"
        /// The identity has a requested type only under the rules of the other mechanism (docs/rules.md R5.12).
        case classifiedDifferently = "classified-differently"
        /// The type is not declared (docs/rules.md R2.11).
        case undeclaredType = "undeclared-type"
        /// The type is spelled with `_` (docs/rules.md R2.12).
        case deprecatedSpelling = "deprecated-spelling"
        /// The request names types of both mechanisms (docs/rules.md R1.1).
        case mixedMechanisms = "mixed-mechanisms"
        /// The type belongs to the other mechanism (docs/rules.md R1.3).
        case otherMechanism = "other-mechanism"
        /// The request contains a type that cannot be requested, so it enables nothing (docs/rules.md R2.13).
        case invalidRequest = "invalid-request"
    }

    /// The identifier of the item, or the uniform type that cannot be requested.
    public let identifier: String
    /// The item; nil if the decision is about a uniform type.
    public let item: Item?
    /// How a picker shows the item.
    public let state: State
    /// The reason for the state.
    public let reason: Reason
    /// A sentence about the reason, with the types and names concerned and without a full stop.
    public let message: String
    /// The types to request, in addition to the requested types or instead of them, to change the decision.
    public let missing: [String]

    /// Whether the item can be picked.
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
