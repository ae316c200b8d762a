import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeySharing
import TestSupport
import Testing

@Suite("Common requests on the command line", .timeLimit(.minutes(10)))
struct PresetTests {
    private static let newest = "newest-signature-and-all-encryption"

    private func served() async throws -> Simulation {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--person", "Dana Example", "--generations", "2", "--key", "p256", "--seed", "1")
        try await simulation.serve()
        return simulation
    }

    @Test("import --preset imports everything that the preset enables, each identity once")
    func importing() async throws {
        let simulation = try await served()
        let run = try await simulation.consumer("import", "--preset", Self.newest, "--json")
        #expect(run.status == 0)
        #expect(try run.results().compactMap(\.identity?.type) == ["signature", "encryption", "encryption"])
        #expect(try run.statuses() == [.imported, .imported, .imported])
        let all = try await simulation.consumer("import", "--preset", "any-pkcs12", "--json")
        #expect(try all.results().count == 6 && all.status == 0)
        let zip = try await simulation.consumer("import", "--preset", "all-user-zip", "--json")
        #expect(try zip.statuses() == Array(repeating: .duplicate, count: 4))
    }

    @Test("A legacy preset imports its rows with the password on the pasteboard")
    func legacy() async throws {
        let simulation = try await served()
        let run = try await simulation.consumer(
            "import", "--preset", "every-signature", "--mechanism", "legacy", "--allow-paste", "--json")
        #expect(run.status == 0)
        #expect(try run.results().compactMap(\.identity?.type) == ["signature", "signature"])
    }

    @Test("browse and explain use the types of a preset, in addition to those of --uti")
    func browsing() async throws {
        let simulation = try await served()
        let types = try #require(RequestPreset.named(Self.newest)?.types(under: .keySharing2025))
        let browsed = try await simulation.consumer(
            "browse", "Signature", "--preset", Self.newest, "--uti", "purebred2025.zip.all", "--json"
        ).document(ItemListingDocument.self)
        #expect(browsed.requested == types + ["purebred2025.zip.all"])
        #expect(browsed.items.map(\.enabled) == [true])
        let explained = try await simulation.consumer("explain", "--preset", Self.newest, "--json")
        #expect(try explained.document(ExplanationDocument.self).requested == types)
    }

    @Test(
        "An item can be imported with a preset; a request without a preset and without an item is a usage error"
    )
    func items() async throws {
        let simulation = try await served()
        let run = try await simulation.consumer(
            "import", "All User.zip", "--preset", "all-user-zip", "--json")
        #expect(try run.statuses().count == 4)
        #expect(try await simulation.consumer("import").status == 64)
        #expect(try await simulation.consumer("import", "--uti", "public.data").status == 64)
        let refused = try await simulation.consumer("import", "PIV.zip", "--preset", "all-user-zip")
        #expect(refused.status == 10)
    }

    @Test("An unknown preset and one for the other mechanism are usage errors that list the valid presets")
    func unknown() async throws {
        let simulation = try Simulation()
        let unknown = try await simulation.consumer("browse", "--preset", "newest")
        #expect(unknown.status == 64 && unknown.errors.contains(Self.newest))
        let other = try await simulation.consumer("explain", "--preset", "every-signature")
        #expect(other.status == 64 && other.errors.contains("add --mechanism legacy"))
        let file = try await simulation.consumer("import", "--file", "x.p12", "--preset", "single-files")
        #expect(file.status == 64)
    }

    @Test(
        "--list-presets needs no device and lists the presets of the mechanism", arguments: Mechanism.allCases
    )
    func list(mechanism: Mechanism) async throws {
        let simulation = try Simulation()
        let expected = RequestPreset.all.filter { $0.types(under: mechanism) != nil }.map(\.name)
        for command in ["browse", "import", "explain"] {
            let run = try await simulation.consumer(
                command, "--list-presets", "--mechanism", mechanism.rawValue, "--json")
            #expect(try run.document(PresetsDocument.self).presets.map(\.name) == expected)
            let text = try await simulation.consumer(
                command, "--list-presets", "--mechanism", mechanism.rawValue)
            #expect(text.status == 0 && expected.allSatisfy(text.text.contains))
        }
        #expect(!FileManager.default.fileExists(atPath: simulation.device))
    }
}
