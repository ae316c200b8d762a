import DeviceSimulation
import Diagnostics
import Foundation
import PrivateFiles
import SecretMemory
import SharingChannels
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Read-only folders and full disks", .timeLimit(.minutes(10)))
struct ReadOnlyTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
        // The test may continue as a user other than root, who must be able to enter the folder.
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: scratch.path)
    }

    @Test(
        "On a read-only device a channel reports a failure and keeps its credential",
        arguments: channels.indices)
    func channel(index: Int) async throws {
        let folder = scratch.path("device")
        await #expect(processExitsWith: .success) { [folder = folder as String, index = index as Int] in
            let ends = ChannelEndpoints(
                device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            let old = Credential(account: "a", secret: SecretBytes([1]), expires: now + 9)
            let new = Credential(account: "b", secret: SecretBytes([2]), expires: now + 9)
            try await channels[index].use(between: ends) { channel in
                try await channel.send(old, now: now)
                // Start the server first, because it keeps the user ID that the process has when it starts to listen.
                if !channel.isOneTime {
                    #expect(try await channel.receive(by: Pair.receiver, now: now) { _ in true } == old)
                }
                try await ReadOnly.whileNothingMayBeWritten(in: folder) {
                    let error = await #expect(throws: SharingChannelError(.failed, "")) {
                        try await channel.send(new, now: now)
                    }
                    #expect(error?.reason.isEmpty == false)
                    await #expect(throws: SharingChannelError.self) { try await channel.remove() }
                }
                #expect(try await channel.receive(by: Pair.receiver, now: now) { _ in true } == old)
            }
        }
    }

    @Test(
        "On a full disk a channel reports a failure and keeps its credential",
        arguments: channels.indices)
    func fullDisk(index: Int) async throws {
        let folder = scratch.path("device")
        await #expect(processExitsWith: .success) { [folder = folder as String, index = index as Int] in
            let ends = ChannelEndpoints(
                device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            let old = Credential(account: "a", secret: SecretBytes([1]), expires: now + 9)
            let new = Credential(account: "b", secret: SecretBytes([2]), expires: now + 9)
            try await channels[index].use(between: ends) { channel in
                try await channel.send(old, now: now)
                await FullDisk.whileFull(limit: 10) {
                    await #expect(throws: SharingChannelError(.failed, "")) {
                        try await channel.send(new, now: now)
                    }
                }
                #expect(try await channel.receive(by: Pair.receiver, now: now) { _ in true } == old)
            }
        }
    }

    @Test("On a read-only device, a group's file and folder remain unchanged")
    func group() async throws {
        let folder = scratch.path("device")
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            let device = try Device(folder: folder)
            let group = try AppGroup("group.example.shared", app: Pair.sender, device: device)
            try group.write([1], to: "file")
            try await ReadOnly.whileNothingMayBeWritten(in: folder) {
                // Open the group again, like another process. Opening must not change any file modes.
                let group = try AppGroup("group.example.shared", app: Pair.sender, device: device)
                let attempts: [() throws -> Void] = [
                    { try group.write([2], to: "file") }, { try group.write([2], to: "other") },
                    { try group.update("file") { $0 = nil } }, { try group.remove("file") },
                ]
                for attempt in attempts {
                    let error = #expect(throws: FileError.self) { try attempt() }
                    #expect(error?.code == .cannotCreate(EACCES))
                }
                let content = try group.read("file")
                #expect(content == [1])
            }
            #expect(try group.read("file") == [1])
        }
    }

    @Test("On a read-only device, keychain, pasteboard and device reject writes and keep their data")
    func others() async throws {
        let folder = scratch.path("device")
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            try await ReadOnlyTests.checkOthers(folder)
        }
    }

    @Test("A keychain with an interrupted writer is intact after it is opened once for writing")
    func cutOff() async throws {
        let folder = scratch.path("device")
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            let writer = try Device(folder: folder + "-1")
            let keychain = try Keychain(device: writer, app: .provider)
            try keychain.setPassword(SecretBytes([1]), service: "s", account: "a")
            // The files that are on the disk after a power failure.
            let device = try Device(folder: folder)
            try FileManager.default.createDirectory(
                atPath: folder + "/keychain", withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            for name in ["keychain.sqlite", "keychain.sqlite-wal", "master.key"] {
                try FileManager.default.copyItem(
                    atPath: writer.folder + "/keychain/" + name, toPath: folder + "/keychain/" + name)
            }
            try await ReadOnly.whileNothingMayBeWritten(in: folder) {
                let error = #expect(throws: KeychainError.self) {
                    let keychain = try Keychain(device: device, app: .provider)
                    _ = try keychain.password(service: "s", account: "a")
                }
                #expect(error?.code == .readOnly && error?.detail == .interruptedWriter)
            }
            let password = try Keychain(device: device, app: .provider).password(service: "s", account: "a")
            #expect(password == SecretBytes([1]))
            withExtendedLifetime(keychain) {}
        }
    }

    private static func checkOthers(_ folder: String) async throws {
        let device = try Device(folder: folder)
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        try Keychain(device: device, app: .provider)
            .setPassword(SecretBytes([1]), service: "s", account: "a")
        try Pasteboard(device: device).write(SecretBytes([1]), owner: .provider, now: now)
        try device.lock()
        try await ReadOnly.whileNothingMayBeWritten(in: folder) {
            // Open the keychain again, like another process, which must be able to read it.
            let keychain = try Keychain(device: device, app: .provider)
            let error = #expect(throws: KeychainError.self) {
                try keychain.setPassword(SecretBytes([2]), service: "s", account: "a")
            }
            #expect(error?.code == .readOnly)
            let kept = try keychain.password(service: "s", account: "a")
            let problems = try keychain.quickCheck()
            #expect(kept == SecretBytes([1]) && problems.isEmpty)
            #expect(throws: PasteboardError.self) {
                try Pasteboard(device: device).write(SecretBytes([2]), owner: .provider, now: now)
            }
            #expect(throws: FileError.self) { try device.unlock() }
            #expect(throws: FileError.self) { try Notifications(device: device).post("name") }
            let state = try device.state()
            #expect(state == DeviceState(lock: .locked))
        }
        let password = try Keychain(device: device, app: .provider).password(service: "s", account: "a")
        #expect(password == SecretBytes([1]))
        #expect(
            try Pasteboard(device: device).read(by: .provider, now: now) { _ in false } == SecretBytes([1]))
    }
}
