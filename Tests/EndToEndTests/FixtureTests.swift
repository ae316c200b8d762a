import Fixtures
import Foundation
import TestSupport
import Testing

@Suite("The consumer and every fixture")
struct FixtureTests {
    private let manifest = Fixtures.manifest

    @Test("gives the verdict that the manifest asks for", arguments: Fixtures.manifest.files)
    func verdict(fixture: Fixtures.Entry) async throws {
        let simulation = try Simulation()
        let expectation = fixture.expectation
        let file = Fixtures.url(of: fixture.file).path
        let password = ["--password-file", try simulation.write(fixture.password, as: "password")]

        let require = expectation.requiring.flatMap { ["--require", $0] }
        let imported = try await simulation.consumer(
            ["import", "--file", file, "--json"] + password + require)
        #expect(imported.status == expectation.importing)
        let arrived = try imported.results().filter { $0["status"] as? String == "imported" }
        #expect(arrived.count == expectation.identities)

        let inspected = try await simulation.consumer(["inspect", file, "--json"] + password)
        let identities = try inspected.json()["identities"] as? [[String: Any]] ?? []
        let findings = identities.flatMap { $0["findings"] as? [[String: Any]] ?? [] }
        #expect(findings.map { $0["code"] as? String } == expectation.findings)

        guard let status = expectation.verifying else { return }
        let verified = try await simulation.consumer(
            "verify", "--trust", Fixtures.url(of: manifest.trust).path, "--crl",
            Fixtures.url(of: manifest.revocations).path, "--at", manifest.date)
        #expect(verified.status == status)
    }

    @Test("The fixtures are there, 30 sound ones and 73 defective ones")
    func manifestIsRead() {
        #expect(manifest.files.count { $0.isFault } == 73)
        #expect(manifest.files.count { !$0.isFault } == 30)
    }
}
