package import CommandSupport
package import Foundation
package import KeySharing

/// The JSON document of `revoke`.
package struct RevocationDocument: Codable, Sendable {
    /// The outcome for one name on the command line. It has no identity if the name matches none.
    package typealias Result = WithOptionalIdentity<ResultFields>

    /// The possible outcomes.
    package enum Status: String, Codable, Sendable {
        /// The certificate is now on the list.
        case revoked
        /// The certificate was already on the list.
        case alreadyRevoked = "already-revoked"
        /// The certificate is not on the list.
        case failed
    }

    /// The fields of an outcome, without those of the identity.
    package struct ResultFields: Codable, Sendable {
        /// The name on the command line.
        package var item: String
        /// The outcome.
        package var status: Status
        /// The time of the revocation; null if the certificate is not revoked.
        @Nullable package var revoked: Date?
        /// The reason for the revocation; null if the certificate is not revoked.
        @Nullable package var reason: String?
        /// The reason why the certificate is not on the list; null if it is on the list.
        @Nullable package var error: FailureDocument.Body?
    }

    /// The results in the order of the command line.
    package let results: [Result]

    /// Creates the document from its entries.
    package init(results: [Result]) {
        self.results = results
    }
}

extension RevocationDocument.Result {
    /// Creates the outcome for an identity that is on the list.
    package init(
        item: String, identity: IdentitySummary, revoked: Date, reason: String, isNew: Bool
    ) {
        self.init(
            identity,
            RevocationDocument.ResultFields(
                item: item, status: isNew ? .revoked : .alreadyRevoked, revoked: revoked, reason: reason,
                error: nil))
    }

    /// Creates the outcome for a name that could not be processed.
    package init(item: String, identity: IdentitySummary?, failure: CommandFailure) {
        self.init(
            identity,
            RevocationDocument.ResultFields(
                item: item, status: .failed, revoked: nil, reason: nil, error: FailureDocument.Body(failure)))
    }
}
