import DeviceSimulation
import Foundation
import SecretMemory
import SharingChannels
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Guarantees of every channel", .timeLimit(.minutes(10)))
struct ChannelConformanceTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let ends: ChannelEndpoints
    /// A time with a fraction of a second, because the expiry of a credential must be preserved exactly.
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
        "A credential is received unchanged, once on a one-time channel and any number of times on others",
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

    @Test("A secret with arbitrary bytes is received unchanged", arguments: channels)
    func bytes(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            for secret in [[], [0], [UInt8](0...255), [UInt8](repeating: 0xFF, count: 100_000)] as [[UInt8]] {
                let sent = Credential(account: "", secret: SecretBytes(secret), expires: now + 30)
                try await channel.send(sent, now: now)
                #expect(try await received(channel) == sent)
            }
        }
    }

    @Test("A new credential replaces the old one, and observers are notified", arguments: channels)
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

    @Test("A credential can be removed, and removing nothing is not an error", arguments: channels)
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
            // A channel has no server after a restart, so only data on disk remains to be removed.
            if state.lock == .beforeFirstUnlock { await channel.stop() }
            try await channel.remove()
            try device.unlock()
            #expect(try await received(channel) == nil)
        }
    }

    @Test("An expired credential is not returned", arguments: channels)
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

    @Test("An app of another team receives a credential only if the user agrees", arguments: channels)
    func attacker(factory: ChannelFactory) async throws {
        try await factory.use(between: ends) { channel in
            try await channel.send(credential("one"), now: now)
            let report = try await trial(factory)
            #expect((try? await received(channel, by: ChannelExperiment.attacker, consent: false)) == nil)
            let found = try? await received(channel, by: ChannelExperiment.attacker)
            #expect(found == (report.attack == .withConsent ? credential("one") : nil))
            #expect(
                ["url-pasteboard", "key-sharing-2025", "android-keychain"].contains(factory.name)
                    == (found != nil))
            #expect(report.attack != .succeeded)
            #expect(try await received(channel) == credential("one"))
        }
    }

    private func trial(_ factory: ChannelFactory) async throws -> ChannelReport {
        try await ChannelExperiment(sender: Pair.sender, receiver: Pair.receiver, state: .new)
            .run(factory, folder: scratch.path("trial"), now: now)
    }

    @Test("No file of the device contains the credential in plaintext", arguments: channels)
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
        "A credential is received in a process other than the sender's",
        arguments: channels.indices.dropLast())
    func acrossProcesses(index: Int) async throws {
        try await channels[index].use(between: ends) { channel in
            try await channel.send(credential("one"), now: now)
            let folder = device.folder
            await #expect(processExitsWith: .success) { [folder = folder as String, index = index as Int] in
                let ends = ChannelEndpoints(
                    device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
                // Do not prepare the channel here, because that would pair the apps again.
                let channel = try channels[index].make(ends)
                let found = try await channel.receive(
                    by: Pair.receiver, now: Date(timeIntervalSince1970: 1_800_000_001), consent: { _ in true }
                )
                try #require(found?.secret == SecretBytes(utf8: "canary one"))
                await channel.stop()
            }
        }
    }

    @Test("Each of several concurrent receivers gets a complete credential or none", arguments: channels)
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
                            // Another task received or replaced it in the meantime.
                            #expect([.alreadyUsed, .denied, .overwritten].contains(error.code), "\(error)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
