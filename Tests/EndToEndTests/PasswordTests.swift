import CommandSupport
import Foundation
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Rotation of the service password, end to end", .timeLimit(.minutes(10)))
struct PasswordTests {
    @Test("A rotation invalidates old exports, and a running provider continues with the new password")
    func rotate() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve()
        let item = try await simulation.firstIdentifier()
        let old = simulation.scratch.path("old.p12")
        try await simulation.provider("export", item, "-o", old)
        // Load the password and the file into the memory of the running provider.
        #expect(try await simulation.consumer("import", item).status == 0)

        let rotated = try await simulation.provider("password", "rotate", "--json")
        #expect(rotated.status == 0)
        #expect(try rotated.document(RotationDocument.self).rotated)

        #expect(try await simulation.consumer("import", item).status == 0)
        let new = simulation.scratch.path("new.p12")
        try await simulation.provider("export", item, "-o", new)
        #expect(try simulation.scratch.read("old.p12") != simulation.scratch.read("new.p12"))
        // New exports open with the new password, and no old export is served.
        try await simulation.stopServing()
        try await simulation.serve()
        #expect(try await simulation.consumer("import", item).status == 0)
        #expect(try await simulation.provider("check").status == 0)
    }

    @Test("Rotating the password never prints it")
    func silence() async throws {
        let simulation = try Simulation()
        try await simulation.device("unlock")
        let run = try await simulation.provider("password", "rotate")
        #expect(run.status == 0)
        #expect(run.text.isEmpty)
        #expect(run.errors == "the password was replaced\n")
    }
}
