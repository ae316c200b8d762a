import Diagnostics
import SecretMemory
import SharingChannels
import DeviceSimulation
import Foundation
import TestSupport
import Testing

@Suite("The promises of every channel")
struct ChannelConformanceTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let ends: ChannelEndpoints
    /// A time between two seconds, because the expiry of a credential must come through to the last bit.
    private let now = Date(timeIntervalSince1970: 1_800_000_000.123456)

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
    }

    private func credential(_ text: String, lasting seconds: TimeInterval = 30) -> Credential {
        Credential(account: "ü \(text)", secret: SecretBytes(utf8: "canary " + text), expires: now + seconds)
    }

    private func received(
        _ channel: any SharingChannel, by app: App = Pair.receiver, after seconds: TimeInterval = 0,
        consent: Bool = true
    ) async throws(SharingChannelError) -> Credential? {
        try await channel.receive(by: app, now: now + seconds) { _ in consent }
    }

    @Test(
        "A credential is received whole, any number of times, or once on a one-time channel",
        arguments: channels)
    func handOver(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            #expect(try await received(channel) == nil)
            for _ in 0..<2 {
                let sent = credential("one")
                try await channel.send(sent, now: now)
                #expect(try await received(channel) == sent)
                if channel.isOneTime {
                    await #expect(throws: SharingChannelError(.alreadyUsed, "")) {
                        try await received(channel)
                    }
                } else {
                    #expect(try await received(channel) == sent)
                }
            }
        }
    }

    @Test("A secret of any bytes comes through", arguments: channels)
    func bytes(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            for secret in [[], [0], [UInt8](0...255), [UInt8](repeating: 0xFF, count: 100_000)] as [[UInt8]] {
                let sent = Credential(account: "", secret: SecretBytes(secret), expires: now + 30)
                try await channel.send(sent, now: now)
                #expect(try await received(channel) == sent)
            }
        }
    }

    @Test("A new credential replaces the old one, and observers are told", arguments: channels)
    func rotation(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            var observer = try Notifications(device: device).observe(.credentialSent)
                .makeAsyncIterator()
            for text in ["one", "two", "three"] {
                try await channel.send(credential(text), now: now)
                #expect(await observer.next() != nil)
                #expect(try await received(channel) == credential(text))
            }
        }
    }

    @Test("A credential can be removed, and removing nothing is no error", arguments: channels)
    func remove(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            try await channel.remove()
            try await channel.send(credential("one"), now: now)
            try await channel.remove()
            #expect(try await received(channel) == nil)
            try await channel.remove()
            try await channel.send(credential("two"), now: now)
            #expect(try await received(channel) == credential("two"))
        }
    }

    @Test(
        "A credential can be removed in each state of the device", arguments: channels, DeviceState.all)
    func removeInState(factory: ChannelFactory, state: DeviceState) async throws {
        try await factory.use(between: ends) { channel in
            try await channel.send(credential("one"), now: now)
            try device.enter(state)
            // Nothing runs for a channel after a restart, so that only data on disk is left to remove.
            if state.lock == .beforeFirstUnlock { await channel.stop() }
            try await channel.remove()
            try device.unlock()
            #expect(try await received(channel) == nil)
        }
    }

    @Test("An expired credential is not handed out", arguments: channels)
    func expired(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            let sent = credential("one", lasting: 10)
            try await channel.send(sent, now: now)
            #expect(try await received(channel, after: 9) == sent)
            if channel.isOneTime { try await channel.send(sent, now: now) }
            await #expect(throws: SharingChannelError(.expired, "")) {
                try await received(channel, after: 10)
            }
        }
    }

    @Test("An app of another team gets a credential only if the user agrees", arguments: channels)
    func attacker(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            try await channel.send(credential("one"), now: now)
            let report = try await trial(factory)
            #expect((try? await received(channel, by: ChannelExperiment.attacker, consent: false)) == nil)
            let found = try? await received(channel, by: ChannelExperiment.attacker)
            #expect(found == (report.attack == .withConsent ? credential("one") : nil))
            #expect(["url-pasteboard", "key-sharing-2025"].contains(factory.name) == (found != nil))
            #expect(report.attack != .succeeded)
            #expect(try await received(channel) == credential("one"))
        }
    }

    private func trial(_ factory: ChannelFactory) async throws -> ChannelReport {
        try await ChannelExperiment(sender: Pair.sender, receiver: Pair.receiver, state: .new)
            .run(factory, folder: scratch.path("trial"), now: now)
    }

    @Test("A credential stands in no file of the device in plain bytes", arguments: channels)
    func noPlainFile(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            try await channel.send(credential("one"), now: now)
            let words = ["canary", "127.0.0.1"].map { SecretBytes(utf8: $0) }
            for word in words { #expect(!ChannelExperiment.isFound(word, in: device.folder)) }
            _ = try await received(channel)
            for word in words { #expect(!ChannelExperiment.isFound(word, in: device.folder)) }
            try Data("a canary".utf8).write(to: URL(fileURLWithPath: device.folder + "/public.txt"))
            #expect(ChannelExperiment.isFound(words[0], in: device.folder))
        }
    }

    @Test(
        "A credential is received in another process than the sender's",
        arguments: channels.indices.dropLast())
    func acrossProcesses(index: Int) async throws {
        try await channels[index].use(between: ends) { channel in
            try await channel.send(credential("one"), now: now)
            let folder = device.folder
            await #expect(processExitsWith: .success) { [folder = folder as String, index = index as Int] in
                let ends = ChannelEndpoints(
                    device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
                // The channel is not prepared here, because that would pair the apps again.
                let channel = try channels[index].make(ends)
                let found = try await channel.receive(
                    by: Pair.receiver, now: Date(timeIntervalSince1970: 1_800_000_001), consent: { _ in true }
                )
                try #require(found?.secret == SecretBytes(utf8: "canary one"))
                await channel.stop()
            }
        }
    }

    @Test("Of several receivers at once, each gets a whole credential or none", arguments: channels)
    func concurrent(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            try await channel.send(credential("0"), now: now)
            let (ends, now) = (ends, now)
            try await withThrowingTaskGroup { group in
                for number in 1...4 {
                    group.addTask {
                        let text = String(repeating: "\(number)", count: 5_000)
                        let secret = SecretBytes(utf8: text)
                        try await channel.send(
                            Credential(account: "\(number)", secret: secret, expires: now + 30), now: now)
                        do throws(SharingChannelError) {
                            let found = try await channel.receive(by: ends.receiver, now: now) { _ in true }
                            let isFirst = found?.account == "ü 0"
                            #expect(found?.secret.count == (isFirst ? 8 : 5_000))
                        } catch {
                            // Another task received it, or replaced it in between.
                            #expect([.alreadyUsed, .denied, .overwritten].contains(error.code), "\(error)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
