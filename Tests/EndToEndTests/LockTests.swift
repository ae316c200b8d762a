import CommandSupport
import Foundation
import KeyShareConsumerCommand
import TestSupport
import Testing

@Suite("Lock and restart of the device, end to end", .timeLimit(.minutes(10)))
struct DeviceLockTests {
    @Test(
        "Key sharing fails before the first unlock, imports nothing while locked, and works after unlocking")
    func loop() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve()
        let item = try await simulation.firstIdentifier()
        // Load all data into the memory of the running provider.
        #expect(try await simulation.consumer("import", item).status == 0)
        #expect(try await simulation.consumer("clear", "--yes").status == 0)

        #expect(try await simulation.device("lock").status == 0)
        let locked = try await simulation.consumer("import", item, "--json")
        #expect(locked.status == 10)
        #expect(try locked.rowFailure().code == "errSecInteractionNotAllowed")
        #expect(try locked.rowFailure().hint == "unlock the device: keyshare-device unlock")

        #expect(try await simulation.device("restart").status == 0)
        let closed = try await simulation.consumer("import", item, "--json")
        #expect(closed.status == 10)
        #expect(try closed.rowFailure().message.contains("unlock the device"))
        #expect(try await simulation.consumer("browse").status == 0)
        #expect(
            try await simulation.provider("export", item, "-o", simulation.scratch.path("x")).status == 10)
        #expect(try await simulation.held().isEmpty)

        #expect(try await simulation.device("unlock").status == 0)
        #expect(try await simulation.consumer("import", item).status == 0)
        #expect(try await simulation.held().count == 1)
        #expect(try await simulation.stopServing().status == 0)
    }

    @Test("Verify on a locked device skips the key check and reports the lock, not a mismatch")
    func verify() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve()
        let item = try await simulation.firstIdentifier()
        try await simulation.consumer("import", item)
        let trust = simulation.scratch.path("trust.pem")
        try await simulation.provider("trust", "-o", trust)
        try await simulation.device("lock")
        let locked = try await simulation.consumer("verify", "--trust", trust, "--json")
        #expect(try locked.status == 10 && locked.errorCode() == "errSecInteractionNotAllowed")
        #expect(locked.errors.hasSuffix("hint: unlock the device: keyshare-device unlock\n"))
        let checks = try #require(try locked.document(VerificationDocument.self).results.first).checks
        #expect(checks.first?.outcome == "not checked")
        #expect(checks.dropFirst().allSatisfy { $0.outcome != "fail" })
        let text = try await simulation.consumer("verify", "--trust", trust).text
        #expect(text.contains("  NOT CHECKED\n") && !text.contains("FAILED"))
        try await simulation.device("unlock")
        #expect(try await simulation.consumer("verify", "--trust", trust).status == 0)
    }

    @Test("serve before the first unlock fails with a hint")
    func start() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.device("restart")
        let run = try await simulation.provider("serve")
        #expect(run.status == 10 && run.errors.contains("hint: unlock the device"))
    }
}

extension CommandRun {
    /// The first error in the rows of an import.
    fileprivate func rowFailure() throws -> FailureDocument.Body {
        try #require(try results().lazy.compactMap(\.error).first)
    }
}
