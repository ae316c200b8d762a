import DeviceSimulation
import Foundation
import PrivateFiles
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Commands during provisioning", .timeLimit(.minutes(10)))
struct ProvisioningLockTests {
    @Test("While a device is being erased, nothing is provisioned or merged")
    func erased() async throws {
        let simulation = try Simulation()
        let small = ["--key", "p256", "--generations", "1", "--types", "signature"]
        #expect(try await simulation.provider(["provision"] + small).status == 0)
        let device = try Device(folder: simulation.device)
        let lock = try device.lockExclusively()
        for arguments in [["provision"] + small, ["merge", simulation.device]] {
            let run = try await simulation.provider(arguments)
            #expect(run.status == 10 && run.errors.contains("is being erased"), "\(run.errors)")
        }
        lock.release()
        // Provisioning holds the shared lock.
        let use = try device.lockShared()
        defer { use.release() }
        let reset = try await simulation.device("reset", "--yes")
        #expect(reset.status == 10 && reset.errors.contains("another command is using this device"))
    }

    @Test("Clearing and restoring wait until the provisioning in progress ends")
    func waiting() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        let backup = simulation.scratch.path("backup")
        try await simulation.provider("backup", backup)
        let path = try Device(folder: simulation.device).container(of: .provider) + "/provisioning.lock"
        for arguments in [["clear", "--yes"], ["restore", backup, "--force"]] {
            let lock = try FileLock.acquire(path)
            let command = try RunningCommand(
                .provider, arguments, environment: ["KEYSHARE_DEVICE": simulation.device])
            // A process that waits for a lock has a line with an arrow (proc_locks(5)).
            try await command.wait {
                try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
                    .contains { $0.contains("->") && $0.contains(" \(command.processIdentifier) ") }
            }
            lock.release()
            #expect(try await command.finish().status == 0)
        }
    }
}
