package import Foundation
package import KeySharing

/// The JSON document of `revoke`.
package struct RevocationDocument: Codable, Sendable {
    /// What came of one name on the command line.
    package struct Result: Codable, Sendable {
        /// What can come of it.
        package enum Status: String, Codable, Sendable {
            /// The certificate is on the list now.
            case revoked
            /// The certificate was on the list before.
            case alreadyRevoked = "already-revoked"
            /// The certificate is not on the list.
            case failed
        }

        /// The name on the command line.
        package let item: String
        /// What came of it.
        package let status: Status
        /// When the certificate was revoked; null where it was not.
        package let revoked: Date?
        /// Why the certificate was revoked; null where it was not.
        package let reason: String?
        /// Why it is not on the list; null where it is.
        package let error: FailureDocument.Body?
        /// Whose the identity is; null where the name names none.
        package let identity: IdentityDocument?

        /// Describes an identity that is on the list.
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

        /// Describes a name for which nothing could be done.
        package init(item: String, identity: IdentitySummary?, failure: CommandFailure) {
            self.item = item
            status = .failed
            revoked = nil
            reason = nil
            error = FailureDocument.Body(failure)
            self.identity = identity.map(IdentityDocument.init)
        }

        private enum CodingKeys: CodingKey { case item, status, revoked, reason, error }

        // Written by hand, because the fields of the identity stand among those of the result.
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

    /// Describes what came of each name.
    package init(results: [Result]) {
        self.results = results
    }
}
