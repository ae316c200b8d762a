import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Rotation of the service password, end to end")
struct PasswordTests {
    @Test("A rotation voids exports under the old password, and a running provider goes on with the new one")
    func rotate() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve()
        let item = try await simulation.firstIdentifier()
        let old = simulation.scratch.path("old.p12")
        try await simulation.provider("export", item, "-o", old)
        // Once before, so that the running provider has the password and the file in memory.
        #expect(try await simulation.consumer("import", item).status == 0)

        let rotated = try await simulation.provider("password", "rotate", "--json")
        #expect(rotated.status == 0)
        #expect(try rotated.document(RotationDocument.self).rotated)

        #expect(try await simulation.consumer("import", item).status == 0)
        let new = simulation.scratch.path("new.p12")
        try await simulation.provider("export", item, "-o", new)
        #expect(try simulation.scratch.read("old.p12") != simulation.scratch.read("new.p12"))
        // What is exported now opens with what is served now, and nothing of the old is left to serve.
        try await simulation.stopServing()
        try await simulation.serve()
        #expect(try await simulation.consumer("import", item).status == 0)
        #expect(try await simulation.provider("check").status == 0)
    }

    @Test("A rotation never shows a password")
    func silence() async throws {
        let simulation = try Simulation()
        try await simulation.device("unlock")
        let run = try await simulation.provider("password", "rotate")
        #expect(run.status == 0)
        #expect(run.text.isEmpty)
        #expect(run.errors == "the password service has a new password\n")
    }
}
