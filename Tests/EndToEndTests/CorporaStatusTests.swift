import Foundation
import TestSupport
import Testing

@Suite(
    "Inspecting PKCS #12 files from other programs",
    .enabled(if: Corpora.isAvailable, Comment(rawValue: Corpora.skipped)), .timeLimit(.minutes(10)))
struct CorporaStatusTests {
    /// The exit code of each verdict of `inspect`, as `keyshare-consumer --help` lists them.
    private let statuses: [String: Int32] = [
        "ok": 0, "wrong-password": 3, "unsupported": 4, "malformed": 5, "refused": 10,
    ]

    @Test(
        "Inspect prints a verdict for every foreign file and exits with the verdict's code",
        .timeLimit(.minutes(10)))
    func statusOfEveryFile() async throws {
        let simulation = try Simulation()
        var wrong: [String] = []
        for entry in Corpora.entries {
            let file = ["inspect", Corpora.folder + "/" + entry.path, "--json"]
            let run =
                if let password = entry.password {
                    try await simulation.consumer(file + ["--password-stdin"], input: password + "\n")
                } else {
                    try await simulation.consumer(file)
                }
            let verdict = try? JSONDecoder().decode(Report.self, from: run.output).verdict
            if verdict.flatMap({ statuses[$0] }) != run.status {
                wrong.append(
                    "\(entry.path): status \(run.status), verdict \(verdict ?? "none"): \(run.errors)")
            }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        #expect(!Corpora.entries.isEmpty)
    }

    /// The part of the `inspect` document that the test needs.
    private struct Report: Decodable {
        let verdict: String
    }
}
