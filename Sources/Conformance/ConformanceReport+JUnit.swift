internal import Diagnostics
internal import Foundation
internal import TestVectors

extension ConformanceReport {
    /// The report for CI servers: one test case for each test vector, in the JUnit format of Ant's task.
    package var junit: String {
        let errors = results.count { $0.verdict.isError && !$0.isKnown }
        let skipped = results.count { $0.verdict == .notRun || $0.isKnown }
        let failures = results.count { $0.verdict != .pass } - errors - skipped
        let seconds = results.reduce(0) { $0 + $1.seconds }
        let counts =
            "tests=\"\(results.count)\" failures=\"\(failures)\" errors=\"\(errors)\" skipped=\"\(skipped)\" "
            + "time=\"\(Self.decimal(seconds))\""
        let command = consumer.joined(separator: " ").escapedInXML
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites \(counts)>
            <testsuite name="keyshare conformance" \(counts)>
            <properties><property name="consumer" value="\(command)"/></properties>
            \(results.map(Self.testCase).joined(separator: "\n"))
            </testsuite>
            </testsuites>

            """
    }

    private static func testCase(_ result: Result) -> String {
        let group = result.groups.first.map(\.rawValue) ?? "vectors"
        let start =
            "<testcase classname=\"conformance.\(group)\" name=\"\(result.name.escapedInXML)\" "
            + "time=\"\(decimal(result.seconds))\""
        guard result.verdict != .pass else { return start + "/>" }
        let reason = result.isKnown ? result.baseline?.reason.map { "; known: \($0)" } ?? "; known" : ""
        let message = "\(result.verdict.rawValue): \(result.seen)\(reason)".escapedInXML
        guard result.verdict != .notRun, !result.isKnown else {
            return start + "><skipped message=\"\(message)\"/></testcase>"
        }
        let element = result.verdict.isError ? "error" : "failure"
        let text = """
            \(result.description) Expected: \(result.expected.text). \(result.why)
            \(result.stderr)
            """
        return start
            + "><\(element) type=\"\(result.verdict.rawValue)\" message=\"\(message)\">"
            + text.escapedInXMLKeepingLineFeeds + "</\(element)></testcase>"
    }

    /// Formats a number with a decimal point, independently of the locale.
    private static func decimal(_ number: Double) -> String {
        number.formatted(
            .number.precision(.fractionLength(3)).grouping(.never).locale(Locale(identifier: "en_US")))
    }
}
