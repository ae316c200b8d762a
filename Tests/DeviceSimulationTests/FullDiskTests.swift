import Foundation
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

/// Each test runs in its own process, in which no file can grow after some point: a limit on the size of
/// files makes a write fail part way through, like a full disk.
@Suite("A full disk", .timeLimit(.minutes(10)))
struct FullDiskTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test(
        "On a full disk a group's file does not change, and the error names the reason",
        arguments: [0, 1, 4_096])
    func group(limit: Int) async throws {
        let folder = try scratch.device().folder
        await #expect(processExitsWith: .success) { [folder = folder as String, limit = limit as Int] in
            let group = try AppGroup(
                "group.red.hound.keyshare.provider", app: .provider, device: Device(folder: folder))
            try group.write([1], to: "file")
            await FullDisk.whileFull(limit: rlim_t(limit)) {
                #expect(throws: FileError(.inputOutput(EFBIG), path: "", "")) {
                    try group.write([UInt8](repeating: 2, count: 10_000), to: "file")
                }
            }
            try #require(try group.read("file") == [1])
            try #require(try group.names() == ["file"])
        }
    }

    @Test("On a full disk the pasteboard keeps its item and change count")
    func pasteboard() async throws {
        let folder = try scratch.device().folder
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            let pasteboard = try Pasteboard(device: Device(folder: folder))
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            try pasteboard.write(SecretBytes(utf8: "old"), owner: .provider, now: now)
            let more = SecretBytes([UInt8](repeating: 2, count: 10_000))
            await FullDisk.whileFull(limit: 1_000) {
                #expect(throws: PasteboardError(.inputOutput, "")) {
                    try pasteboard.write(more, owner: .provider, now: now)
                }
            }
            try #require(try pasteboard.changeCount() == 1)
            try #require(try pasteboard.read(by: .provider, now: now) { _ in false }?.plain == "old")
        }
    }

    @Test("On a full disk the keychain does not change")
    func keychain() async throws {
        let folder = try scratch.device().folder
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            let keychain = try Keychain(device: Device(folder: folder), app: .provider)
            try keychain.setPassword(SecretBytes(utf8: "old"), service: "s", account: "a")
            await FullDisk.whileFull(limit: 0) {
                let error = #expect(throws: KeychainError.self) {
                    try keychain.setPassword(SecretBytes(utf8: "new"), service: "s", account: "a")
                }
                #expect(error?.code == .diskFull || error?.code == .io)
            }
            try #require(try keychain.password(service: "s", account: "a")?.plain == "old")
        }
    }
}
