import DeviceSimulation
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@Suite("The device's passcode, as programs ask for it")
struct DevicePasscodeTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
    }

    private func check(_ text: String, counting: Bool = true) throws -> DevicePasscode.Outcome {
        try DevicePasscode(device).check(SecretBytes(utf8: text), counting: counting)
    }

    @Test("A new device has a passcode that is known, and another can be set")
    func set() throws {
        #expect(try check(DevicePasscode.initial) == .right)
        try DevicePasscode(device).set(SecretBytes(utf8: "4711"))
        #expect(try check("4711") == .right)
        #expect(try check(DevicePasscode.initial) == .wrong(triesLeft: 2))
    }

    @Test("Three wrong tries in a row lock, in whichever process, until tries are given back")
    func locked() throws {
        #expect(try check("1") == .wrong(triesLeft: 2))
        #expect(try check("") == .wrong(triesLeft: 1))
        #expect(try check("3") == .wrong(triesLeft: 0))
        #expect(try check(DevicePasscode.initial) == .locked)
        #expect(try DevicePasscode(device).triesLeft() == 0)
        try DevicePasscode(device).resetTries()
        #expect(try check(DevicePasscode.initial) == .right)
    }

    @Test("A right try gives the others back, and one that is not counted costs none")
    func counting() throws {
        #expect(try check("1") == .wrong(triesLeft: 2))
        #expect(try check(DevicePasscode.initial) == .right)
        #expect(try DevicePasscode(device).triesLeft() == 3)
        for _ in 0..<5 { #expect(try check("1", counting: false) == .wrong(triesLeft: 3)) }
    }

    @Test("Removing the passcode forgets its value and the wrong tries, and so does erasing the device")
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

    @Test("A file that counts no tries is damaged", arguments: ["", "9\n", "x\n", "12\n", "-1\n"])
    func damaged(text: String) throws {
        try AtomicFile.write(Array(text.utf8), to: device.folder + "/passcode-tries")
        #expect(throws: FileError.self) { try check(DevicePasscode.initial) }
    }
}
