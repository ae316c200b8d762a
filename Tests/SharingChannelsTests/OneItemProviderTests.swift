import DeviceSimulation
import Foundation
import KeyShareProtocol
import KeyShareWire
import KeySharing
import OpenSSL
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import SharingChannels

@Suite("The provider of one item", .timeLimit(.minutes(10)))
struct OneItemProviderTests {
    private let scratch: ScratchFolder
    private let ends: ChannelEndpoints
    private let provider: OneItemProvider
    private let missing = ProviderFailure(.notAvailable, "")
    private let identifier = "credential"

    init() throws {
        scratch = try ScratchFolder()
        let device = try Device(folder: scratch.path("device"))
        ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        provider = try OneItemProvider(ends)
    }

    private func keepCredential() throws {
        try provider.keep(
            Credential(
                account: "a", secret: SecretBytes(utf8: "canary"),
                expires: Date(timeIntervalSince1970: 1_800_000_000)))
    }

    @Test("Without a credential, the root is empty and the item does not exist")
    func empty() async throws {
        #expect(try await provider.page(of: Item.root, after: nil, limit: 10).items.isEmpty)
        await #expect(throws: missing) { try await provider.item(identifier) }
        await #expect(throws: missing) { try await provider.services(for: identifier) }
        await #expect(throws: missing) { try await provider.content(of: identifier) }
        try keepCredential()
        #expect(try await provider.item(identifier).identifier == identifier)
        try OneItemProvider.removeCredential(of: ends)
        await #expect(throws: missing) { try await provider.item(identifier) }
    }

    @Test("Other containers, pages and identifiers do not exist")
    func others() async throws {
        try keepCredential()
        #expect(try await provider.page(of: Item.root, after: nil, limit: 10).items.count == 1)
        await #expect(throws: missing) { try await provider.page(of: "other", after: nil, limit: 10) }
        await #expect(throws: missing) { try await provider.page(of: Item.root, after: "1", limit: 10) }
        await #expect(throws: missing) { try await provider.item("other") }
        await #expect(throws: missing) { try await provider.services(for: "other") }
        await #expect(throws: missing) { try await provider.content(of: "other") }
        await #expect(throws: missing) { try await provider.choose(identifier, types: []) }
    }

    @Test("Before the first unlock, content and password are refused; a lock starts a new grant period")
    func locks() async throws {
        try keepCredential()
        let period = try provider.grantPeriod()
        let password = try provider.password(for: identifier)
        let content = try await provider.content(of: identifier)
        #expect(
            try SealingKey(password).open(content, associatedData: OneItemProvider.associatedData) != nil)
        try ends.device.lock()
        #expect(try provider.grantPeriod() != period)
        #expect(try provider.password(for: identifier) == password)
        try ends.device.restart()
        let refused = ProviderFailure(.refused, "")
        #expect(throws: refused) { try provider.password(for: identifier) }
        await #expect(throws: refused) { try await provider.content(of: identifier) }
    }
}
