import CommandSupport
import Foundation
import TestSupport
import Testing

/// scripts/toolbox/client.py was written only from the protocol's documentation. The tests show that the documentation
/// is correct.
@Suite(
    "A client written only from the protocol's documentation",
    .enabled(if: SecondClient.isAvailable, "there is no python3"), .timeLimit(.minutes(10)))
struct SecondClientTests {
    @Test("The second client lists the same items as the provider's command, even over several pages")
    func list() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--count", "25")
        try await simulation.serve()
        for container in ["root", "Encryption"] {
            let run = try await SecondClient.run([simulation.device + "/provider.sock", "list", container])
            #expect(run.status == 0, "\(run.output)")
            let expected = try await simulation.items(container).map(\.identifier)
            #expect(expected.count == (container == "root" ? 314 : 100))
            let listed = run.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
            #expect(listed.map { String($0) } == expected)
        }
    }

    @Test("The second client fetches an item and its password, and an archive of many chunks")
    func fetch() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "40")
        try await simulation.serve()
        let file = try #require(try await simulation.items("Signature").first).identifier
        for item in [file, "Unfiltered.zip"] {
            let bytes = simulation.scratch.path("item")
            let password = simulation.scratch.path("password")
            let run = try await SecondClient.run(
                [simulation.device + "/provider.sock", "fetch", item, bytes, password])
            #expect(run.status == 0, "\(run.output)")
            let imported = try await simulation.consumer(
                "import", "--file", bytes, "--password-file", password, "--json")
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(try imported.results().count == (item == file ? 1 : 120))
        }
        #expect(try simulation.scratch.read("item").count > 65_536)
    }

    @Test("The second client gets the documented failure number for a missing item")
    func notThere() async throws {
        let simulation = try Simulation()
        try await simulation.serve()
        let run = try await SecondClient.run([simulation.device + "/provider.sock", "list", "Nobody"])
        #expect(run.status == 1)
        #expect(run.output.contains("client.py: 4: "))
    }
}
