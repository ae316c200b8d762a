import Diagnostics
import Foundation
import KeyShareClient
import KeySharing
import OpenSSL
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("The document picker", .timeLimit(.minutes(10)))
struct DocumentPickerTests {
    private static let date = Date(timeIntervalSince1970: 1_790_000_000)
    private static let labels = ["A", "B"].map { String(repeating: $0, count: 64) }

    /// A provider with the identity A at the root and A and B in the folder of signature identities.
    private static var provider: StandInProvider {
        let identities = labels.map {
            IdentitySummary(
                label: $0, serialNumber: "01", notBefore: date,
                facts: CertificateFacts(
                    keyUsage: [.digitalSignature, .nonRepudiation], hasUTF8OtherName: false))
        }
        let folder = Item.folder(.signature, created: date)
        let members = identities.map { Item.file($0, in: .signature, under: .keySharing2025) }
        var provider = StandInProvider(
            items: [Item.file(identities[0], under: .keySharing2025), folder] + members)
        provider.folders[folder.identifier] = members
        provider.items.removeLast(2)
        return provider
    }

    private static func withPicker<Result: Sendable>(
        _ types: [String], _ body: @Sendable (DocumentPicker) async throws -> Result
    ) async throws -> Result {
        let request = try TypeRequest(types, under: .keySharing2025)
        return try await provider.serving { try await body(DocumentPicker($0, request: request)) }
    }

    private static let folderTypes = [
        IdentitySelector.signature.selectType(under: .keySharing2025),
        IdentitySelector.signature.companionType,
    ]

    @Test("Every enabled item is picked once, although it is listed at the root and in a folder")
    func everyItem() async throws {
        let plain = try await Self.withPicker([]) { try await $0.everyItem() }
        #expect(plain.map(\.label) == [Self.labels[0]])
        let all = try await Self.withPicker([Mechanism.keySharing2025.plainType] + Self.folderTypes) {
            try await $0.everyItem()
        }
        #expect(all.map(\.label) == Self.labels)
        let error = await #expect(throws: ImportError.self) {
            try await Self.withPicker([IdentitySelector.device.companionType]) { try await $0.everyItem() }
        }
        #expect(error == ImportError(.nothingToImport, ""))
    }

    @Test("A folder and a disabled item cannot be picked, but can be found")
    func pick() async throws {
        let label = Self.labels[0]
        try await Self.withPicker([IdentitySelector.device.companionType]) { (picker) async throws in
            let disabled = await #expect(throws: RequestError.self) { try await picker.pick(label) }
            #expect(disabled?.code == .itemDisabled)
            #expect(try await picker.pick(label, mustBeEnabled: false).label == label)
        }
        try await Self.withPicker(Self.folderTypes) { (picker) async throws in
            let name = IdentitySelector.signature.folderName
            let folder = await #expect(throws: RequestError.self) { try await picker.pick(name) }
            #expect(folder?.code == .isFolder)
            #expect(try await picker.pick(name, mustBeEnabled: false).kind == .folder)
        }
        #expect(try await Self.withPicker([]) { try await $0.pick(label) }.label == label)
    }
}
