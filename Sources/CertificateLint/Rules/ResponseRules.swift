import Foundation
import OpenSSL

/// An OCSP response, its contents, and the time at which it is examined.
struct LintedResponse: Sendable {
    let response: StatusResponse
    /// The contents of the response; nil if the responder returned no status.
    let contents: StatusResponse.Contents?
    let date: Date
}

/// Rules about OCSP responses (RFC 6960).
enum ResponseRules {
    typealias Rule = LintRule<LintedResponse>

    static let all: [Rule] = [
        Rule(
            "response-without-status", .notice, "RFC 6960 2.3",
            "the responder returned an error instead of a status",
            message: { $0.response.refusal.map { "the responder returned no status (\($0))" } }),
        Rule(
            "response-weak-signature-digest", .error, "NIST SP 800-78-5 3.2, SP 800-131A 3",
            "the response is signed with a broken digest",
            message: {
                $0.contents.flatMap { SignatureFacts.weakDigest($0.signatureAlgorithm) }.map {
                    "the signature uses \($0), which is broken"
                }
            }),
        Rule(
            "response-empty", .error, "RFC 6960 4.2.1", "the response contains no status",
            if: { $0.contents?.singles.isEmpty ?? false }),
        Rule(
            "response-next-update-missing", .notice, "RFC 6960 4.2.2.1",
            "a status has no nextUpdate",
            if: { $0.contents?.singles.contains { $0.nextUpdate == nil } ?? false }),
        Rule(
            "response-next-update-reversed", .error, "RFC 6960 4.2.2.1",
            "the nextUpdate of a status is before its thisUpdate",
            if: {
                $0.contents?.singles.contains { single in
                    guard let start = single.thisUpdate, let end = single.nextUpdate else { return false }
                    return end < start
                } ?? false
            }),
        Rule(
            "response-produced-early", .warning, "RFC 6960 2.4",
            "the response was produced before the thisUpdate of a status",
            if: { subject in
                guard let contents = subject.contents, let made = contents.producedAt else { return false }
                return contents.singles.contains { $0.thisUpdate.map { $0 > made } ?? false }
            }),
        Rule(
            "response-expired", .notice, "RFC 6960 4.2.2.1",
            "the nextUpdate of a status has passed, so a newer response should exist",
            if: { subject in
                subject.contents?.singles.contains { $0.nextUpdate.map { $0 < subject.date } ?? false }
                    ?? false
            }),
    ]
}
