import Diagnostics
import KeyShareProtocol
import KeyShareWire
import KeyShareClient
import SecretMemory
import SharingChannels
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Channel of key sharing", .timeLimit(.minutes(10)))
struct KeySharingChannelTests {
    private let scratch: ScratchFolder
    private let ends: ChannelEndpoints
    private let channel: KeySharingChannel
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        scratch = try ScratchFolder()
        let device = try Device(folder: scratch.path("device"))
        ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        channel = try KeySharingChannel(ends, runtimeDirectory: nil)
    }

    private var credential: Credential {
        Credential(account: "a", secret: SecretBytes(utf8: "canary"), expires: now + 30)
    }

    @Test(
        "The channel is a provider with one item, and returns the password only after a pick"
    )
    func item() async throws {
        try await channel.send(credential, now: now)
        let client = try await ProviderClient.connect(
            path: ends.device.folder + "/channel.sock", clientName: "test")
        let items = try await client.items(in: Item.root)
        #expect(items.map(\.filename) == ["credential.p12"])
        #expect(items.map(\.contentType) == ["purebred2025.rsa.pkcs-12"])
        let item = try #require(items.first).identifier
        let refused = ProviderFailure(.notAvailable, "")
        await #expect(throws: refused) { try await client.fetchPassword(for: item) }
        await #expect(throws: refused) { try await client.readAll(item) }
        await #expect(throws: refused) { try await client.startAccessing("another") }
        try await client.startAccessing(item)
        let content = try await client.readAll(item)
        #expect(content.firstRange(of: Array("canary".utf8)) == nil)
        let key = try SealingKey(try await client.fetchPassword(for: item))
        #expect(key.open(content, associatedData: Array(item.utf8)) != nil)
        try await client.stopAccessing(item)
        await #expect(throws: refused) { try await client.fetchPassword(for: item) }
        await client.close()
        await channel.stop()
    }

    @Test("The question names the item and the receiver, and a failure to ask counts as a refusal")
    func consent() async throws {
        struct Failure: Error {}
        try await channel.send(credential, now: now)
        var questions: [ConsentQuestion] = []
        _ = try await channel.receive(by: Pair.receiver, now: now) { question in
            questions.append(question)
            return true
        }
        #expect(questions == [.pick(item: "credential.p12", reader: Pair.receiver.bundleIdentifier)])
        await #expect(throws: SharingChannelError(.denied, "")) {
            try await channel.receive(by: Pair.receiver, now: now) { _ in false }
        }
        await #expect(throws: SharingChannelError(.denied, "")) {
            try await channel.receive(by: Pair.receiver, now: now) { _ in throw Failure() }
        }
        await channel.stop()
    }

    @Test("The sender's extension starts on demand and returns no content before the first unlock")
    func extensionOnDemand() async throws {
        func look() async throws(SharingChannelError) -> Credential? {
            try await channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        try await channel.send(credential, now: now)
        // The extension survives the restart. It lists its item but does not return its content.
        try ends.device.restart()
        await #expect(throws: SharingChannelError(.locked, "")) { try await look() }
        await channel.stop()
        #expect(!FileManager.default.fileExists(atPath: ends.device.folder + "/channel.sock"))
        await #expect(throws: SharingChannelError(.locked, "")) { try await look() }
        try ends.device.unlock()
        #expect(try await look() == credential)
        try ends.device.lock()
        #expect(try await look() == credential)
        await channel.stop()
    }

    @Test(
        "A device with a path that is too long has its socket in the runtime folder, or none"
    )
    func longPath() async throws {
        let folder = scratch.path(String(repeating: "x", count: 100))
        let ends = ChannelEndpoints(
            device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
        #expect(throws: SharingChannelError(.failed, "")) {
            try KeySharingChannel(ends, runtimeDirectory: nil)
        }
        let channel = try KeySharingChannel(ends, runtimeDirectory: scratch.path)
        try await channel.send(credential, now: now)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).contains("keyshare"))
        #expect(try await channel.receive(by: Pair.receiver, now: now) { _ in true } == credential)
        await channel.stop()
    }
}
