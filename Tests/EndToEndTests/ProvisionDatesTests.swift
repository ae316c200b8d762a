import CommandSupport
import Foundation
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Dates of provisioned certificates", .timeLimit(.minutes(10)))
struct ProvisionDatesTests {
    private let simulation: Simulation
    private static let usual = [
        "provision", "--key", "p256", "--types", "signature", "--at", "2026-03-02T12:00:00Z", "--json",
    ]

    init() throws {
        simulation = try Simulation()
    }

    private func provision(_ arguments: String...) async throws -> [IdentityDocument] {
        let run = try await simulation.provider(Self.usual + arguments)
        #expect(run.status == 0, "\(run.errors)")
        return try run.document(ProvisioningDocument.self).identities
    }

    @Test("--expires ends the newest generation of each type, and older ones keep their usual validity")
    func expires() async throws {
        let made = try await provision("--generations", "3", "--expires", "tomorrow")
        #expect(made.map { $0.notAfter?.dayText } == ["2026-03-03", "2026-03-01", "2023-03-01"])
        #expect(made.map(\.notBefore.dayText) == ["2026-03-01", "2023-03-01", "2020-03-01"])
    }

    @Test(
        "Every form of a date is accepted, relative to --at and in any letter case",
        arguments: [
            ("2026-07-01", "2026-07-01"), ("Tomorrow", "2026-03-03"), ("in 2 months", "2026-05-02"),
            ("in 1 week", "2026-03-09"), ("2027-01-01T10:00:00Z", "2027-01-01"),
        ])
    func forms(text: String, day: String) async throws {
        let made = try await provision("--generations", "1", "--expires", text)
        #expect(made.map { $0.notAfter?.dayText } == [day])
    }

    @Test(
        "An end in the past moves the start date, and an end before an explicit start is an error with a hint"
    )
    func past() async throws {
        let made = try await provision("--generations", "1", "--expires", "1 year ago")
        #expect(made.map(\.notBefore.dayText) == ["2022-03-02"])
        #expect(made.map { $0.notAfter?.dayText } == ["2025-03-02"])
        let run = try await simulation.provider(Self.usual + ["--dates", "tomorrow", "--expires", "today"])
        #expect(run.status == 64)
        #expect(run.errors.contains("hint: choose an earlier start or a later end"))
    }

    @Test("--dates accepts relative times, and --validity sets the length of every certificate")
    func validity() async throws {
        let made = try await provision("--dates", "tomorrow, 3 years ago", "--validity", "18 months")
        #expect(made.map(\.notBefore.dayText) == ["2026-03-03", "2023-03-02"])
        #expect(made.map { $0.notAfter?.dayText } == ["2027-09-03", "2024-09-02"])
    }

    @Test("A scenario sets validity and expires for each credential")
    func scenario() async throws {
        let file = try simulation.write(
            """
            description: Short.
            persons:
              - credentials:
                  - types: signature
                    key: p256
                    validity: 2 weeks
                  - types: authentication
                    key: p256
                    generations: 2
                    expires: tomorrow
            """, as: "short.yaml")
        let run = try await simulation.provider(
            "provision", "--scenario", file, "--at", "2026-03-02", "--json")
        #expect(run.status == 0, "\(run.errors)")
        let made = try run.document(ProvisioningDocument.self).identities
        #expect(
            made.map { "\($0.type) \($0.notAfter?.dayText ?? "")" } == [
                "signature 2026-03-15", "authentication 2026-03-03", "authentication 2026-03-01",
            ])
    }

    @Test(
        "Wrong dates and times are usage errors that show the accepted forms",
        arguments: [
            ["--expires", "soon"], ["--dates", "in two months"], ["--validity", "1 fortnight"],
            ["--validity", "200 years"], ["--expires", "in 200 years"], ["--at", "2026-02-30"],
        ])
    func wrong(arguments: [String]) async throws {
        let run = try await simulation.provider(["provision", "--key", "p256"] + arguments)
        #expect(run.status == 64, "\(run.errors)")
        #expect(run.errors.contains("months\u{201D}"))
        #expect(!run.errors.contains("did you mean"))
    }
}
