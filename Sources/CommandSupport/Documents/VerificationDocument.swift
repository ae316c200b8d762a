package import Foundation

/// The JSON document of `verify`.
package struct VerificationDocument: Codable, Sendable {
    /// One check of an identity.
    package struct Check: Codable, Sendable {
        /// The name of the check.
        package let check: String
        /// What came of the check: `pass`, `fail`, `not settled` or `not checked`.
        package let outcome: String
        /// The outcome as a phrase.
        package let explanation: String

        /// A check by its parts.
        package init(check: String, outcome: String, explanation: String) {
            self.check = check
            self.outcome = outcome
            self.explanation = explanation
        }
    }

    /// One certificate of a path, with what it adds to the path.
    package struct Link: Codable, Sendable {
        /// What an authority asks of the path below it (RFC 5280, 4.2.1.5, 4.2.1.9 to 4.2.1.11, 4.2.1.14). What is
        /// not asked is left out.
        package struct Constraints: Codable, Sendable {
            /// A policy of the issuer's that stands for one of the subject's.
            package struct Mapping: Codable, Sendable {
                /// The issuer's policy, dotted.
                package let issuerPolicy: String
                /// The subject's policy, dotted.
                package let subjectPolicy: String
            }

            /// The greatest number of authorities below that are not self-issued.
            package let pathLength: Int?
            /// The subtrees that names must be in.
            package let permittedNames: [String]?
            /// The subtrees that names must not be in.
            package let excludedNames: [String]?
            /// The policy mappings.
            package let policyMappings: [Mapping]?
            /// After how many certificates an acceptable policy is required.
            package let requireExplicitPolicy: Int?
            /// After how many certificates policies are no longer mapped.
            package let inhibitPolicyMapping: Int?
            /// After how many certificates anyPolicy counts for nothing.
            package let inhibitAnyPolicy: Int?
        }

        /// What tells whether a certificate is revoked.
        package struct Revocation: Codable, Sendable {
            /// `list`, `delta` or `response`.
            package let source: String
            /// Who signed the list; nil for a response.
            package let issuer: String?
            /// From when it counts.
            package let thisUpdate: Date
            /// Until when it counts; nil where it does not say.
            package let nextUpdate: Date?
        }

        /// `anchor`, `authority` or `leaf`.
        package let role: String
        /// The subject of the certificate.
        package let subject: String
        /// The issuer of the certificate.
        package let issuer: String
        /// The serial number in hexadecimal digits.
        package let serial: String
        /// The SHA-256 of the certificate in hexadecimal digits.
        package let label: String
        /// The start of the validity.
        package let notBefore: Date
        /// The end of the validity.
        package let notAfter: Date
        /// The policies that hold there, after mapping, dotted.
        package let policies: [String]
        /// The policies that hold there with their names, in the same order.
        package let policyNames: [IdentifierDocument]
        /// What the certificate asks of those below; nil where it asks for nothing.
        package let constraints: Constraints?
        /// What tells whether the certificate is revoked; empty where nothing does.
        package let revocation: [Revocation]
        /// What is wrong with the certificate on this path.
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
        /// The checks that did not pass; empty where the path is valid.
        package let failures: [Check]
    }

    /// A URL that was asked.
    package struct Fetched: Codable, Sendable {
        /// The URL.
        package let url: String
        /// `issuer`, `list` or `status`.
        package let kind: String
        /// Whether something of the kind arrived.
        package let arrived: Bool
        /// What arrived, or why nothing did.
        package let outcome: String
    }

    /// The checks of one identity.
    package typealias Result = WithIdentity<ResultFields>

    /// What came of the checks of one identity, beside whose it is.
    package struct ResultFields: Codable, Sendable {
        /// The file that the identity is in, as it was named; null for one of the keychain.
        @Nullable package var file: String?
        /// Whether every check that matters passed.
        package let valid: Bool
        /// Whether the identity is not valid for no other reason than that something has expired.
        package let expired: Bool
        /// The checks in the order in which they were made.
        package let checks: [Check]
        /// The valid path, or the one that came nearest, leaf first.
        package let path: [Link]
        /// The paths that were tried, in order.
        package let attempts: [Attempt]
        /// The place of `path` among `attempts`, from 0.
        package let chosen: Int
        /// Why the search for a path ended: `found`, `exhausted`, `leaf-fault`, `candidate-limit`, `time-limit` or
        /// `step-limit`.
        package let end: String
        /// The URLs that were asked; left out where nothing was to be fetched.
        package let fetched: [Fetched]?
    }

    /// How many identities there are of each verdict.
    package struct Summary: Codable, Sendable, Equatable {
        /// Those that are valid.
        package let valid: Int
        /// Those that have only expired.
        package let expired: Int
        /// Those that are not valid for another reason.
        package let failed: Int
        /// The files and labels that gave nothing to check.
        package let unchecked: Int

        /// A summary by its parts.
        package init(valid: Int, expired: Int, failed: Int, unchecked: Int) {
            self.valid = valid
            self.expired = expired
            self.failed = failed
            self.unchecked = unchecked
        }
    }

    /// A file or a label, or a part of a file, that gave nothing to check.
    package struct Failure: Codable, Sendable {
        /// The file or the label as it was named on the command line.
        package let item: String
        /// Why there is nothing to check.
        package let error: FailureDocument.Body

        /// A failure by its parts.
        package init(item: String, failure: CommandFailure) {
            self.item = item
            error = FailureDocument.Body(failure)
        }
    }

    /// The identities that were checked.
    package let results: [Result]
    /// The files and labels, or parts of files, that gave nothing to check; left out where there is none.
    package let failures: [Failure]?
    /// How many there are of each verdict.
    package let summary: Summary

    /// The results and failures of a run.
    package init(results: [Result], failures: [Failure], summary: Summary) {
        self.results = results
        self.failures = failures.isEmpty ? nil : failures
        self.summary = summary
    }
}
