import CommandSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Browsing while the provider changes", .timeLimit(.minutes(10)))
struct WatchTests {
    private func documents(_ text: String) -> Int { text.split(separator: "\n").count }

    @Test(
        "Browse --watch --json prints the list as one line of JSON at each change of the identities",
        arguments: [SIGTERM, SIGINT])
    func json(signal: Int32) async throws {
        let simulation = try Simulation()
        try await simulation.serve()
        let watching = try simulation.start(.consumer, "browse", "--watch", "--json")
        try await watching.waitForOutput { documents($0) == 1 }
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await watching.waitForOutput { $0.contains("signature_") }
        #expect(try await simulation.provider("clear", "--yes").status == 0)
        try await watching.waitForOutput { text in
            text.hasSuffix("\n") && !(text.split(separator: "\n").last?.contains("signature_") ?? true)
        }
        watching.signal(signal)
        let run = try await watching.finish()
        #expect(run.status == 0 && run.errors.isEmpty)
        let lists = try run.text.split(separator: "\n").map { line in
            try DocumentCoding.decode(ItemListingDocument.self, from: Data(line.utf8)).items.count
        }
        // The number of notifications depends on the number of transactions that coincide.
        #expect(lists.count >= 3 && lists.first == lists.last)
        #expect(lists.contains { $0 > lists[0] })
    }

    @Test("Browse --watch prints nothing if the list did not change")
    func changesOnly() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve()
        let item = try await simulation.firstIdentifier()
        let watching = try simulation.start(.consumer, "browse", "--watch", "--json")
        try await watching.waitForOutput { documents($0) == 1 }
        // Neither of these changes affects the published items.
        try await simulation.consumer("import", item)
        try await simulation.provider("password", "rotate")
        try await simulation.provider("provision", "--key", "p256", "--generations", "1", "--types", "device")
        try await watching.waitForOutput { $0.contains("device_") }
        watching.signal(SIGTERM)
        let lines = try await watching.finish().text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains("signature_") })
        #expect(lines[0] != lines[1])
    }

    @Test("Browse --watch waits for a stopped provider, and prints missed changes when one starts")
    func providerDown() async throws {
        let simulation = try Simulation()
        try await simulation.serve()
        let watching = try simulation.start(.consumer, "browse", "--watch", "--json", "--quiet")
        try await watching.waitForOutput { documents($0) == 1 }
        try await simulation.stopServing()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await watching.waitForError(containing: "; waiting for the next change")
        try await simulation.serve()
        try await watching.waitForOutput { $0.contains("signature_") }
        watching.signal(SIGTERM)
        let run = try await watching.finish()
        #expect(run.status == 0 && run.errors.contains("hint: start it with: keyshare-provider serve"))
    }

    @Test("Browse --watch and serve exit with 74 when the device is removed")
    func deviceGone() async throws {
        let simulation = try Simulation()
        let serving = try simulation.start(.provider, "serve")
        try await serving.waitForError(containing: "listening on")
        let watching = try simulation.start(.consumer, "browse", "--watch", "--json")
        try await watching.waitForOutput { documents($0) == 1 }
        try FileManager.default.removeItem(atPath: simulation.device)
        for command in [serving, watching] {
            let run = try await command.finish()
            #expect(
                run.status == 74
                    && run.errors.contains(
                        " was removed\nhint: run the command again, or choose another folder with --device\n")
            )
        }
    }
}
