package import CommandSupport
package import Foundation

/// The JSON document of `verify`.
package struct VerificationDocument: Codable, Sendable {
    /// One check of an identity.
    package struct Check: Codable, Sendable {
        /// The name of the check.
        package let check: String
        /// The outcome of the check: `pass`, `fail`, `not settled` or `not checked`.
        package let outcome: String
        /// The reason for the outcome, as a phrase.
        package let explanation: String

        /// Creates a check.
        package init(check: String, outcome: String, explanation: String) {
            self.check = check
            self.outcome = outcome
            self.explanation = explanation
        }
    }

    /// One certificate of a path, with its effect on the path.
    package struct Link: Codable, Sendable {
        /// The constraints of an authority on the path below it (RFC 5280, 4.2.1.5, 4.2.1.9 to 4.2.1.11, 4.2.1.14).
        /// Absent constraints are omitted.
        package struct Constraints: Codable, Sendable {
            /// A policy of the issuer that is equivalent to a policy of the subject.
            package struct Mapping: Codable, Sendable {
                /// The issuer's policy, as a dotted identifier.
                package let issuerPolicy: String
                /// The subject's policy, as a dotted identifier.
                package let subjectPolicy: String
            }

            /// The maximum number of authorities below this one, not counting self-issued ones.
            package let pathLength: Int?
            /// The permitted subtrees of names.
            package let permittedNames: [String]?
            /// The excluded subtrees of names.
            package let excludedNames: [String]?
            /// The mappings of issuer policies to subject policies (RFC 5280, 4.2.1.5).
            package let policyMappings: [Mapping]?
            /// The number of certificates after which an acceptable policy is required.
            package let requireExplicitPolicy: Int?
            /// The number of certificates after which policies are no longer mapped.
            package let inhibitPolicyMapping: Int?
            /// The number of certificates after which anyPolicy is ignored.
            package let inhibitAnyPolicy: Int?
        }

        /// A source for the revocation status of a certificate.
        package struct Revocation: Codable, Sendable {
            /// The kind of source: `list`, `delta` or `response`.
            package let source: String
            /// The issuer of the list; nil for a response.
            package let issuer: String?
            /// The time from which the source is valid.
            package let thisUpdate: Date
            /// The time until which the source is valid; nil if it has no end.
            package let nextUpdate: Date?
            /// The time of the revocation; nil if the certificate is not revoked.
            package let revokedAt: Date?
            /// The name of the reason in RFC 5280, 5.3.1, such as `keyCompromise`; nil if the source contains none.
            package let reason: String?
        }

        /// The position of the certificate in the path: `anchor`, `authority` or `leaf`.
        package let role: String
        /// The subject of the certificate.
        package let subject: String
        /// The issuer of the certificate.
        package let issuer: String
        /// The serial number in hexadecimal.
        package let serial: String
        /// The SHA-256 of the certificate in hexadecimal.
        package let label: String
        /// The start of the validity period.
        package let notBefore: Date
        /// The end of the validity period.
        package let notAfter: Date
        /// The policies that are valid at this certificate, after mapping, as dotted identifiers.
        package let policies: [String]
        /// The names of ``policies``, in the same order.
        package let policyNames: [IdentifierDocument]
        /// The constraints on the certificates below; nil if there are none.
        package let constraints: Constraints?
        /// The sources that determine whether the certificate is revoked; empty if none does.
        package let revocation: [Revocation]
        /// The problems of the certificate on this path.
        package let problems: [String]
    }

    /// A path that was tried.
    package struct Attempt: Codable, Sendable {
        /// The subjects of the certificates, leaf first.
        package let subjects: [String]
        /// The labels of the certificates, leaf first.
        package let labels: [String]
        /// Whether the path ends in an anchor.
        package let anchored: Bool
        /// The checks that did not pass; empty if the path is valid.
        package let failures: [Check]
    }

    /// A URL that was fetched, or that was skipped.
    package struct Fetched: Codable, Sendable {
        /// The URL, as in the certificate.
        package let url: String
        /// The kind of material: `issuer`, `list` or `status`.
        package let kind: String
        /// Whether material of the requested kind arrived.
        package let arrived: Bool
        /// A description of the material, or the reason why none arrived.
        package let outcome: String
    }

    /// The checks of one identity.
    package typealias Result = WithIdentity<ResultFields>

    /// The outcome of the checks of one identity, without the identity's own fields.
    package struct ResultFields: Codable, Sendable {
        /// The file of the identity, as named on the command line; null for an identity in the keychain.
        @Nullable package var file: String?
        /// Whether every relevant check passed.
        package let valid: Bool
        /// Whether the identity is invalid only because certificates have expired.
        package let expired: Bool
        /// The checks in order.
        package let checks: [Check]
        /// The valid path, or the path that is nearest to being valid, leaf first.
        package let path: [Link]
        /// The paths that were tried, in order.
        package let attempts: [Attempt]
        /// The index of `path` in `attempts`.
        package let chosen: Int
        /// The reason why the search for a path ended: `found`, `exhausted`, `leaf-fault`, `candidate-limit`,
        /// `time-limit` or `step-limit`.
        package let end: String
        /// The URLs of missing material; omitted if fetching was not enabled.
        package let fetched: [Fetched]?
    }

    /// The number of identities with each verdict.
    package struct Summary: Codable, Sendable, Equatable {
        /// The number of valid identities.
        package let valid: Int
        /// The number of identities that are invalid only because they have expired.
        package let expired: Int
        /// The number of identities that are invalid for another reason.
        package let failed: Int
        /// The number of files and labels that could not be checked.
        package let unchecked: Int

        /// Creates a summary of `count` checked identities. Those that are neither valid nor expired have failed.
        package init(of count: Int, valid: Int, expired: Int, unchecked: Int) {
            self.valid = valid
            self.expired = expired
            failed = count - valid - expired
            self.unchecked = unchecked
        }
    }

    /// A file, a part of a file, or a label that could not be checked.
    package struct Failure: Codable, Sendable {
        /// The file or the label, as named on the command line.
        package let item: String
        /// The reason why the item could not be checked.
        package let error: FailureDocument.Body

        /// Creates the entry for a file, a part of a file, or a label that could not be checked.
        package init(item: String, failure: CommandFailure) {
            self.item = item
            error = FailureDocument.Body(failure)
        }
    }

    /// A file in a folder that was not checked, because it contains no material of the expected kind.
    package struct Skipped: Codable, Sendable, Equatable {
        /// The path of the file.
        package let file: String
        /// The reason why the file was skipped.
        package let reason: String
    }

    /// The identities that were checked.
    package let results: [Result]
    /// The files, parts of files and labels that could not be checked; omitted if there are none.
    package let failures: [Failure]?
    /// The files in folders that were not checked; omitted if there are none.
    package let skipped: [Skipped]?
    /// The messages that were judged; omitted without `--message`.
    package let messages: [MessageVerdictDocument]?
    /// The number of identities or messages with each verdict.
    package let summary: Summary

    /// Creates the document of one `verify` command; `messages` is nil if it verified identities.
    package init(
        results: [Result], messages: [MessageVerdictDocument]? = nil, failures: [Failure],
        skipped: [Skipped], summary: Summary
    ) {
        self.results = results
        self.messages = messages
        self.failures = failures.isEmpty ? nil : failures
        self.skipped = skipped.isEmpty ? nil : skipped
        self.summary = summary
    }
}
