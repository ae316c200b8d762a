import CertificateReading
import CommandSupport
import Fixtures
import Foundation
import KeyShareConsumerCommand
import TestSupport
import TestVectors
import Testing

@Suite("The fixtures", .timeLimit(.minutes(10)))
struct FixtureTests {
    private let manifest = Fixtures.manifest

    /// The fixtures whose verdict depends on a required type, or whose sound identities are imported in spite of an
    /// error. ConformanceTests has the exit codes of all other test vectors.
    private static let special = Fixtures.manifest.vectors.filter { fixture in
        guard let expectation = TestVector.all.first(where: { $0.name == fixture.name })?.expectation
        else { return true }
        return expectation.importing != 0
            && (expectation.verifying != nil || (fixture.password ?? "").utf8.count > PasswordOptions.largest)
    }

    @Test(
        "The consumer's verdict on a fixture that is imported partly matches the manifest", arguments: special
    )
    func verdict(fixture: Fixtures.Entry) async throws {
        let simulation = try Simulation()
        let expectation = try #require(TestVector.all.first { $0.name == fixture.name }).expectation
        let file = Fixtures.url(of: try #require(fixture.file)).path
        let password =
            try fixture.password.map {
                ["--password-file", try simulation.write($0, as: "password")]
            } ?? []

        let require = expectation.requiring.flatMap { ["--require", $0] }
        let imported = try await simulation.consumer(
            ["import", "--file", file, "--json"] + password + require)
        #expect(Int(imported.status) == expectation.importing)
        if let password = fixture.password, password.utf8.count > PasswordOptions.largest {
            // The password is rejected before the file is opened.
            #expect(try imported.errorCode() == "too-large")
            return
        }
        #expect(try imported.statuses().count { $0 == .imported } == expectation.identities)

        guard let status = expectation.verifying else { return }
        let verified = try await simulation.consumer(
            "verify", "--trust", Fixtures.url(of: manifest.trust).path, "--crl",
            Fixtures.url(of: manifest.revocations).path, "--at", manifest.date)
        #expect(Int(verified.status) == status)
    }

    @Test("The findings of inspect for each fixture match the expectations")
    func findings() async throws {
        let simulation = try Simulation()
        let readable = manifest.vectors.filter { ($0.password ?? "").utf8.count <= PasswordOptions.largest }
        var compared = 0
        for (password, fixtures) in Dictionary(grouping: readable, by: \.password) {
            let files = try fixtures.map { Fixtures.url(of: try #require($0.file)).path }
            let inspected = try await simulation.inspect(files, password: password)
            for (fixture, file) in zip(fixtures, files) {
                let expectation = try #require(TestVector.all.first { $0.name == fixture.name }).expectation
                let findings = try #require(inspected[file], "\(fixture.name)").identities.flatMap(\.findings)
                let irregularities = findings.map(\.code).filter {
                    CertificateFinding.Code(rawValue: $0) != nil
                }
                #expect(irregularities == expectation.findings, "\(fixture.name)")
                compared += 1
            }
        }
        #expect(compared > 400)
    }

    @Test("The fixtures folder contains exactly the files in the manifest")
    func manifestIsComplete() throws {
        let others = ["manifest.json", manifest.trust, manifest.revocations]
        let folder = Fixtures.url(of: "manifest.json").deletingLastPathComponent().path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        let named = manifest.vectors.compactMap(\.file)
        #expect(Set(files) == Set(named + others))
        #expect(manifest.vectors.count { $0.groups.contains(.faults) } == 205)
        #expect(manifest.vectors.count { !$0.groups.contains(.faults) } == 213)
    }
}
