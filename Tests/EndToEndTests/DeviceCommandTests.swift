import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The device's command")
struct DeviceCommandTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    /// A device whose provider holds one identity.
    private func provision() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
    }

    /// A list of the JSON document that a command writes.
    private func list(_ name: String, _ arguments: String...) async throws -> [[String: Any]] {
        let run = try await simulation.device(arguments + ["--json"])
        #expect(run.status == 0 && run.errors.isEmpty)
        return try #require(try run.json()[name] as? [[String: Any]])
    }

    private func keychain(_ app: String) async throws -> [[String: Any]] {
        let run = try await simulation.device("keychain", "--app", app, "--json")
        return try #require(try run.json()["items"] as? [[String: Any]])
    }

    @Test("keeps the device in the home that the environment names, unless it names a better place")
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

    @Test("lists the provider with its extensions, of one team and in the same groups, and the consumer")
    func apps() async throws {
        let apps = try await list("apps", "apps")
        let kinds = apps.map { $0["kind"] as? String }
        #expect(kinds == ["application", "fileProvider", "fileProviderInterface", "application"])
        let groups = apps.map { ($0["entitlements"] as? [String: [String]])?["keychain-access-groups"] }
        #expect(groups[0] == groups[1] && groups[0] == groups[2] && groups[0] != groups[3])
        #expect(Set(apps.compactMap { $0["teamIdentifier"] as? String }).count == 2)
    }

    @Test("leads the device from state to state, and says each")
    func states() async throws {
        for (arguments, state) in [
            (["lock"], "locked"), (["unlock"], "unlocked"), (["restart"], "before-first-unlock"),
            (["lock"], "before-first-unlock"), (["unlock"], "unlocked"),
            (["passcode", "remove", "--yes"], "no-passcode"), (["lock"], "no-passcode"),
            (["passcode", "set"], "unlocked"),
        ] {
            let run = try await simulation.device(arguments + ["--json"])
            #expect(run.status == 0)
            #expect(try run.json()["state"] as? String == state)
        }
        #expect(try await simulation.device("passcode", "remove").status == 10)
        #expect(try await simulation.device("lock").errors == "the device is locked\n")
        #expect(try await simulation.device("passcode", "remove", "--yes").status == 10)
        #expect(try await simulation.device("lock", "--quiet").errors.isEmpty)
        #expect(try await simulation.device("sleep").status == 64)
    }

    @Test("shows what each app sees in the keychain and what of it is open, and no secret")
    func keychain() async throws {
        try await provision()
        #expect(try await keychain("consumer").isEmpty)
        let items = try await keychain("provider")
        #expect(items.count == (try await keychain("files")).count && items.count > 1)
        #expect(items.contains { $0["class"] as? String == "idnt" })
        #expect(items.allSatisfy { $0["isOpen"] as? Bool == true })
        #expect(
            Set(items.flatMap(\.keys)) == ["app", "class", "name", "accessGroup", "accessible", "isOpen"])
        try await simulation.device("restart")
        #expect(try await keychain("provider").allSatisfy { $0["isOpen"] as? Bool == false })
        let table = try await simulation.device("keychain")
        #expect(table.text.contains("AfterFirstUnlockThisDeviceOnly"))
        #expect(table.errors.hasSuffix("; the device is before-first-unlock\n"))
    }

    @Test("shows who is in which application group")
    func groups() async throws {
        let groups = try await list("groups", "groups")
        #expect(groups.map { $0["identifier"] as? String } == ["group.red.hound.keyshare.provider"])
        #expect((groups[0]["members"] as? [String])?.count == 3)
        #expect((groups[0]["files"] as? [String])?.isEmpty == true)
    }

    @Test("shows whose item is on the pasteboard and who tried to read it, and clears it")
    func pasteboard() async throws {
        try await provision()
        try await simulation.serve()
        let import_ = ["import", "tmp.zip", "--mechanism", "legacy", "--uti", "purebred.zip.all-user"]
        #expect(try await simulation.consumer(import_ + ["--deny-paste"]).status == 10)
        var board = try await simulation.device("pasteboard", "--json").json()
        #expect(board["owner"] as? String == "red.hound.keyshare.provider.interface")
        #expect(try await simulation.consumer(import_ + ["--allow-paste"]).status == 0)
        board = try await simulation.device("pasteboard", "--clear", "--json").json()
        #expect(board["owner"] == nil)
        let outcomes = (board["accesses"] as? [[String: Any]])?.map { $0["outcome"] as? String }
        #expect(outcomes == ["denied", "allowed"])
        let later = try await simulation.device("pasteboard", "--at", "2100-01-01")
        #expect(later.status == 0 && later.errors.hasPrefix("the pasteboard is empty"))
    }

    private static let channels = [
        "keychain", "app-group", "database", "file", "loopback-http", "key-sharing-2025", "url-pasteboard",
    ]

    @Test("tries every channel, and claims what was tried")
    func channels() async throws {
        let channels = try await list("channels", "channels")
        #expect(channels.map { $0["channel"] as? String } == Self.channels)
        #expect(channels.allSatisfy { $0["works"] as? Bool == true && $0["isInPlainFile"] as? Bool == false })
        #expect(
            channels.map { $0["othersRead"] as? String } == [
                "no", "no", "no", "no", "no", "with consent", "with consent",
            ])
        #expect(
            channels.map { $0["survivesRestart"] as? Bool } == [true, true, true, true, false, true, false])
        #expect(
            channels.map { $0["survivesReinstall"] as? Bool } == [
                true, false, false, true, false, true, false,
            ])
        #expect(channels.allSatisfy { ($0["handOverMilliseconds"] as? Double ?? 0) > 0 })
        let table = try await simulation.device("channels")
        #expect(table.status == 0 && table.text.split(separator: "\n").count == Self.channels.count + 1)
        #expect(try trials().isEmpty)
    }

    /// What is left of the devices on which channels were tried.
    private func trials() throws -> [String] {
        let folder = simulation.device + "/trials"
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != ".lock" }
    }

    /// Until a trial's keychain has its key.
    private func waitForTrial(of running: RunningCommand) async throws {
        try await running.wait {
            try trials().contains { name in
                FileManager.default.fileExists(
                    atPath: "\(simulation.device)/trials/\(name)/keychain/master.key")
            }
        }
    }

    @Test("leaves nothing of a trial that is interrupted", arguments: [SIGINT, SIGTERM])
    func interruptedChannels(signal: Int32) async throws {
        let running = try simulation.start(.device, "channels", "--json")
        try await waitForTrial(of: running)
        running.signal(signal)
        let run = try await running.finish()
        #expect(run.status == 128 + signal && run.text.isEmpty && run.errors.isEmpty)
        #expect(try trials().isEmpty)
    }

    @Test("removes what a run left that was killed, and nothing of one that goes on")
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
        "is 74 where channels fail for want of a disk, after the table of all of them",
        .disabled(if: Sanitizers.areThreads, "the sanitizer does not start where no file can grow"))
    func fullDisk() async throws {
        let folder = simulation.device
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            // Enough for what a command says, and too little for a keychain.
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
                    let document = try? run?.json()
                    #expect((document?["channels"] as? [[String: Any]])?.count == 7)
                    #expect((document?["error"] as? [String: Any])?["code"] as? String != nil)
                }
            }
        }
    }

    @Test("refuses entitlements to groups that cannot be, before anything is tried")
    func badGroup() async throws {
        let plist = try plist("evil.plist", groups: ["../../evil"])
        for option in ["--sender-entitlements", "--receiver-entitlements"] {
            let run = try await simulation.device("channels", option, plist, "--json")
            #expect(try run.status == 5 && run.errorCode() == "malformed")
            #expect(
                run.errors.contains("evil.plist: \u{201C}../../evil\u{201D} can be no group's name\nhint: "))
        }
        #expect(try trials().isEmpty)
    }

    @Test("says why a channel is closed, for apps, entitlements and states of the user's choice")
    func closedChannels() async throws {
        func reasons(_ arguments: String...) async throws -> [String?] {
            let run = try await simulation.device(["channels", "--json"] + arguments)
            let channels = try #require(try run.json()["channels"] as? [[String: Any]])
            return channels.map { $0["reason"] as? String }
        }
        let strangers: [String?] = Array(repeating: "missing-entitlement", count: 3) + [nil, nil, nil, nil]
        #expect(try await reasons("--to", "consumer") == strangers)
        let plist = try simulation.write("<plist version=\"1.0\"><dict/></plist>", as: "none.plist")
        #expect(try await reasons("--receiver-entitlements", plist) == strangers)
        #expect(
            try await reasons("--state", "before-first-unlock") == [
                "locked", "locked", "locked", "locked", nil, "locked", nil,
            ])
        #expect(try await reasons("--to", "files").last == "not-permitted")
        let hint = try await simulation.device("channels", "--to", "consumer").errors
        #expect(hint.contains("hint: apps of two teams can share none; take a channel without a group"))
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

    /// The channels through a group: why each is closed, and the hint.
    private func groupChannels(_ arguments: String...) async throws -> [[String?]] {
        let channels = try await simulation.device(["channels", "--json"] + arguments).json()["channels"]
        return try #require(channels as? [[String: Any]]).prefix(3)
            .map { [$0["reason"] as? String, $0["hint"] as? String] }
    }

    @Test("opens no channel through a group that no device's signatures give, whatever both apps name")
    func impossibleGroups() async throws {
        for plist in [
            try plist("token.plist", "com.apple.token"),
            try plist("none.plist", "X.shared", groups: ["group.x"]),
        ] {
            let both = ["--sender-entitlements", plist, "--receiver-entitlements", plist]
            let run = try await simulation.device(["channels", "--json", "--to", "consumer"] + both)
            let channels = try #require(try run.json()["channels"] as? [[String: Any]])
            #expect(
                channels.prefix(3).map { $0["reason"] as? String }
                    == Array(repeating: "missing-entitlement", count: 3))
        }
    }

    @Test("gives the receiver that nobody names the groups of the sender's own property list")
    func defaultReceiver() async throws {
        let own = try plist("own.plist", "PRVD000001.own", groups: ["group.own"])
        #expect(try await groupChannels("--sender-entitlements", own).allSatisfy { $0 == [nil, nil] })
    }

    @Test("says of a group that it was forgotten on the extension, also where the app has it by its own list")
    func forgottenOnExtension() async throws {
        let host = try plist("host.plist", "PRVD000001.own", groups: ["group.own"])
        let none = try plist("none.plist")
        let said = try await groupChannels(
            "--sender-entitlements", host, "--to", "files", "--receiver-entitlements", none)
        #expect(said.allSatisfy { $0[0] == "missing-entitlement" })
        #expect(said.allSatisfy { $0[1]?.contains("an extension needs it in its own") == true })
        let back = try await groupChannels(
            "--receiver-entitlements", host, "--to", "provider", "--from", "files", "--sender-entitlements",
            none)
        #expect(back.allSatisfy { $0[1]?.contains("an extension needs it in its own") == true })
    }

    @Test("restores what may leave another device, which is nothing of provider and consumer")
    func restore() async throws {
        try await provision()
        let new = simulation.scratch.path("new")
        let run = try await simulation.device("restore", simulation.device, "--device", new, "--json")
        #expect(run.status == 0)
        #expect(try run.json()["restored"] as? Int == 0)
        #expect(try run.json()["left"] as? Int ?? 0 > 1)
        #expect(try await simulation.device("restore", simulation.device).status == 64)
        try await simulation.device("lock")
        let locked = try await simulation.device("restore", simulation.device, "--device", new)
        #expect(locked.status == 10 && locked.errors.contains("hint: unlock both devices"))
        #expect(!FileManager.default.fileExists(atPath: simulation.scratch.path("nowhere")))
        #expect(try await simulation.device("restore", simulation.scratch.path("nowhere")).status == 9)
        #expect(!FileManager.default.fileExists(atPath: simulation.scratch.path("nowhere")))
    }

    @Test("erases no device that is served from, whichever socket either command is told of")
    func resetWhileServed() async throws {
        try await provision()
        let socket = simulation.scratch.path("elsewhere.sock")
        for (serving, resetting) in [([], ["--socket", socket]), (["--socket", socket], [])] {
            try await simulation.serve(serving)
            let run = try await simulation.device(["reset", "--yes", "--json"] + resetting)
            #expect(try run.status == 10 && run.errorCode() == "provider-running")
            #expect(try await simulation.stopServing().status == 0)
        }
        #expect(try await keychain("provider").count > 1)
    }

    @Test("erases a device whose path is too long for a socket, and one whose keychain does not open")
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
        #expect(run.status == 74 && run.errors.contains("puts a backup in its place"))
        #expect(try await simulation.device("reset", "--yes", "--device", long).status == 0)
        #expect(try await simulation.device("keychain", "--device", long).status == 0)
    }

    @Test("erases a device when it is meant and nobody serves from it")
    func reset() async throws {
        try await provision()
        try await simulation.device("restart")
        #expect(try await simulation.device("reset").status == 10)
        try await simulation.device("unlock")
        try await simulation.serve()
        let running = try await simulation.device("reset", "--yes", "--json")
        #expect(try running.status == 10 && running.errorCode() == "provider-running")
        #expect(try await keychain("provider").count > 1)
        try await simulation.stopServing()
        let run = try await simulation.device("reset", "--yes", "--json")
        #expect(try run.status == 0 && run.json()["state"] as? String == "unlocked")
        #expect(try await keychain("provider").isEmpty)
        #expect(try await simulation.items().filter { $0["kind"] as? String == "pkcs12" }.isEmpty)
    }
}
