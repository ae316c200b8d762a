package import KeySharing

/// The JSON document of `explain`.
package struct ExplanationDocument: Codable, Sendable {
    /// The decision about one item, or about one type that cannot be asked for.
    package struct Row: Codable, Sendable {
        /// The identifier of the item, or the type.
        package let identifier: String
        /// The name that a user sees; nil for a type.
        package let filename: String?
        /// What the item is: `pkcs12`, `folder` or `zip`; nil for a type.
        package let kind: String?
        /// The uniform type of the item; nil for a type.
        package let contentType: String?
        /// The identifier of the container that lists the item; nil for a type.
        package let parent: String?
        /// Whether the consumer may pick the item.
        package let enabled: Bool
        /// What a user sees of the item: `enabled`, `disabled` or `absent`.
        package let state: String
        /// The stable code of the reason.
        package let reason: String
        /// The reason as a sentence.
        package let message: String
        /// The types that would have to be asked for to change the decision.
        package let missing: [String]

        init(_ decision: ItemDecision) {
            identifier = decision.identifier
            filename = decision.item?.filename
            kind = decision.item?.kind.rawValue
            contentType = decision.item?.contentType
            parent = decision.item?.parent
            enabled = decision.isEnabled
            state = decision.state.rawValue
            reason = decision.reason.rawValue
            message = decision.message
            missing = decision.missing
        }
    }

    /// The mechanism of the request: `2025` or `legacy`.
    package let mechanism: String
    /// The types that were asked for.
    package let requested: [String]
    /// The decisions in the order of the lists.
    package let items: [Row]

    /// Describes the decisions that `request` leads to.
    package init(_ request: TypeRequest, _ decisions: [ItemDecision]) {
        mechanism = request.mechanism.rawValue
        requested = request.identifiers
        items = decisions.map(Row.init)
    }
}
