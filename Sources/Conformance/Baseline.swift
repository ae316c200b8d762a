internal import Diagnostics
internal import Foundation
package import TestVectors

/// The known deviations of a consumer. A run with a baseline fails only if a test vector is worse than its entry.
///
/// The file has one line for each deviation, sorted by name, so that a diff of two versions is easy to review.
package struct Baseline: Sendable, Hashable {
    /// A known verdict other than `pass`.
    package struct Deviation: Sendable, Hashable, Codable {
        /// The verdict in the run from which the baseline was written.
        package let verdict: Verdict
        /// The reason, which people add to the file by hand. Nil if there is none.
        package let reason: String?

        /// Creates a deviation.
        package init(verdict: Verdict, reason: String? = nil) {
            self.verdict = verdict
            self.reason = reason
        }
    }

    /// The result of reading a baseline file.
    package enum Reading: Sendable, Hashable {
        case baseline(Baseline)
        /// The file is not a baseline, with the reason as a clause.
        case problem(String)
    }

    /// The value of the key `format`.
    package static let format = "keyshare-baseline"
    /// The version that this code writes.
    package static let currentVersion = 1

    /// The claims of the consumer. Other claims have other expected outcomes.
    package let claims: TestVectorClaim
    /// The deviations by the names of their test vectors.
    package let deviations: [String: Deviation]

    /// Creates a baseline.
    package init(claims: TestVectorClaim, deviations: [String: Deviation] = [:]) {
        self.claims = claims
        self.deviations = deviations
    }

    /// Reads the contents of a file.
    package static func read(_ bytes: [UInt8]) -> Reading {
        guard CombiningMarks.areFew(inJSON: bytes) else {
            return .problem(
                "it is not JSON in UTF-8, or has more than \(CombiningMarks.most) consecutive combining marks"
            )
        }
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: Data(bytes))
        } catch DecodingError.dataCorrupted {
            return .problem("it is not JSON")
        } catch {
            return .problem("it needs the keys format, version, claims and vectors")
        }
        guard document.format == format else { return .problem("its format is not \(format)") }
        guard document.version == currentVersion else {
            return .problem("its version is \(document.version), and this program reads \(currentVersion)")
        }
        guard let claims = TestVectorClaim(rawValue: document.claims) else {
            return .problem("it has the unknown claim \u{201C}\(document.claims)\u{201D}")
        }
        var deviations: [String: Deviation] = [:]
        for entry in document.vectors {
            guard let verdict = Verdict(rawValue: entry.verdict), verdict != .pass, verdict != .notRun else {
                return .problem(
                    "\(entry.name) has the verdict \u{201C}\(entry.verdict)\u{201D}, which is not a deviation"
                )
            }
            guard deviations[entry.name] == nil else { return .problem("\(entry.name) has two entries") }
            deviations[entry.name] = Deviation(verdict: verdict, reason: entry.reason)
        }
        return .baseline(Baseline(claims: claims, deviations: deviations))
    }

    /// The contents of the file.
    package var text: String {
        let lines = deviations.sorted { $0.key < $1.key }.map { name, deviation in
            let reason = deviation.reason.map { ", \"reason\": \(Self.quoted($0))" } ?? ""
            return
                "    {\"name\": \(Self.quoted(name)), \"verdict\": \"\(deviation.verdict.rawValue)\"\(reason)}"
        }
        return """
            {
              "format": "\(Self.format)",
              "version": \(Self.currentVersion),
              "claims": "\(claims.rawValue)",
              "vectors": [\(lines.isEmpty ? "" : "\n" + lines.joined(separator: ",\n") + "\n  ")]
            }

            """
    }

    /// Returns the baseline after a run. Entries keep their reasons.
    ///
    /// - Parameters:
    ///   - report: The report of the run. Test vectors without a verdict in it keep their entries, unless the claims
    ///     differ.
    ///   - existing: The names of all test vectors. Entries with other names are removed.
    ///   - other: Another baseline. Its reasons are used for entries without a reason.
    package func updated(
        by report: ConformanceReport, existing: Set<String>, reasonsOf other: Baseline? = nil
    ) -> Baseline {
        var updated = claims == report.claims ? deviations.filter { existing.contains($0.key) } : [:]
        for result in report.results where result.verdict != .notRun {
            let reason = deviations[result.name]?.reason ?? other?.deviations[result.name]?.reason
            updated[result.name] =
                result.verdict == .pass ? nil : Deviation(verdict: result.verdict, reason: reason)
        }
        return Baseline(claims: report.claims, deviations: updated)
    }

    private static func quoted(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }

    /// The decoded file. Verdicts and claims are strings, so that an error message can quote an unknown value.
    private struct Document: Decodable {
        struct Entry: Decodable {
            let name: String
            let verdict: String
            let reason: String?
        }
        let format: String
        let version: Int
        let claims: String
        let vectors: [Entry]
    }
}
