import DeviceSimulation
import Dispatch
import Foundation
import Glibc
import PrivateFiles
import SecretMemory
import SimulatedKeychain
import Synchronization
import TestSupport
import Testing

@Suite("The device's passcode for programs", .timeLimit(.minutes(10)))
struct DevicePasscodeTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
    }

    private func check(_ text: String) throws -> DevicePasscode.Outcome {
        try DevicePasscode(device).check(SecretBytes(utf8: text))
    }

    @Test("A new device has a default passcode, and another can be set")
    func set() throws {
        #expect(try check(DevicePasscode.initial) == .right)
        try DevicePasscode(device).set(SecretBytes(utf8: "4711"))
        #expect(try check("4711") == .right)
        #expect(try check(DevicePasscode.initial) == .wrong(triesLeft: 2))
    }

    @Test("Logins end before a new passcode is written, so none remains if writing it is interrupted")
    func interrupted() throws {
        // A folder with the name of the passcode's file, which the write cannot replace.
        try FileManager.default.createDirectory(
            atPath: device.folder + "/passcode", withIntermediateDirectories: false)
        let before = try device.status()
        #expect(throws: FileError.self) { try DevicePasscode(device).set(SecretBytes(utf8: "4711")) }
        let after = try device.status()
        #expect(after.lockCount > before.lockCount && after.state == before.state)
    }

    @Test("A new passcode has all attempts, even if the old one was locked")
    func attemptsOfNewPasscode() throws {
        for _ in 0..<3 { _ = try check("1") }
        #expect(try check("1") == .locked)
        try DevicePasscode(device).set(SecretBytes(utf8: "4711"))
        #expect(try DevicePasscode(device).triesLeft() == 3)
        #expect(try check("4711") == .right)
    }

    @Test("Attempts that are made at the same time are counted one by one")
    func concurrentAttempts() throws {
        for _ in 0..<20 {
            try DevicePasscode(device).resetTries()
            let outcomes = Mutex<[DevicePasscode.Outcome?]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                let outcome = try? DevicePasscode(device).check(SecretBytes(utf8: "wrong"))
                outcomes.withLock { $0.append(outcome) }
            }
            let all = outcomes.withLock { $0 }
            for left in 0..<3 { #expect(all.count { $0 == .wrong(triesLeft: left) } == 1) }
            #expect(all.count { $0 == .locked } == 5)
        }
    }

    @Test("Reading the attempts does not wait for a passcode that is being compared")
    func readWithoutWaiting() throws {
        #expect(try check("wrong") == .wrong(triesLeft: 2))
        let lock = try FileLock.acquire(device.folder + "/passcode.lock")
        defer { lock.release() }
        #expect(try DevicePasscode(device).triesLeft() == 3)
    }

    @Test("While correct passcodes are compared, other readers see all attempts")
    func readWhileCompared() throws {
        let device = device
        let isDone = Atomic(false)
        let seen = Mutex<Set<Int>>([])
        DispatchQueue.concurrentPerform(iterations: 2) { index in
            guard index == 0 else {
                repeat {
                    let left = (try? DevicePasscode(device).triesLeft()) ?? -1
                    seen.withLock { _ = $0.insert(left) }
                } while !isDone.load(ordering: .acquiring)
                return
            }
            for _ in 0..<200 {
                _ = try? DevicePasscode(device).check(SecretBytes(utf8: DevicePasscode.initial))
            }
            isDone.store(true, ordering: .releasing)
        }
        #expect(seen.withLock { $0 } == [3])
    }

    @Test("Three consecutive wrong attempts in any process lock the passcode until the attempts are reset")
    func locked() throws {
        #expect(try check("1") == .wrong(triesLeft: 2))
        #expect(try check("") == .wrong(triesLeft: 1))
        #expect(try check("3") == .wrong(triesLeft: 0))
        #expect(try check(DevicePasscode.initial) == .locked)
        #expect(try DevicePasscode(device).triesLeft() == 0)
        try DevicePasscode(device).resetTries()
        #expect(try check(DevicePasscode.initial) == .right)
    }

    @Test("On a full disk no passcode is compared, because the attempt cannot be counted")
    func fullDisk() async throws {
        let folder = device.folder
        _ = try check("1")
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            let passcode = try DevicePasscode(Device(folder: folder))
            await FullDisk.whileFull(limit: 0) {
                for text in ["1", DevicePasscode.initial] {
                    #expect(throws: FileError(.inputOutput(EFBIG), path: "", "")) {
                        try passcode.check(SecretBytes(utf8: text))
                    }
                }
            }
            try #require(try passcode.triesLeft() == 2)
            try #require(try passcode.check(SecretBytes(utf8: DevicePasscode.initial)) == .right)
            try #require(try passcode.triesLeft() == 3)
        }
    }

    @Test("A file with more than three remaining attempts is damaged")
    func tooManyAttempts() throws {
        for (text, isDamaged) in [("3\n", false), ("4\n", true)] {
            try AtomicFile.write(Array(text.utf8), to: device.folder + "/passcode-tries")
            let left = Result { try DevicePasscode(device).triesLeft() }
            #expect((try? left.get()) == (isDamaged ? nil : 3))
        }
    }

    @Test("A correct passcode resets the number of remaining attempts")
    func restored() throws {
        #expect(try check("1") == .wrong(triesLeft: 2))
        #expect(try check(DevicePasscode.initial) == .right)
        #expect(try DevicePasscode(device).triesLeft() == 3)
    }

    @Test("Removing the passcode or erasing the device resets the passcode and the attempts")
    func forgotten() throws {
        for forget in [{ try device.removePasscode() }, { try device.reset() }] {
            try device.setPasscode()
            try DevicePasscode(device).set(SecretBytes(utf8: "4711"))
            #expect(try check("1") == .wrong(triesLeft: 2))
            try forget()
            #expect(try DevicePasscode(device).triesLeft() == 3)
            #expect(try check(DevicePasscode.initial) == .right)
        }
    }

    @Test(
        "A file with an invalid number of attempts is reported as damaged",
        arguments: ["", "9\n", "x\n", "12\n", "-1\n"])
    func damaged(text: String) throws {
        try AtomicFile.write(Array(text.utf8), to: device.folder + "/passcode-tries")
        #expect(throws: FileError.self) { try check(DevicePasscode.initial) }
    }
}
