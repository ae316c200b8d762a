package import CommandSupport
package import KeySharing

/// The JSON document of `explain`.
package struct ExplanationDocument: Codable, Sendable {
    /// The decision about one item, or about one type that cannot be requested.
    package typealias Row = WithOptionalIdentity<RowFields>

    /// The fields of a decision, without those of the identity in the item's file.
    package struct RowFields: Codable, Sendable {
        /// The identifier of the item, or the type.
        package var identifier: String
        /// The file name that a user sees; nil for a type.
        package var filename: String?
        /// The kind of the item: `pkcs12`, `folder` or `zip`; nil for a type.
        package var kind: String?
        /// The uniform type of the item; nil for a type.
        package var contentType: String?
        /// The identifier of the container that lists the item; nil for a type.
        package var parent: String?
        /// Whether the consumer may pick the item.
        package var enabled: Bool
        /// The state of the item in a picker: `enabled`, `disabled` or `absent`.
        package var state: String
        /// The stable code of the reason.
        package var reason: String
        /// The reason as a sentence.
        package var message: String
        /// The types to request in order to change the decision.
        package var missing: [String]
    }

    /// The mechanism of the request: `2025` or `legacy`.
    package let mechanism: String
    /// The requested types.
    package let requested: [String]
    /// The decisions in list order.
    package let items: [Row]

    /// Creates the document with the decisions for a request.
    ///
    /// - Parameters:
    ///   - mechanism: The mechanism of the request.
    ///   - requested: The requested types.
    ///   - decisions: The decisions in list order.
    ///   - identities: The identities of the provider, keyed by label.
    package init(
        _ mechanism: Mechanism, requested: [String], _ decisions: [ItemDecision],
        of identities: [String: IdentitySummary]
    ) {
        self.mechanism = mechanism.rawValue
        self.requested = requested
        items = decisions.map { decision in
            let item = decision.item
            return Row(
                item?.label.flatMap { identities[$0] },
                RowFields(
                    identifier: decision.identifier, filename: item?.filename, kind: item?.kind.rawValue,
                    contentType: item?.contentType, parent: item?.parent, enabled: decision.isEnabled,
                    state: decision.state.rawValue, reason: decision.reason.rawValue,
                    message: decision.message, missing: decision.missing))
        }
    }
}
