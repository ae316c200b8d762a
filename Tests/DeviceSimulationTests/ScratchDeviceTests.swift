import Foundation
import PrivateFiles
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Scratch devices", .timeLimit(.minutes(10)))
struct TrialFolderTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func left(on device: Device) throws -> [String] {
        try scratch.names(device.folder + "/trials").filter { $0 != ".lock" }
    }

    @Test("A scratch device starts empty and is removed at the end")
    func end() throws {
        let device = try scratch.device()
        let trial = try ScratchDevice(on: device, runtimeDirectory: nil)
        #expect(!FileManager.default.fileExists(atPath: trial.path))
        _ = try Keychain(device: Device(folder: trial.path), app: .provider)
        #expect(try left(on: device).count == 2)
        try trial.end()
        #expect(try left(on: device).isEmpty)
        try trial.end()
    }

    @Test("Creating a scratch device removes scratch devices of killed processes, but none in use")
    func sweep() throws {
        let device = try scratch.device()
        let held = try ScratchDevice(on: device, runtimeDirectory: nil)
        _ = try Device(folder: held.path)
        for name in ["1", "2"] {
            let left = try Device(folder: device.folder + "/trials/" + name)
            try AtomicFile.write([1], to: left.keychainFolder() + "/master.key")
        }
        for name in ["2.lock", "3.lock"] {
            try AtomicFile.write([], to: device.folder + "/trials/" + name)
        }
        let trial = try ScratchDevice(on: device, runtimeDirectory: nil)
        let names = [held.path, trial.path].map { String($0.split(separator: "/").last ?? "") }
        #expect(try left(on: device) == ([names[0]] + names.map { $0 + ".lock" }).sorted())
        try trial.end()
        try held.end()
        #expect(try left(on: device).isEmpty)
    }

    @Test("A scratch device with a long path removes its socket and lock from the runtime folder")
    func longPath() throws {
        let runtime = try Device(folder: scratch.path("run")).folder
        let device = try Device(folder: scratch.path(String(repeating: "x", count: 100)))
        for isKilled in [false, true] {
            var trial: ScratchDevice? = try ScratchDevice(on: device, runtimeDirectory: runtime)
            let path = try #require(trial?.path)
            let socket = try Device(folder: path)
                .socketPath(named: Device.channelSocket, runtimeDirectory: runtime)
            for name in [socket, socket + ".lock"] { try AtomicFile.write([], to: name) }
            if !isKilled { try trial?.end() }
            trial = nil
            let next = try ScratchDevice(on: device, runtimeDirectory: runtime)
            #expect(try scratch.names(runtime + "/keyshare").isEmpty)
            try next.end()
        }
        #expect(try left(on: device).isEmpty)
    }
}
