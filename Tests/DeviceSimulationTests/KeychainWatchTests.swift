import Foundation
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Watching the keychain's changes", .timeLimit(.minutes(10)))
struct KeychainWatchTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let keychain: Keychain
    private let group = App.tokenGroup

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        keychain = try Keychain(device: device, app: .provider)
    }

    private func item(_ label: String) -> NewItem {
        NewItem.key(SecretBytes([1]), label: label).with(accessGroup: group)
    }

    @Test("The watch returns the current change count after each change by this or another connection")
    func counts() throws {
        let watch = KeychainWatch(keychain, accessGroup: group, on: device)
        let other = try Keychain(device: device, app: .provider)
        var last = try watch.changeCount()
        #expect(try watch.changeCount() == last)
        for number in 0..<20 {
            try (number.isMultiple(of: 2) ? keychain : other).add(item("\(number)"))
            let count = try watch.changeCount()
            #expect(count > last)
            #expect(try keychain.changeCount(accessGroup: group) == count)
            #expect(try watch.changeCount() == count)
            last = count
        }
        #expect(try other.delete(KeychainQuery(.key, accessGroup: group)) == 20)
        #expect(try watch.changeCount() > last)
    }

    @Test("All checks within one snapshot return the same count, and later checks return the new count")
    func oneLook() throws {
        let turn = WatchSnapshot()
        let watch = KeychainWatch(keychain, accessGroup: group, on: device, turn: turn)
        var counts = [try watch.changeCount()]
        turn.run {
            for label in ["first", "second"] {
                counts += [try? watch.changeCount()].compactMap(\.self)
                _ = try? keychain.add(item(label))
            }
        }
        #expect(counts == [counts[0], counts[0], counts[0]])
        #expect(try watch.changeCount() == keychain.changeCount(accessGroup: group))
        #expect(try watch.changeCount() > counts[0])
    }

    @Test("A change by another process is visible as soon as it is committed")
    func otherProcess() async throws {
        let watch = KeychainWatch(keychain, accessGroup: group, on: device)
        let before = try watch.changeCount()
        let folder = device.folder
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            let keychain = try Keychain(device: try Device(folder: folder), app: .provider)
            try keychain.add(
                NewItem.key(SecretBytes([1]), label: "other").with(accessGroup: App.tokenGroup))
        }
        #expect(try watch.changeCount() > before)
    }

    @Test("Removing the passcode increases the change count of the group that loses its keys")
    func passcode() throws {
        try keychain.add(item("a").with(accessibility: .whenPasscodeSetThisDeviceOnly))
        let watch = KeychainWatch(keychain, accessGroup: group, on: device)
        let before = try watch.changeCount()
        try device.removePasscode()
        #expect(try watch.changeCount() > before)
    }

    @Test("Concurrent checks never return a change count older than the keychain's count before the check")
    func concurrent() async throws {
        let watch = KeychainWatch(keychain, accessGroup: group, on: device)
        try await withThrowingTaskGroup { tasks in
            for task in 0..<4 {
                tasks.addTask { [keychain, group] in
                    for number in 0..<25 {
                        let before = try keychain.changeCount(accessGroup: group)
                        if task == 0 { try keychain.add(self.item("\(number)")) }
                        #expect(try watch.changeCount() >= before + (task == 0 ? 1 : 0))
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }
}
