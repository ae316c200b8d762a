import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareDeviceCommand
import OpenSSL
import SecretMemory
import SharingChannels
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Requirements of each channel", .timeLimit(.minutes(10)))
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

    /// Each row contains the channel's name, the result of the attack, and whether a credential survives a restart and
    /// a reinstallation.
    @Test(
        "Each channel has the properties in the table of channels",
        arguments: [
            ("keychain", "no", true, true), ("app-group", "no", true, false),
            ("database", "no", true, false),
            ("file", "no", true, true), ("loopback-http", "no", false, false),
            ("persistent-token", "no", true, false),
            ("android-keychain", "with consent", true, false),
            ("key-sharing-2025", "with consent", true, true),
            ("url-pasteboard", "with consent", false, false),
        ])
    func table(name: String, attack: String, restart: Bool, reinstall: Bool) async throws {
        let report = try await trial(name)
        #expect(report.failure == nil && report.handOver ?? .zero > .zero)
        #expect(report.attack.rawValue == attack && !report.isInPlainFile)
        #expect(report.survivesRestart == restart && report.survivesReinstall == reinstall)
    }

    @Test(
        "Protected channels need a first unlock, and the token needs a passcode and an unlocked device",
        arguments: channels.map(\.name), DeviceState.all)
    func states(name: String, state: DeviceState) async throws {
        // Memory and the pasteboard are never locked. A token's key requires a passcode and an unlocked device.
        let isClosed =
            name == "persistent-token"
            ? state.lock != .unlocked || !state.hasPasscode
            : state.lock == .beforeFirstUnlock && !["url-pasteboard", "loopback-http"].contains(name)
        #expect(try await trial(name, state: state).failure?.code == (isClosed ? .locked : nil))
    }

    @Test("Channels that require a shared group fail without one, and the hint contains the reason")
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
        for name in ["file", "loopback-http", "android-keychain", "key-sharing-2025", "url-pasteboard"] {
            #expect(try await trial(name, receiver: stranger).failure == nil)
        }
        member = Pair.sender.member(.fileProvider, name: "files")
        #expect(try await trial("url-pasteboard", sender: member).failure?.code == .notPermitted)
        #expect(try await trial("url-pasteboard", receiver: member).failure?.code == .notPermitted)
    }

    /// Each row contains:
    ///
    /// - the receiver's team
    /// - the keychain groups of both apps
    /// - the application groups of both apps
    /// - whether the channels keychain, app-group and database work: `y` or `n` for each
    /// - words of the hint if a channel does not work
    @Test(
        "A channel through a group works if the apps' signatures permit it",
        arguments: [
            ("TEAM000001", ["TEAM000001.a"], ["group.a"], "yyy", ""),
            ("TEAM000001", ["TEAM000001.a"], [], "ynn", "give both apps the same application group"),
            ("TEAM000001", [], ["group.a"], "yyy", ""),
            ("TEAM000001", [], ["TEAM000001.a"], "yyy", ""),
            ("TEAM000001", [], ["a"], "nnn", "begins with group."),
            ("TEAM000001", ["a"], [], "nnn", "team identifier: TEAM000001.a"),
            ("TEAM000001", ["com.apple.token"], [], "nnn", "only the system adds to com.apple.token"),
            ("TEAM000001", ["com.apple.token", "TEAM000001.a"], ["group.a"], "yyy", ""),
            ("TEAM000001", ["TEAM000001.example.sender"], [], "ynn", "the same application group"),
            ("TEAM000002", ["com.apple.token"], [], "nnn", "use a channel without a group"),
            ("TEAM000002", ["X.shared"], ["group.x"], "nnn", "use a channel without a group"),
            ("TEAM000002", ["TEAM000001.a"], ["group.x"], "nnn", "use a channel without a group"),
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
            // Check the hint of the first failure. The channels after it may lack another group.
            if let failure, name == "database" || works == "nnn" && name == "keychain" {
                #expect(failure.hint?.contains(hint) == true, "\(name): \(failure.hint ?? "")")
            }
        }
    }

    @Test("The hint names the entitlement that the extension lacks")
    func forgottenOnExtension() async throws {
        var host = Pair.sender
        host.entitlements = Entitlements(
            keychainAccessGroups: ["com.apple.token", "TEAM000001.a", "TEAM000001.b"],
            applicationGroups: ["group.example.shared"])
        // The first groups of host and extension differ, so the hint must check the next ones.
        let member = host.member(
            .fileProvider, name: "files",
            entitlements: Entitlements(keychainAccessGroups: ["com.apple.token", "TEAM000001.c"]))
        var app = Pair.receiver
        app.entitlements = Entitlements(
            keychainAccessGroups: ["com.apple.token", "TEAM000001.other", "TEAM000001.b"])
        for (sender, receiver) in [(app, member), (member, app)] {
            let failure = try await trial("keychain", sender: sender, receiver: receiver).failure
            #expect(failure?.hint?.contains("an extension also needs it") == true, "\(failure?.hint ?? "")")
        }
    }

    @Test("A token's key is used with the user's consent, and an entitled app never receives the key")
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
        // The receiver cannot find a key in any of its keychain groups.
        let keychain = try Keychain(device: device, app: Pair.receiver)
        let error = #expect(throws: KeychainError.self) { try keychain.copyMatching(KeychainQuery(.key)) }
        #expect(error?.code == .itemNotFound)
        try device.removePasscode()
        try device.setPasscode()
        #expect(throws: SharingChannelError(.failed, "")) {
            try channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
    }

    @Test("A file that was sealed before a new pairing cannot be decrypted, and an unpaired app has no key")
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

    @Test("An item that another app copied to the pasteboard is not mistaken for the credential")
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
        let expired = Credential(account: "a", secret: SecretBytes([1]), expires: now)
        #expect(throws: SharingChannelError(.expired, "")) { try channel.send(expired, now: now) }
    }
}
