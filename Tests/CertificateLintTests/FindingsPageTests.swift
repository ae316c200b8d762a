import CertificateLint
import Foundation
import TestSupport
import Testing

@Suite("docs/inspect.md", .timeLimit(.minutes(10)))
struct FindingsPageTests {
    private static let heading = "## Finding codes\n"

    /// The tables of codes, one for each kind of object.
    private static var tables: String {
        let titles = [
            ("certificate", "Certificates"), ("key", "Keys, including those in certificates"),
            ("key encryption", "Encrypted private keys"), ("list", "Certificate revocation lists"),
            ("response", "OCSP responses"), ("profile", "Configuration profiles"), ("message", "Messages"),
        ]
        return titles.map { subject, title in
            let rows = CertificateLinter.rules.filter { $0.subject == subject }.map {
                "| `\($0.code)` | \($0.severity.rawValue) | \($0.meaning) | \($0.reference) |\n"
            }
            return "\n### \(title)\n\n| code | severity | meaning | rule |\n|---|---|---|---|\n"
                + rows.joined()
        }.joined()
    }

    @Test("The page lists every code with the severity, meaning and rule that the code defines")
    func codes() throws {
        let path = PackageFolder.path + "/docs/inspect.md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let start = try #require(page.range(of: Self.heading)?.upperBound)
        let expected = page[..<start] + Self.tables
        if ProcessInfo.processInfo.environment["KEYSHARE_UPDATE_GOLDEN"] == "1" {
            try expected.write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        #expect(page == expected, "set KEYSHARE_UPDATE_GOLDEN=1 to regenerate the tables of docs/inspect.md")
    }

    @Test("Every kind of object that has rules is on the page")
    func subjects() {
        let subjects = Set(CertificateLinter.rules.map(\.subject))
        #expect(
            subjects == [
                "certificate", "key", "key encryption", "list", "response", "profile", "message",
            ])
    }
}
