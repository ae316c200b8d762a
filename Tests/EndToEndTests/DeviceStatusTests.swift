import CommandSupport
import Foundation
import KeyShareDeviceCommand
import TestSupport
import Testing

@Suite("The status of the device", .timeLimit(.minutes(10)))
struct DeviceStatusTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    private func status() async throws -> DeviceStatusDocument {
        let run = try await simulation.device("status", "--json")
        #expect(run.status == 0 && run.errors.isEmpty)
        return try run.document(DeviceStatusDocument.self)
    }

    @Test("status exits with 9 and a hint for a folder that is not a device, and does not change it")
    func noDevice() async throws {
        let run = try await simulation.device("status", "--json")
        #expect(run.status == 9)
        #expect(run.errors.contains("hint: "))
        #expect(!FileManager.default.fileExists(atPath: simulation.device))
        let folder = simulation.scratch.path
        #expect(try await RunningCommand(.device, ["status", "--device", folder]).finish().status == 9)
        #expect(try simulation.scratch.names(folder).isEmpty)
    }

    @Test("status shows each side's identities, the lock state and the running provider")
    func follows() async throws {
        try await simulation.device("lock")
        let empty = try await status()
        #expect(empty.folder == simulation.device && empty.state == "locked")
        #expect(empty.provider.identities == 0 && empty.consumer.identities == 0)
        #expect(empty.apps.count == 5 && empty.version == CommandMain.release)
        #expect(try simulation.scratch.names(simulation.device).allSatisfy { $0 != "keychain" })

        try await simulation.device("unlock")
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "2", "--types", "signature")
        try await simulation.serve()
        #expect(
            try await simulation.consumer(
                "import", "Signature.zip", "--uti", "purebred2025.zip.signature"
            ).status == 0)
        let full = try await status()
        #expect(full.state == "unlocked")
        #expect(full.provider.identities == 2 && full.consumer.identities == 1)
        #expect(full.authorities == 4)
        #expect(full.service.serving && full.service.socket == simulation.device + "/provider.sock")
        let process = try simulation.servingProcess()
        #expect(full.service.processID == process)
        #expect(
            (full.service.figures?["memory-bytes"] ?? 0) > 0 && full.service.figures?["refused-requests"] == 0
        )
        let text = try await simulation.device("status").text
        #expect(text.contains("2 identities, 4 authorities") && text.contains("process \(process)"))

        try await simulation.stopServing()
        let after = try await status()
        #expect(!after.service.serving && after.service.processID == nil && after.service.figures == nil)
        #expect(after.service.socket == simulation.device + "/provider.sock")
    }

    @Test("status reports a damaged keychain, and shows everything except its number of identities")
    func damaged() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        let file = simulation.device + "/keychain/keychain.sqlite"
        try Data("not a database at all, but long enough to be read as one".utf8).write(
            to: URL(fileURLWithPath: file))
        let run = try await simulation.device("status", "--json")
        #expect(run.status == 74)
        let document = try run.document(DeviceStatusDocument.self)
        #expect(document.state == "unlocked" && document.provider.identities == nil)
        #expect(try await simulation.device("status").text.contains("unknown identities"))
    }
}
