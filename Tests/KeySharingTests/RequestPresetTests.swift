import KeySharing
import Testing

@Suite("Common requests", .timeLimit(.minutes(10)))
struct RequestPresetTests {
    @Test("Every preset is a valid request of each mechanism that supports it, and enables at least one item")
    func valid() throws {
        for preset in RequestPreset.all {
            let requests = try Mechanism.allCases.compactMap { mechanism in
                try preset.types(under: mechanism).map { try TypeRequest($0, under: mechanism) }
            }
            #expect(!requests.isEmpty && requests.allSatisfy { $0.obstacles.isEmpty }, "\(preset.name)")
        }
        #expect(Set(RequestPreset.all.map(\.name)).count == RequestPreset.all.count)
    }

    @Test("Presets have stable names, which are found in any letter case")
    func names() {
        #expect(
            RequestPreset.all.map(\.name) == [
                "single-files", "newest-signature-and-all-encryption", "newest-authentication",
                "all-user-zip", "every-signature", "everything", "any-pkcs12",
            ])
        #expect(RequestPreset.named("All-User-Zip")?.types(under: .legacy) == ["purebred.zip.all-user"])
        #expect(RequestPreset.named("every-signature")?.types(under: .keySharing2025) == nil)
        #expect(RequestPreset.named("nothing") == nil)
    }

    @Test(
        "A request that enables no item has an obstacle that names the missing types",
        arguments: [
            (["purebred2025.select.signature"], ["purebred2025.select.signature-p12"]),
            (["public.folder"], ["purebred2025.rsa.pkcs-12"]),
            (
                ["purebred2025.select.device", "purebred2025.zip.all"], ["purebred2025.select.device-p12"]
            ),
            (["purebred2025.zip.all"], []), (["public.data"], []), ([], []),
        ])
    func obstacles(types: [String], missing: [String]) throws {
        let request = try TypeRequest(types, under: .keySharing2025)
        #expect(request.obstacles.flatMap(\.missing) == missing)
    }

    @Test("A legacy request of only no-filter has an obstacle")
    func legacyObstacle() throws {
        let request = try TypeRequest(["purebred.select.no-filter"], under: .legacy)
        #expect(request.obstacles.count == 1)
        #expect(try TypeRequest(["purebred.zip.all"], under: .legacy).obstacles.isEmpty)
    }
}
