import Foundation
import Glibc
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

/// The acknowledged work of a process that may be killed at any moment.
struct Ledger {
    let path: String

    /// Records that `value` was acknowledged. The kernel has the data when this returns, so a kill does not
    /// undo it.
    func acknowledge(_ value: Int) throws {
        let text = Array("\(value)\n".utf8)
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try #require(unsafe write(descriptor, text, text.count) == text.count)
    }

    /// The last acknowledged value; nil if there is none.
    func last() -> Int? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return text.split(separator: "\n").last.flatMap { Int($0) }
    }

    /// Kills this process `delay` microseconds from now, in the middle of its work.
    static func killSoon(after delay: UInt32) {
        Thread.detachNewThread {
            usleep(delay)
            kill(getpid(), SIGKILL)
        }
    }
}

/// Writers that are killed at times from a seeded generator.
@Suite("Writers killed at random points", .timeLimit(.minutes(15)))
struct CrashTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let ledger: Ledger

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        ledger = Ledger(path: scratch.path("ledger"))
    }

    /// Microseconds until the kill: long enough to start, and spread over all steps of a writer.
    private static func delays() -> [UInt32] {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<Effort.crashRounds).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt32(state >> 33) % 12_000
        }
    }

    private static func content(_ value: Int) -> [UInt8] {
        Array(String(repeating: "\(value) ", count: 3_000).utf8)
    }

    private static func value(of content: [UInt8]?) throws -> Int? {
        guard let content else { return nil }
        let words = String(decoding: content, as: UTF8.self).split(separator: " ")
        let value = try #require(words.first.flatMap { Int($0) })
        try #require(content == Self.content(value), "the file is torn")
        return value
    }

    @Test(
        "After a crash, a group's file is complete: it is the last acknowledged version or the next one"
    )
    func replacement() async throws {
        let group = try AppGroup("group.red.hound.keyshare.provider", app: .provider, device: device)
        for delay in Self.delays() {
            let first = (ledger.last() ?? 0) + 1
            let (folder, path) = (device.folder, ledger.path)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    folder = folder as String, path = path as String, delay = delay as UInt32,
                    first = first as Int
                ] in
                let group = try AppGroup(
                    "group.red.hound.keyshare.provider", app: .provider, device: Device(folder: folder))
                Ledger.killSoon(after: delay)
                for value in first... {
                    try group.write(CrashTests.content(value), to: "file")
                    try Ledger(path: path).acknowledge(value)
                }
            }
            let value = try Self.value(of: group.read("file")) ?? 0
            let last = ledger.last() ?? 0
            #expect(value == last || value == last + 1)
        }
        try #require(ledger.last() ?? 0 > 0)
        try group.removeFiles(unchangedSince: .distantPast)
        #expect(try scratch.names(group.folder) == [".lock", "file"])
    }

    @Test(
        "A move between groups that a crash interrupts is completed by the next move, without partial files"
    )
    func migration() async throws {
        let app = App(
            bundleIdentifier: "app", teamIdentifier: "T",
            entitlements: Entitlements(applicationGroups: ["group.old", "group.new"]))
        let old = try AppGroup("group.old", app: app, device: device)
        let new = try AppGroup("group.new", app: app, device: device)
        let names = (0..<8).map { "file \($0)" }
        var interrupted = 0
        // A move is fast, so the kill comes sooner.
        for (round, delay) in Self.delays().map({ $0 / 4 }).enumerated() {
            let (from, to) = round % 2 == 0 ? (old, new) : (new, old)
            for name in names where try from.read(name) == nil {
                try from.write(Self.content(round), to: name)
            }
            let folder = device.folder
            let names = (from.identifier, to.identifier)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    folder = folder as String, delay = delay as UInt32, from = names.0 as String,
                    to = names.1 as String
                ] in
                let app = App(
                    bundleIdentifier: "app", teamIdentifier: "T",
                    entitlements: Entitlements(applicationGroups: [from, to]))
                let device = try Device(folder: folder)
                let old = try AppGroup(from, app: app, device: device)
                let new = try AppGroup(to, app: app, device: device)
                Ledger.killSoon(after: delay)
                try new.takeOver(old)
                while true { sched_yield() }
            }
            if try !from.names().isEmpty { interrupted += 1 }
            // Every file exists in one of the groups, and is complete.
            for name in self.names(from: from, to: to) {
                _ = try Self.value(of: from.read(name))
                _ = try Self.value(of: to.read(name))
            }
            try to.takeOver(from)
            #expect(try to.names().count == 8 && from.names().isEmpty)
        }
        #expect(interrupted > 0, "no move was interrupted")
    }

    private func names(from: AppGroup, to: AppGroup) -> Set<String> {
        Set(((try? from.names()) ?? []) + ((try? to.names()) ?? []))
    }

    @Test(
        "After a crash, a keychain password is readable: it is the last acknowledged version or the next one"
    )
    func keychain() async throws {
        let keychain = try Keychain(device: device, app: .provider)
        for delay in Self.delays() {
            let first = (ledger.last() ?? 0) + 1
            let (folder, path) = (device.folder, ledger.path)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    folder = folder as String, path = path as String, delay = delay as UInt32,
                    first = first as Int
                ] in
                let keychain = try Keychain(device: Device(folder: folder), app: .provider)
                Ledger.killSoon(after: delay)
                for value in first... {
                    try keychain.setPassword(SecretBytes(utf8: "\(value)"), service: "s", account: "a")
                    try Ledger(path: path).acknowledge(value)
                }
            }
            let value = try keychain.password(service: "s", account: "a").flatMap { Int($0.plain) } ?? 0
            let last = ledger.last() ?? 0
            #expect(value == last || value == last + 1)
        }
        try #require(ledger.last() ?? 0 > 0)
        #expect(try keychain.verifyIntegrity().isEmpty)
    }
}
