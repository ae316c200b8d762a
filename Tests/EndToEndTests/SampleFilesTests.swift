import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("The public sample files", .timeLimit(.minutes(10)))
struct SampleFilesTests {
    @Test(
        "The public sample identities are transferred from provider to consumer with the right types",
        .enabled(if: Corpora.isAvailable, "\(Corpora.skipped)"))
    func roundTrip() async throws {
        let samples = Corpora.files(in: "purebred-samples")
        #expect(samples.count == 11)
        let simulation = try Simulation()
        let password = try simulation.write("password\n", as: "password")
        for sample in samples {
            let path = Corpora.folder + "/" + sample.path
            let run = try await simulation.provider("import", path, "--password-file", password, "--json")
            #expect(run.status == 0, "\(run.errors)")
            #expect(try run.statuses() == [.imported])
        }
        try await simulation.serve()
        let published = try await simulation.items().filter { $0.kind == "pkcs12" }
        #expect(published.count == samples.count)
        let imported = try await simulation.consumer(
            "import", "Unfiltered.zip", "--uti", "public.zip-archive", "--json")
        #expect(imported.status == 0)
        #expect(try imported.statuses() == Array(repeating: .imported, count: samples.count))
        #expect(Set(try await simulation.held().map(\.label)) == Set(published.map(\.identifier)))
    }
}
