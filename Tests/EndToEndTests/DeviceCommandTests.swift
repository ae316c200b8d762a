import CommandSupport
import DeviceSimulation
import Foundation
import Glibc
import KeyShareDeviceCommand
import SimulatedKeychain
import TestSupport
import Testing

@Suite("The commands of the device", .timeLimit(.minutes(10)))
struct DeviceCommandTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    /// Creates a device whose provider holds one identity.
    private func provision() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
    }

    /// The JSON document that a command writes.
    private func document<Document: Decodable>(
        _ type: Document.Type, _ arguments: String...
    ) async throws -> Document {
        let run = try await simulation.device(arguments + ["--json"])
        #expect(run.status == 0 && run.errors.isEmpty)
        return try run.document(type)
    }

    private func keychain(_ app: String) async throws -> [KeychainDocument.Item] {
        try await document(KeychainDocument.self, "keychain", "--app", app).items
    }

    private func pasteboard(_ arguments: String...) async throws -> PasteboardDocument {
        try await simulation.device(["pasteboard", "--json"] + arguments).document(PasteboardDocument.self)
    }

    private func channels(_ arguments: String...) async throws -> [ChannelsDocument.Channel] {
        try await simulation.device(["channels", "--json"] + arguments).document(ChannelsDocument.self)
            .channels
    }

    @Test("The device is in the home folder, or in the data folder if the environment sets one")
    func home() async throws {
        func make(_ environment: [String: String]) async throws {
            let run = try RunningCommand(.device, ["lock"], environment: environment)
            #expect(try await run.finish().status == 0)
        }
        let (home, data) = (simulation.scratch.path("home"), simulation.scratch.path("data"))
        for folder in [home, data] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }
        try await make(["HOME": home])
        #expect(FileManager.default.fileExists(atPath: home + "/.local/share/keyshare"))
        try await make(["HOME": home, "XDG_DATA_HOME": data])
        #expect(FileManager.default.fileExists(atPath: data + "/keyshare"))
    }

    @Test("apps lists the provider, its extensions with the same team and groups, and the consumer")
    func apps() async throws {
        let apps = try await document(AppsDocument.self, "apps").apps
        #expect(
            apps.map(\.kind) == [
                "application", "fileProvider", "fileProviderInterface", "tokenExtension", "application",
            ])
        let groups = apps.map(\.entitlements.keychainAccessGroups)
        #expect(groups[0] == groups[1] && groups[0] == groups[2] && groups[0] != groups[4])
        #expect(groups[3] == ["PRVD000001.red.hound.keyshare.token"])
        #expect(groups[4].last == "com.apple.token")
        let teams = Set(apps.map(\.teamIdentifier))
        #expect(teams.count == 2)
    }

    @Test("lock, unlock, restart and passcode change the state, and each prints the new state")
    func states() async throws {
        for (arguments, state) in [
            (["lock"], "locked"), (["unlock"], "unlocked"), (["restart"], "before-first-unlock"),
            (["lock"], "before-first-unlock"), (["unlock"], "unlocked"),
            (["passcode", "remove", "--yes"], "no-passcode"), (["lock"], "no-passcode"),
            (["passcode", "set"], "unlocked"),
        ] {
            let run = try await simulation.device(arguments + ["--json"])
            #expect(run.status == 0)
            #expect(try run.document(DeviceStateDocument.self).state == state)
        }
        #expect(try await simulation.device("passcode", "remove").status == 10)
        #expect(try await simulation.device("lock").errors == "the device is locked\n")
        #expect(try await simulation.device("passcode", "remove", "--yes").status == 10)
        #expect(try await simulation.device("lock", "--quiet").errors.isEmpty)
        #expect(try await simulation.device("sleep").status == 64)
    }

    @Test("Each change of the passcode prints a confirmation")
    func passcode() async throws {
        try await simulation.device("passcode", "remove", "--yes")
        #expect(
            try await simulation.device("passcode", "set").errors
                == "the device has a passcode; the device is unlocked\n")
        let file = try simulation.write("4711\n", as: "passcode")
        #expect(
            try await simulation.device("passcode", "set", "--password-file", file).errors
                == "the passcode was replaced; the device is unlocked\n")
        #expect(
            try await simulation.device("passcode", "reset-tries").errors
                == "all 3 tries are available again; the device is unlocked\n")
        #expect(try await simulation.device("unlock").errors == "the device is unlocked\n")
    }

    @Test("keychain shows each app's items and their accessibility, but no secrets")
    func keychain() async throws {
        try await provision()
        #expect(try await keychain("consumer").isEmpty)
        let items = try await keychain("provider")
        #expect(items.map(\.name) == (try await keychain("files")).map(\.name))
        // Five identities, including the authorities, and a generic password: the record of the provisioning run.
        #expect(items.map(\.class) == Array(repeating: "idnt", count: 5) + ["genp"])
        #expect(items.allSatisfy { $0.isOpen })
        try await simulation.device("restart")
        #expect(try await keychain("provider").contains(where: \.isOpen) == false)
        let table = try await simulation.device("keychain")
        #expect(table.text.contains("AfterFirstUnlockThisDeviceOnly"))
        #expect(table.errors.hasSuffix("; the device is before-first-unlock\n"))
    }

    @Test("keychain fails if an item is damaged, and prints no list without that item")
    func damagedItem() async throws {
        try await provision()
        let file = "device/keychain/keychain.sqlite"
        var database = try simulation.scratch.read(file)
        // In the identity's record, the accessibility follows the access group.
        let place = try #require(database.firstRange(of: Array("keyshare.sharedcku".utf8)))
        database[place.upperBound - 1] = UInt8(ascii: "x")
        _ = try simulation.scratch.write(database, as: file)
        let run = try await simulation.device("keychain")
        #expect(run.status == 74 && run.text.isEmpty, "\(run.text)")
        #expect(run.errors.contains("has an unknown accessibility"), "\(run.errors)")
    }

    @Test("groups shows the members and files of each application group")
    func groups() async throws {
        try await simulation.device("unlock")
        let groups = try await document(GroupsDocument.self, "groups").groups
        #expect(groups.map(\.identifier) == ["group.red.hound.keyshare.provider"])
        #expect(groups[0].members.count == 3 && groups[0].files.isEmpty)
    }

    @Test("pasteboard shows the item's owner and the apps that tried to read it, and can clear it")
    func pasteboard() async throws {
        try await provision()
        try await simulation.serve()
        let import_ = ["import", "tmp.zip", "--mechanism", "legacy", "--uti", "purebred.zip.all-user"]
        #expect(try await simulation.consumer(import_ + ["--deny-paste"]).status == 10)
        #expect(try await pasteboard().owner == "red.hound.keyshare.provider.interface")
        #expect(try await simulation.consumer(import_ + ["--allow-paste"]).status == 0)
        let cleared = try await pasteboard("--clear")
        #expect(cleared.owner == nil)
        #expect(cleared.accesses.map(\.outcome) == [.denied, .allowed])
        let later = try await simulation.device("pasteboard", "--at", "2100-01-01")
        #expect(later.status == 0 && later.errors.hasPrefix("the pasteboard is empty"))
    }

    private static let channels = [
        "keychain", "app-group", "database", "file", "loopback-http", "persistent-token",
        "android-keychain", "key-sharing-2025", "url-pasteboard",
    ]

    @Test("channels tries every channel by default, and reports only the channels that it tried")
    func channels() async throws {
        try await simulation.device("unlock")
        let channels = try await document(ChannelsDocument.self, "channels").channels
        #expect(channels.map(\.channel) == Self.channels)
        #expect(channels.allSatisfy { $0.works && $0.isInPlainFile == false })
        #expect(
            channels.map(\.othersRead) == [
                "no", "no", "no", "no", "no", "no", "with consent", "with consent", "with consent",
            ])
        #expect(channels.map(\.survivesRestart) == [true, true, true, true, false, true, true, true, false])
        #expect(
            channels.map(\.survivesReinstall) == [true, false, false, true, false, false, false, true, false])
        #expect(channels.allSatisfy { $0.handOverMilliseconds ?? 0 > 0 })
        let table = try await simulation.device("channels")
        #expect(table.status == 0 && table.text.split(separator: "\n").count == Self.channels.count + 1)
        #expect(try trials().isEmpty)
    }

    /// The leftover folders of devices on which channels were tried.
    private func trials() throws -> [String] {
        let folder = simulation.device + "/trials"
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != ".lock" }
    }

    /// Waits until the keychain of a trial device has its key.
    private func waitForTrial(of running: RunningCommand) async throws {
        try await running.wait {
            try trials().contains { name in
                FileManager.default.fileExists(
                    atPath: "\(simulation.device)/trials/\(name)/keychain/master.key")
            }
        }
    }

    @Test("Interrupting channels leaves no files on the device", arguments: [SIGINT, SIGTERM])
    func interruptedChannels(signal: Int32) async throws {
        try await simulation.device("unlock")
        let running = try simulation.start(.device, "channels", "--json")
        try await waitForTrial(of: running)
        running.signal(signal)
        let run = try await running.finish()
        #expect(run.status == 128 + signal && run.text.isEmpty && run.errors.isEmpty)
        #expect(try trials().isEmpty)
    }

    @Test("channels removes the files of a killed run, but not those of an active run")
    func killedChannels() async throws {
        let killed = try simulation.start(.device, "channels")
        try await waitForTrial(of: killed)
        killed.signal(SIGKILL)
        #expect(try await killed.finish().status == -SIGKILL)
        #expect(try !trials().isEmpty)
        let other = try simulation.start(.device, "channels")
        #expect(try await simulation.device("channels").status == 0)
        let run = try await other.finish()
        #expect(run.status == 0 && !run.text.contains("no: "), "\(run.text)\(run.errors)")
        #expect(try trials().isEmpty)
    }

    @Test(
        "On a full disk, channels prints the complete table and exits with 74",
        .disabled(if: Sanitizers.areThreads, "the sanitizer does not start where no file can grow"))
    func fullDisk() async throws {
        let folder = simulation.device
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            // The limit leaves room for messages, but not for a keychain.
            await FullDisk.whileFull(limit: 3_000) {
                for arguments in [["channels", "--json"], ["channels", "--quiet"]] {
                    let run = try? await RunningCommand(
                        .device, arguments + ["--device", folder]
                    ).finish()
                    #expect(run?.status == 74, "\(run?.errors ?? "")\(run?.text ?? "")")
                    #expect(run?.errors.contains("keyshare-device: keychain: ") == true)
                    guard arguments.contains("--json") else {
                        #expect(run?.text.contains("no: failed") == true)
                        continue
                    }
                    #expect((try? run?.document(ChannelsDocument.self))?.channels.count == 9)
                    #expect((try? run?.errorCode()) != nil)
                }
            }
        }
    }

    @Test("channels rejects invalid group names in entitlements before it tries any channel")
    func badGroup() async throws {
        let plist = try plist("evil.plist", groups: ["../../evil"])
        for option in ["--sender-entitlements", "--receiver-entitlements"] {
            let run = try await simulation.device("channels", option, plist, "--json")
            #expect(try run.status == 5 && run.errorCode() == "malformed")
            #expect(
                run.errors.contains(
                    "evil.plist: \u{201C}../../evil\u{201D} is not a valid group name\nhint: "))
        }
        #expect(try trials().isEmpty)
    }

    @Test(
        "channels reports the reason for each closed channel, for custom apps, entitlements and device states"
    )
    func closedChannels() async throws {
        func reasons(_ arguments: String...) async throws -> [String?] {
            let run = try await simulation.device(["channels", "--json"] + arguments)
            return try run.document(ChannelsDocument.self).channels.map(\.reason)
        }
        let groups: [String?] = Array(repeating: "missing-entitlement", count: 3)
        #expect(try await reasons("--to", "consumer") == groups + [nil, nil, nil, nil, nil, nil])
        let plist = try simulation.write("<plist version=\"1.0\"><dict/></plist>", as: "none.plist")
        #expect(
            try await reasons("--receiver-entitlements", plist)
                == groups + [nil, nil, "missing-entitlement", nil, nil, nil])
        #expect(
            try await reasons("--state", "before-first-unlock") == [
                "locked", "locked", "locked", "locked", nil, "locked", "locked", "locked", nil,
            ])
        #expect(try await reasons("--to", "files").last == "not-permitted")
        let hint = try await simulation.device("channels", "--to", "consumer").errors
        #expect(hint.contains("hint: apps of two teams cannot share a group; use a channel without a group"))
        let broken = try simulation.write("{", as: "broken.plist")
        #expect(try await simulation.device("channels", "--sender-entitlements", broken).status == 5)
    }

    /// The property list of an app that names these groups.
    private func plist(_ name: String, _ keychain: String..., groups: [String] = []) throws -> String {
        func list(_ key: String, _ names: [String]) -> String {
            "<key>\(key)</key><array>\(names.map { "<string>\($0)</string>" }.joined())</array>"
        }
        let lists =
            list("keychain-access-groups", keychain)
            + list("com.apple.security.application-groups", groups)
        return try simulation.write("<plist version=\"1.0\"><dict>\(lists)</dict></plist>", as: name)
    }

    /// The results for the three channels through a group: for each, the reason why it is closed, and the hint.
    private func groupChannels(_ arguments: String...) async throws -> [[String?]] {
        try await simulation.device(["channels", "--json"] + arguments).document(ChannelsDocument.self)
            .channels.prefix(3).map { [$0.reason, $0.hint] }
    }

    @Test(
        "Entitlements that no app's signature can grant open no channel, even if both apps have them"
    )
    func impossibleGroups() async throws {
        for plist in [
            try plist("token.plist", "com.apple.token"),
            try plist("none.plist", "X.shared", groups: ["group.x"]),
        ] {
            let tried = try await channels(
                "--to", "consumer", "--sender-entitlements", plist, "--receiver-entitlements", plist)
            #expect(tried.count >= 3)
            #expect(tried.prefix(3).allSatisfy { $0.reason == "missing-entitlement" })
        }
    }

    @Test("A receiver without its own property list uses the groups of the sender's list")
    func defaultReceiver() async throws {
        let own = try plist("own.plist", "PRVD000001.own", groups: ["group.own"])
        #expect(try await groupChannels("--sender-entitlements", own).allSatisfy { $0 == [nil, nil] })
    }

    @Test(
        "channels reports a group that the extension's own list lacks, even if the app's list contains it"
    )
    func forgottenOnExtension() async throws {
        let host = try plist("host.plist", "PRVD000001.own", groups: ["group.own"])
        let none = try plist("none.plist")
        let said = try await groupChannels(
            "--sender-entitlements", host, "--to", "files", "--receiver-entitlements", none)
        #expect(said.allSatisfy { $0[0] == "missing-entitlement" })
        #expect(said.allSatisfy { $0[1]?.contains("an extension also needs it in its own") == true })
        let back = try await groupChannels(
            "--receiver-entitlements", host, "--to", "provider", "--from", "files", "--sender-entitlements",
            none)
        #expect(back.allSatisfy { $0[1]?.contains("an extension also needs it in its own") == true })
    }

    @Test("restore skips items that must not leave their device, such as all items of provider and consumer")
    func restore() async throws {
        try await provision()
        let new = simulation.scratch.path("new")
        let run = try await simulation.device("restore", simulation.device, "--device", new, "--json")
        #expect(
            run.status == 10
                && run.errors.contains("nothing was restored: 6 items were skipped (bound to their device"))
        #expect(try run.errorCode() == "left-behind")
        let restoration = try run.document(RestorationDocument.self)
        #expect(restoration.restored == 0 && restoration.left == 6)
        #expect(try await simulation.device("restore", simulation.device).status == 64)
        try await simulation.device("lock")
        let locked = try await simulation.device("restore", simulation.device, "--device", new)
        #expect(locked.status == 10 && locked.errors.contains("hint: unlock both devices"))
        #expect(!FileManager.default.fileExists(atPath: simulation.scratch.path("nowhere")))
        #expect(try await simulation.device("restore", simulation.scratch.path("nowhere")).status == 9)
        #expect(!FileManager.default.fileExists(atPath: simulation.scratch.path("nowhere")))
    }

    @Test("reset rejects a device with a running provider, even if the commands name different sockets")
    func resetWhileServed() async throws {
        try await provision()
        let socket = simulation.scratch.path("elsewhere.sock")
        for serving in [[], ["--socket", socket]] {
            try await simulation.serve(serving)
            let run = try await simulation.device(["reset", "--yes", "--json"])
            #expect(try run.status == 10 && run.errorCode() == "provider-running")
            #expect(try await simulation.stopServing().status == 0)
        }
        #expect(!(try await keychain("provider").isEmpty))
    }

    @Test("reset erases a device whose path is too long for a socket, or whose keychain cannot be opened")
    func resetOfBroken() async throws {
        let long = simulation.scratch.path(String(repeating: "x", count: 120))
        let provision = ["provision", "--key", "p256", "--generations", "1", "--types", "signature"]
        try await simulation.provider(provision + ["--device", long])
        try FileManager.default.removeItem(atPath: long + "/keychain/master.key")
        #expect(try await simulation.provider("check", "--device", long).status == 74)
        #expect(try await simulation.device("reset", "--yes", "--device", long).status == 0)
        try await simulation.provider(provision + ["--device", long])
        try Data("no database".utf8).write(to: URL(fileURLWithPath: long + "/keychain/keychain.sqlite"))
        let run = try await simulation.device("keychain", "--device", long)
        #expect(run.status == 74 && run.errors.contains("restore a backup"))
        #expect(try await simulation.device("reset", "--yes", "--device", long).status == 0)
        #expect(try await simulation.device("keychain", "--device", long).status == 0)
    }

    @Test("reset asks for confirmation and erases a device without a running provider")
    func reset() async throws {
        try await provision()
        try await simulation.device("restart")
        #expect(try await simulation.device("reset").status == 10)
        try await simulation.device("unlock")
        try await simulation.serve()
        let running = try await simulation.device("reset", "--yes", "--json")
        #expect(try running.status == 10 && running.errorCode() == "provider-running")
        #expect(!(try await keychain("provider").isEmpty))
        try await simulation.stopServing()
        let run = try await simulation.device("reset", "--yes", "--json")
        #expect(try run.status == 0 && run.document(DeviceStateDocument.self).state == "unlocked")
        #expect(try await keychain("provider").isEmpty)
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.isEmpty)
    }
}
