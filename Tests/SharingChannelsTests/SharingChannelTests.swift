import Diagnostics
import CommandSupport
import DeviceSimulation
import Foundation
import OpenSSL
import SecretMemory
import SharingChannels
import TestSupport
import Testing

@Suite("The needs of each channel")
struct SharingChannelTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
    }

    private func trial(
        _ name: String, sender: App = Pair.sender, receiver: App = Pair.receiver, state: DeviceState = .new
    ) async throws -> ChannelReport {
        let factory = try #require(channels.first { $0.name == name })
        let report = try await ChannelExperiment(sender: sender, receiver: receiver, state: state)
            .run(factory, folder: scratch.path("trial"), now: now)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["device"])
        return report
    }

    /// Each row holds the channel's name, what an attacker gets, and whether a credential survives a restart and a
    /// reinstallation.
    @Test(
        "Each channel shows the properties that the table of channels gives",
        arguments: [
            ("keychain", "no", true, true), ("app-group", "no", true, false),
            ("database", "no", true, false),
            ("file", "no", true, true), ("loopback-http", "no", false, false),
            ("persistent-token", "no", true, false),
            ("key-sharing-2025", "with consent", true, true),
            ("url-pasteboard", "with consent", false, false),
            ("fallback", "no", true, true),
        ])
    func table(name: String, attack: String, restart: Bool, reinstall: Bool) async throws {
        let report = try await trial(name)
        #expect(report.failure == nil && report.handOver ?? .zero > .zero)
        #expect(report.attack.rawValue == attack && !report.isInPlainFile)
        #expect(report.survivesRestart == restart && report.survivesReinstall == reinstall)
    }

    @Test(
        "Before the first unlock the channels under a lock are closed, and the token's in every state but one",
        arguments: channels.dropLast().map(\.name), DeviceState.all)
    func states(name: String, state: DeviceState) async throws {
        // Memory and pasteboard are under no lock, and a token's key is for an unlocked device with a passcode alone.
        let isClosed =
            name == "persistent-token"
            ? state.lock != .unlocked || !state.hasPasscode
            : state.lock == .beforeFirstUnlock && !["url-pasteboard", "loopback-http"].contains(name)
        #expect(try await trial(name, state: state).failure?.code == (isClosed ? .locked : nil))
    }

    @Test("Without a common group the channels through one are closed, and the hint says why")
    func entitlements() async throws {
        let stranger = App(
            bundleIdentifier: "example.stranger", teamIdentifier: Pair.receiver.teamIdentifier,
            entitlements: Entitlements())
        var member = Pair.receiver.member(.fileProvider, name: "files", entitlements: Entitlements())
        for name in ["keychain", "app-group", "database"] {
            #expect(try await trial(name, receiver: stranger).failure?.code == .missingEntitlement)
            #expect(try await trial(name, sender: stranger).failure?.code == .missingEntitlement)
            #expect(try await trial(name, receiver: member).failure?.hint?.contains("extension") == true)
        }
        let closed = try await trial("persistent-token", receiver: stranger).failure
        #expect(closed?.code == .missingEntitlement && closed?.hint?.contains("com.apple.token") == true)
        for name in ["file", "loopback-http", "key-sharing-2025", "url-pasteboard", "fallback"] {
            #expect(try await trial(name, receiver: stranger).failure == nil)
        }
        member = Pair.sender.member(.fileProvider, name: "files")
        #expect(try await trial("url-pasteboard", sender: member).failure?.code == .notPermitted)
        #expect(try await trial("url-pasteboard", receiver: member).failure?.code == .notPermitted)
    }

    /// Each row holds the receiver's team, the keychain groups of both apps, the application groups of both; which of
    /// keychain, app-group and database work; and words of the hint where one does not.
    @Test(
        "The channels through a group are open as the apps' signatures allow",
        arguments: [
            ("TEAM000001", ["TEAM000001.a"], ["group.a"], "yyy", ""),
            ("TEAM000001", ["TEAM000001.a"], [], "ynn", "give both apps the same application group"),
            ("TEAM000001", [], ["group.a"], "yyy", ""),
            ("TEAM000001", [], ["TEAM000001.a"], "yyy", ""),
            ("TEAM000001", [], ["a"], "nnn", "begins with group."),
            ("TEAM000001", ["a"], [], "nnn", "in front: TEAM000001.a"),
            ("TEAM000001", ["com.apple.token"], [], "nnn", "the system alone adds to com.apple.token"),
            ("TEAM000001", ["com.apple.token", "TEAM000001.a"], ["group.a"], "yyy", ""),
            ("TEAM000001", ["TEAM000001.example.sender"], [], "ynn", "the same application group"),
            ("TEAM000002", ["com.apple.token"], [], "nnn", "take a channel without a group"),
            ("TEAM000002", ["X.shared"], ["group.x"], "nnn", "take a channel without a group"),
            ("TEAM000002", ["TEAM000001.a"], ["group.x"], "nnn", "take a channel without a group"),
            ("TEAM000002", [], ["group.x", "TEAM000001.example.sender"], "nnn", "two teams"),
        ] as [(String, [String], [String], String, String)])
    func groups(team: String, keychain: [String], groups: [String], works: String, hint: String) async throws
    {
        var (sender, receiver) = (Pair.sender, Pair.receiver)
        sender.entitlements = Entitlements(keychainAccessGroups: keychain, applicationGroups: groups)
        receiver.entitlements = sender.entitlements
        receiver.teamIdentifier = team
        for (name, isOpen) in zip(["keychain", "app-group", "database"], works) {
            let failure = try await trial(name, sender: sender, receiver: receiver).failure
            #expect(failure?.code == (isOpen == "y" ? nil : .missingEntitlement), "\(name)")
            // The hint of the first failure is checked; the other channels may lack another group.
            if let failure, name == "database" || works == "nnn" && name == "keychain" {
                #expect(failure.hint?.contains(hint) == true, "\(name): \(failure.hint ?? "")")
            }
        }
    }

    @Test("The hint names the entitlement that was forgotten on the extension")
    func forgottenOnExtension() async throws {
        var host = Pair.sender
        host.entitlements = Entitlements(
            keychainAccessGroups: ["com.apple.token", "TEAM000001.a", "TEAM000001.b"],
            applicationGroups: ["group.example.shared"])
        // The first groups of host and extension differ, so that the hint must look further.
        let member = host.member(
            .fileProvider, name: "files",
            entitlements: Entitlements(keychainAccessGroups: ["com.apple.token", "TEAM000001.c"]))
        var app = Pair.receiver
        app.entitlements = Entitlements(
            keychainAccessGroups: ["com.apple.token", "TEAM000001.other", "TEAM000001.b"])
        for (sender, receiver) in [(app, member), (member, app)] {
            let failure = try await trial("keychain", sender: sender, receiver: receiver).failure
            #expect(failure?.hint?.contains("an extension needs it") == true, "\(failure?.hint ?? "")")
        }
    }

    @Test("A token's key is used with the user's consent, and what an entitled app gets is never the key")
    func tokenConsent() async throws {
        let ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let channel = PersistentTokenChannel(ends)
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        try channel.send(credential, now: now)
        var questions: [ConsentQuestion] = []
        #expect(throws: SharingChannelError(.denied, "")) {
            try channel.receive(by: Pair.receiver, now: now) { question in
                questions.append(question)
                return false
            }
        }
        #expect(questions == [.use(reader: Pair.receiver.bundleIdentifier)])
        #expect(try channel.receive(by: Pair.receiver, now: now) { _ in true } == credential)
        // The receiver's keychain has no key, in whatever group it looks.
        let keychain = try Keychain(device: device, app: Pair.receiver)
        let error = #expect(throws: KeychainError.self) { try keychain.copyMatching(KeychainQuery(.key)) }
        #expect(error?.code == .itemNotFound)
        try device.removePasscode()
        try device.setPasscode()
        #expect(throws: SharingChannelError(.failed, "")) {
            try channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
    }

    @Test("The fallback uses the first channel that is open, and leaves nothing on the others")
    func fallback() async throws {
        let ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        let file = FileChannel(ends)
        let all: [any SharingChannel] = [file, KeychainChannel(ends), PasteboardChannel(ends)]
        #expect(try await FallbackChannel(all).sendNamingChannel(credential, now: now) == "keychain")
        try file.pair()
        #expect(try await FallbackChannel(all).sendNamingChannel(credential, now: now) == "file")
        #expect(try KeychainChannel(ends).receive(by: Pair.receiver, now: now) { _ in true } == nil)
        let none = FallbackChannel([
            FileChannel(ChannelEndpoints(device: device, sender: Pair.receiver, receiver: Pair.sender))
        ])
        let error = await #expect(throws: SharingChannelError.self) {
            try await none.send(credential, now: now)
        }
        #expect(error?.code == .noChannel && (error?.cause as? SharingChannelError)?.code == .notPaired)
        await #expect(throws: SharingChannelError(.noChannel, "")) {
            try await FallbackChannel([]).send(credential, now: now)
        }
    }

    @Test("After a newer credential was sent on another channel, an older one is not received")
    func staleAfterRestart() async throws {
        let ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let keySharing = try #require(channels.first { $0.name == "key-sharing-2025" }).make(ends)
        let fallback = FallbackChannel([keySharing, PasteboardChannel(ends)])
        let versions = [1, 2].map { byte in
            Credential(account: "a", secret: SecretBytes([byte]), expires: now + 30)
        }
        #expect(try await fallback.sendNamingChannel(versions[0], now: now) == "key-sharing-2025")
        try device.restart()
        await fallback.stop()
        #expect(try await fallback.sendNamingChannel(versions[1], now: now) == "url-pasteboard")
        try device.unlock()
        #expect(try await fallback.receive(by: Pair.receiver, now: now) { _ in true } == versions[1])
        await fallback.stop()
    }

    @Test(
        "A credential that cannot be removed from one channel is removed from others, and blocks newer ones"
    )
    func stuck() async throws {
        let ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let (stuck, open) = (StuckChannel(), KeychainChannel(ends))
        let closed = KeychainChannel(
            ChannelEndpoints(device: device, sender: Pair.sender, receiver: ChannelExperiment.attacker))
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        func found() throws -> Credential? { try open.receive(by: Pair.receiver, now: now) { _ in true } }
        try open.send(credential, now: now)
        let fallback = FallbackChannel([closed, stuck, open])
        await #expect(throws: SharingChannelError(.damaged, "")) { try await fallback.remove() }
        #expect(try found() == nil)
        await #expect(throws: SharingChannelError(.damaged, "")) {
            try await fallback.send(credential, now: now)
        }
        #expect(try found() == nil)
    }

    /// A channel that is closed, with a credential on it that cannot be removed.
    private struct StuckChannel: SharingChannel {
        let name = "stuck"
        func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
            throw SharingChannelError(.locked, "")
        }
        func receive(
            by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
        ) async throws(SharingChannelError) -> Credential? { nil }
        func remove() async throws(SharingChannelError) { throw SharingChannelError(.damaged, "") }
    }

    @Test("A file sealed under an earlier pairing does not open, and an unpaired app has no key")
    func file() throws {
        let ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let channel = FileChannel(ends)
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        #expect(throws: SharingChannelError(.notPaired, "")) { try channel.send(credential, now: now) }
        try channel.pair()
        try channel.send(credential, now: now)
        try channel.pair()
        #expect(throws: SharingChannelError(.damaged, "")) {
            try channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
    }

    @Test("What another app copied to the pasteboard is not taken for the credential")
    func overwritten() throws {
        let ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let channel = PasteboardChannel(ends)
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        try channel.send(credential, now: now)
        try Pasteboard(device: device).write(SecretBytes([2]), owner: ChannelExperiment.attacker, now: now)
        #expect(throws: SharingChannelError(.overwritten, "")) {
            try channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        #expect(throws: SharingChannelError(.denied, "")) {
            try channel.send(credential, now: now)
            return try channel.receive(by: Pair.receiver, now: now) { _ in false }
        }
    }
}
