import Foundation
import KeyShareConsumerCommand
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

    @Test("Inspect prints a verdict for every foreign file and exits with the verdict's code")
    func statusOfEveryFile() async throws {
        let simulation = try Simulation()
        var verdicts: [String: String] = [:]
        for (password, entries) in Dictionary(grouping: Corpora.entries, by: \.password) {
            let files = entries.map { Corpora.folder + "/" + $0.path }
            verdicts.merge(try await simulation.inspect(files, password: password).mapValues(\.verdict)) {
                $1
            }
        }
        // Each folder has one command for each verdict, because a command for each file would take too long.
        var isTested: Set<String> = []
        for entry in Corpora.entries {
            let file = Corpora.folder + "/" + entry.path
            let verdict = try #require(verdicts[file], "\(entry.path)")
            let status = try #require(statuses[verdict], "\(entry.path): \(verdict)")
            let folder = (entry.path as NSString).deletingLastPathComponent
            guard isTested.insert(folder + verdict).inserted else { continue }
            let input = entry.password.map { (options: ["--password-stdin"], text: $0 + "\n") }
            let run = try await simulation.consumer(
                ["inspect", file, "--json"] + (input?.options ?? []), input: input?.text ?? "")
            #expect(run.status == status, "\(entry.path), verdict \(verdict): \(run.errors)")
        }
        #expect(!isTested.isEmpty)
    }
}
