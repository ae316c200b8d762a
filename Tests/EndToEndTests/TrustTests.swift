import CommandSupport
import Foundation
import KeyShareProviderCommand
import OpenSSL
import TestSupport
import Testing

@Suite("Trust, end to end", .timeLimit(.minutes(10)))
struct TrustTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
    }

    private func path(_ name: String) -> String { simulation.scratch.path(name) }

    private func certificates() async throws -> [Certificate] {
        try await simulation.provider("trust", "--json").document(AuthoritiesDocument.self).certificates
            .map { try #require(try Certificate.pem(Array($0.pem.utf8)).first) }
    }

    @Test("Each certificate in PEM has its subject and SHA-256 above it, and every reader accepts the file")
    func pem() async throws {
        let authorities = try await certificates()
        let text = try await simulation.provider("trust").text
        #expect(authorities.count == 4)
        for authority in authorities {
            #expect(
                text.contains(
                    "# Subject: \(authority.subject)\n# SHA-256: \(authority.label)\n-----BEGIN CERTIFICATE"))
        }
        #expect(try Certificate.pem(Array(text.utf8)) == authorities)
    }

    @Test("The file extension determines the format, unless --format overrides it")
    func format() async throws {
        let root = try #require(try await certificates().first)
        for name in ["root.der", "root.CER"] {
            #expect(try await simulation.provider("trust", "--root-only", "-o", path(name)).status == 0)
            #expect(try simulation.scratch.read(name) == root.der)
        }
        try await simulation.provider("trust", "--root-only", "--format", "pem", "-o", path("pem.der"))
        #expect(try Certificate.pem(try simulation.scratch.read("pem.der")) == [root])
        let standard = try await simulation.provider("trust", "--root-only", "--format", "der", "-o", "-")
        #expect([UInt8](standard.output) == root.der)
    }

    @Test("Several authorities in DER are written to a folder, which is replaced only with --force")
    func folder() async throws {
        let authorities = try await certificates()
        let folder = path("authorities")
        let arguments = ["trust", "--format", "der", "-o", folder]
        #expect(try await simulation.provider(arguments).status == 0)
        let names = try simulation.scratch.names(folder)
        #expect(names.count == 4 && names.allSatisfy { $0.hasSuffix(".cer") })
        let written = try names.map { try Certificate(der: try simulation.scratch.read("authorities/\($0)")) }
        #expect(Set(written) == Set(authorities))
        #expect(try simulation.scratch.mode(folder) == 0o700)

        #expect(try await simulation.provider(arguments).status == 10)
        #expect(try await simulation.provider(arguments + ["--force"]).status == 0)
        _ = try simulation.write("mine", as: "authorities/notes.txt")
        let refused = try await simulation.provider(arguments + ["--force"])
        #expect(refused.status == 10 && refused.errors.contains("notes.txt"))
        #expect(try simulation.scratch.read("authorities/notes.txt") == Array("mine".utf8))
        #expect(try simulation.scratch.names(simulation.scratch.path).allSatisfy { !$0.hasPrefix(".") })

        let nowhere = try await simulation.provider("trust", "--format", "der")
        #expect(nowhere.status == 64 && nowhere.errors.contains("specify a folder"))
    }

    @Test(
        "A configuration profile is a property list of the authorities, and has the same bytes in every run"
    )
    func profile() async throws {
        let authorities = try await certificates()
        let file = path("trust.mobileconfig")
        let written = try await simulation.provider("trust", "-o", file)
        #expect(written.status == 0)
        let steps = written.errors.split(separator: "\n").filter { $0.first?.isNumber == true }
        #expect(steps.count == 3 && steps[0].contains("install it"))
        #expect(steps[1].contains("Certificate Trust Settings > ") && steps[1].contains("Root"))
        let bytes = Data(try simulation.scratch.read("trust.mobileconfig"))
        let profile = try #require(
            unsafe try PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any])
        #expect(profile["PayloadType"] as? String == "Configuration")
        let payloads = try #require(profile["PayloadContent"] as? [[String: Any]])
        let contents = payloads.compactMap { $0["PayloadContent"] as? Data }
        #expect(contents.map { [UInt8]($0) } == authorities.map(\.der))
        let types = payloads.compactMap { $0["PayloadType"] as? String }
        #expect(types.first == "com.apple.security.root" && types.count == 4)
        #expect(types.dropFirst().allSatisfy { $0 == "com.apple.security.pkcs1" })
        let identifiers =
            payloads.compactMap { $0["PayloadUUID"] as? String } + [
                try #require(profile["PayloadUUID"] as? String)
            ]
        #expect(Set(identifiers).count == 5)
        #expect(identifiers.allSatisfy { UUID(uuidString: $0) != nil && $0.dropFirst(14).hasPrefix("8") })
        #expect(
            payloads.allSatisfy { $0["PayloadVersion"] as? Int == 1 && $0["PayloadIdentifier"] is String })

        let again = try await simulation.provider("trust", "--format", "mobileconfig")
        #expect(again.output == bytes)
        let root = try await simulation.provider("trust", "--format", "mobileconfig", "--root-only")
        let small =
            unsafe try PropertyListSerialization.propertyList(from: root.output, format: nil)
            as? [String: Any]
        #expect((small?["PayloadContent"] as? [Any])?.count == 1)
        #expect(small?["PayloadUUID"] as? String != profile["PayloadUUID"] as? String)
    }

    @Test("Revocation lists can be written in DER, and never into a configuration profile")
    func lists() async throws {
        #expect(
            try await simulation.provider("trust", "--crl", "--root-only", "-o", path("root.der")).status == 0
        )
        let list = try CertificateRevocationList(der: try simulation.scratch.read("root.der"))
        #expect(list.issuer == (try await certificates().first?.subject))
        try await simulation.provider("trust", "--crl", "--format", "der", "-o", path("lists"))
        #expect(try simulation.scratch.names(path("lists")).count { $0.hasSuffix(".crl") } == 4)
        #expect(
            try await simulation.provider("trust", "--crl", "-o", path("lists.mobileconfig")).status == 64)
    }

    @Test("An existing file is replaced only with --force")
    func overwriting() async throws {
        let file = try simulation.write("mine", as: "trust.pem")
        let refused = try await simulation.provider("trust", "-o", file)
        #expect(refused.status == 10 && refused.errors.contains("hint: --force replaces it"))
        #expect(try simulation.scratch.read("trust.pem") == Array("mine".utf8))
        #expect(try await simulation.provider("trust", "-o", file, "--force").status == 0)
        #expect(try simulation.scratch.read("trust.pem") != Array("mine".utf8))
    }
}
