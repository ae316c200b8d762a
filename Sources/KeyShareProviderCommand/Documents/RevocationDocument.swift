package import CommandSupport
package import Foundation
package import KeySharing

/// The JSON document of `revoke`.
package struct RevocationDocument: Codable, Sendable {
    /// The outcome for one name on the command line.
    package struct Result: Codable, Sendable {
        /// The possible outcomes.
        package enum Status: String, Codable, Sendable {
            /// The certificate is now on the list.
            case revoked
            /// The certificate was already on the list.
            case alreadyRevoked = "already-revoked"
            /// The certificate is not on the list.
            case failed
        }

        /// The name on the command line.
        package let item: String
        /// The outcome.
        package let status: Status
        /// The time of the revocation; null if the certificate is not revoked.
        package let revoked: Date?
        /// The reason for the revocation; null if the certificate is not revoked.
        package let reason: String?
        /// The reason that the certificate is not on the list; null if it is.
        package let error: FailureDocument.Body?
        /// The identity and its holder; null if the name matches no identity.
        package let identity: IdentityDocument?

        /// Describes an identity on the list.
        package init(
            item: String, identity: IdentitySummary, revoked: Date, reason: String, isNew: Bool
        ) {
            self.item = item
            status = isNew ? .revoked : .alreadyRevoked
            self.revoked = revoked
            self.reason = reason
            error = nil
            self.identity = IdentityDocument(identity)
        }

        /// Describes a name that could not be processed.
        package init(item: String, identity: IdentitySummary?, failure: CommandFailure) {
            self.item = item
            status = .failed
            revoked = nil
            reason = nil
            error = FailureDocument.Body(failure)
            self.identity = identity.map(IdentityDocument.init)
        }

        private enum CodingKeys: CodingKey { case item, status, revoked, reason, error }

        // Written by hand, because the fields of the identity are among those of the result.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(item, forKey: .item)
            try container.encode(status, forKey: .status)
            try container.encode(revoked, forKey: .revoked)
            try container.encode(reason, forKey: .reason)
            try container.encode(error, forKey: .error)
            try IdentityDocument.encode(identity, to: encoder)
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            item = try container.decode(String.self, forKey: .item)
            status = try container.decode(Status.self, forKey: .status)
            revoked = try container.decode(Date?.self, forKey: .revoked)
            reason = try container.decode(String?.self, forKey: .reason)
            error = try container.decode(FailureDocument.Body?.self, forKey: .error)
            identity = try? IdentityDocument(from: decoder)
        }
    }

    /// The results in the order of the command line.
    package let results: [Result]

    /// Creates a list of outcomes.
    package init(results: [Result]) {
        self.results = results
    }
}
