/// The decision whether a consumer may pick an item, and why. A picker shows decisions, and an explanation
/// prints them.
///
/// ```swift
/// let request = try TypeRequest(["purebred2025.select.signature"], mechanism: .keySharing2025)
/// let decision = request.decide(.file(identity, in: .signature, under: .keySharing2025))
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

    /// The reasons for a decision; the raw values are stable codes for scripts.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The type of the item was asked for, or one to which it conforms.
        case requested
        /// The type of the item was not asked for.
        case notRequested = "not-requested"
        /// The folder of the file was asked for without the type of the files in it (docs/rules.md R2.9).
        case companionMissing = "companion-missing"
        /// The folder was asked for without the type of the files in it (docs/rules.md R2.9).
        case folderContentsDisabled = "folder-contents-disabled"
        /// No identity belongs to the folder, zip or legacy type.
        case emptySelection = "empty-selection"
        /// A newer identity of the type takes the place of the identity (docs/rules.md R3.5).
        case olderGeneration = "older-generation"
        /// The identity fits no rule of classification (docs/rules.md R5.10).
        case typeUnknown = "type-unknown"
        /// The other mechanism gives the identity a type that was asked for (docs/rules.md R5.12).
        case classifiedDifferently = "classified-differently"
        /// The type is not declared (docs/rules.md R2.11).
        case undeclaredType = "undeclared-type"
        /// The type is spelled with `_` (docs/rules.md R2.12).
        case deprecatedSpelling = "deprecated-spelling"
        /// The request names types of both mechanisms (docs/rules.md R1.1).
        case mixedMechanisms = "mixed-mechanisms"
        /// The type belongs to the other mechanism (docs/rules.md R1.3).
        case otherMechanism = "other-mechanism"
        /// The request names a type that cannot be asked for, so that it enables nothing (docs/rules.md R2.13).
        case invalidRequest = "invalid-request"
    }

    /// The identifier of the item, or the uniform type that cannot be asked for.
    public let identifier: String
    /// The item; nil where a uniform type is explained.
    public let item: Item?
    /// How a picker shows the item.
    public let state: State
    /// Why the item is shown so.
    public let reason: Reason
    /// The reason as one sentence without a full stop, with the values.
    public let message: String
    /// The types to ask for, beside the others or in their place, to change the decision.
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
