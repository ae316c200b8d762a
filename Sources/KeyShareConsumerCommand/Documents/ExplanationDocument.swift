package import CommandSupport
package import KeySharing

/// The JSON document of `explain`.
package struct ExplanationDocument: Codable, Sendable {
    /// The decision about one item, or about one type that cannot be requested.
    package struct Row: Codable, Sendable {
        /// The identifier of the item, or the type.
        package let identifier: String
        /// The name that a user sees; nil for a type.
        package let filename: String?
        /// The kind of the item: `pkcs12`, `folder` or `zip`; nil for a type.
        package let kind: String?
        /// The uniform type of the item; nil for a type.
        package let contentType: String?
        /// The identifier of the container that lists the item; nil for a type.
        package let parent: String?
        /// Whether the consumer may pick the item.
        package let enabled: Bool
        /// The state of the item in a picker: `enabled`, `disabled` or `absent`.
        package let state: String
        /// The stable code of the reason.
        package let reason: String
        /// The reason as a sentence.
        package let message: String
        /// The types to request in order to change the decision.
        package let missing: [String]
        /// The identity in the item's file. Its fields are merged with the other fields; nil for other rows.
        package let identity: IdentityDocument?

        init(_ decision: ItemDecision, _ identities: [String: IdentitySummary]) {
            identity = decision.item?.label.flatMap { identities[$0] }.map(IdentityDocument.init)
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

        // Encodes the identity's fields next to those of the row, with null for other rows.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(identifier, forKey: .identifier)
            try container.encodeIfPresent(filename, forKey: .filename)
            try container.encodeIfPresent(kind, forKey: .kind)
            try container.encodeIfPresent(contentType, forKey: .contentType)
            try container.encodeIfPresent(parent, forKey: .parent)
            try container.encode(enabled, forKey: .enabled)
            try container.encode(state, forKey: .state)
            try container.encode(reason, forKey: .reason)
            try container.encode(message, forKey: .message)
            try container.encode(missing, forKey: .missing)
            try IdentityDocument.encode(identity, to: encoder)
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            identifier = try container.decode(String.self, forKey: .identifier)
            filename = try container.decodeIfPresent(String.self, forKey: .filename)
            kind = try container.decodeIfPresent(String.self, forKey: .kind)
            contentType = try container.decodeIfPresent(String.self, forKey: .contentType)
            parent = try container.decodeIfPresent(String.self, forKey: .parent)
            enabled = try container.decode(Bool.self, forKey: .enabled)
            state = try container.decode(String.self, forKey: .state)
            reason = try container.decode(String.self, forKey: .reason)
            message = try container.decode(String.self, forKey: .message)
            missing = try container.decode([String].self, forKey: .missing)
            identity = try? IdentityDocument(from: decoder)
        }

        private enum CodingKeys: CodingKey {
            case identifier, filename, kind, contentType, parent, enabled, state, reason, message, missing
        }
    }

    /// The mechanism of the request: `2025` or `legacy`.
    package let mechanism: String
    /// The requested types.
    package let requested: [String]
    /// The decisions in list order.
    package let items: [Row]

    /// Describes the decisions for a request.
    ///
    /// - Parameters:
    ///   - mechanism: the mechanism of the request.
    ///   - requested: the requested types.
    ///   - decisions: the decisions in list order.
    ///   - identities: the identities of the provider, keyed by label.
    package init(
        _ mechanism: Mechanism, requested: [String], _ decisions: [ItemDecision],
        of identities: [String: IdentitySummary]
    ) {
        self.mechanism = mechanism.rawValue
        self.requested = requested
        items = decisions.map { Row($0, identities) }
    }
}
