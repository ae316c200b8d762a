import CommandSupport
import Foundation
import KeyShareConsumerCommand
import TestSupport
import Testing

@Suite("Swift code for a request", .timeLimit(.minutes(10)))
struct ExplainCodeTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    private func code(_ arguments: String...) async throws -> String {
        let run = try await simulation.consumer(["explain"] + arguments)
        #expect(run.status == 0 && run.errors.isEmpty)
        return run.text
    }

    @Test("The code of a 2025 request lists its types and selects the password service by name")
    func modern() async throws {
        let types = ["--uti", "purebred2025.select.encryption", "--uti", "com.rsa.pkcs-12"]
        let swift = try await code("--code", "swift", types[0], types[1], types[2], types[3])
        for part in [
            "UTType(importedAs: \"purebred2025.select.encryption\"),", ".pkcs12,  // com.rsa.pkcs-12",
            "UIDocumentPickerViewController(forOpeningContentTypes:", "red.hound.KeySharingPassword-v1.0.0",
            "stopAccessingSecurityScopedResource()", "NSFileCoordinator()", "SecPKCS12Import(",
            "//   purebred2025.select.encryption, which conforms to public.folder",
        ] { #expect(swift.contains(part), "\(part)") }
        #expect(!swift.contains("UIPasteboard"))
        let objectiveC = try await code("--code", "objc", types[0], types[1], types[2], types[3])
        for part in [
            "[UTType importedTypeWithIdentifier:@\"purebred2025.select.encryption\"],", "UTTypePKCS12,",
            "initForOpeningContentTypes:contentTypes", "@\"red.hound.KeySharingPassword-v1.0.0\"",
            "stopAccessingSecurityScopedResource]", "NSFileProviderService ",
        ] { #expect(objectiveC.contains(part), "\(part)") }
    }

    @Test("The code of a legacy request contains strings, and reads the password from the pasteboard")
    func legacy() async throws {
        let request = ["--mechanism", "legacy", "--uti", "purebred.zip.all"]
        let swift = try await code("--code", "swift", request[0], request[1], request[2], request[3])
        #expect(swift.contains("(documentTypes: documentTypes, in: .open)"))
        #expect(swift.contains("\n        \"purebred.zip.all\",\n"))
        #expect(swift.contains("UIPasteboard.general.string") && !swift.contains("KeySharingPassword"))
        let objectiveC = try await code("--code", "objc", request[0], request[1], request[2], request[3])
        #expect(objectiveC.contains("\n        @\"purebred.zip.all\",\n"))
        #expect(objectiveC.contains("UIPasteboard.generalPasteboard.string"))
    }

    @Test("The code is generated without a device or a provider", arguments: ["2025", "legacy"])
    func noDevice(mechanism: String) async throws {
        #expect(
            try await simulation.consumer("explain", "--code", "swift", "--mechanism", mechanism).status == 0)
        #expect(!FileManager.default.fileExists(atPath: simulation.device))
    }

    @Test("A warning with the missing type is printed if nothing can be picked through a part of the request")
    func warnings() async throws {
        let run = try await simulation.consumer(
            "explain", "--code", "swift", "--uti", "purebred2025.select.encryption")
        #expect(run.status == 0 && run.text.contains("KeyImporter"))
        #expect(
            run.errors
                == "warning: the folder Encryption can be opened, but no file in it can be picked: add --uti "
                + "purebred2025.select.encryption-p12\n")
    }

    @Test("A preset generates the code of its types, under either mechanism")
    func presets() async throws {
        let swift = try await code(
            "--code", "swift", "--preset", "newest-signature-and-all-encryption")
        #expect(swift.contains("purebred2025.select.signature-p12") && swift.contains("= true"))
        let legacy = try await code(
            "--code", "objc", "--preset", "every-signature", "--mechanism", "legacy")
        #expect(legacy.contains("purebred.select.no-filter"))
    }

    @Test("An invalid request and a single item produce no code")
    func wrong() async throws {
        #expect(
            try await simulation.consumer("explain", "--code", "swift", "--uti", "nothing.of.ours").status
                == 64)
        #expect(
            try await simulation.consumer("explain", "--code", "swift", "--uti", "purebred.zip.all").status
                == 64)
        #expect(try await simulation.consumer("explain", "PIV", "--code", "swift").status == 64)
        #expect(try await simulation.consumer("explain", "--code", "java").status == 64)
    }

    @Test("The JSON document contains the code and the request that it makes")
    func document() async throws {
        let run = try await simulation.consumer("explain", "--code", "objc", "--json")
        let document = try run.document(PickerCodeDocument.self)
        #expect(document.mechanism == "2025" && document.language == "objc")
        #expect(document.requested == ["purebred2025.rsa.pkcs-12"])
        #expect(document.code == (try await simulation.consumer("explain", "--code", "objc").text))
    }
}
