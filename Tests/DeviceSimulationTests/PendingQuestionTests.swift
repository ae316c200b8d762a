import Foundation
import Glibc
import PrivateFiles
import SimulatedKeychain
import TestSupport
import Testing

@testable import DeviceSimulation

@Suite("The pending questions of a process", .timeLimit(.minutes(10)))
struct PendingQuestionTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
    }

    /// Asks, with a timeout that is never reached.
    static func ask(_ device: Device) async throws -> UserPresence.Outcome {
        try await UserPresence(device).request(timeout: .seconds(60)) { _ in
            try await Task.sleep(for: .seconds(3600))
        }
    }

    /// The number of inotify instances of this process.
    private static func instances() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name))
                == "anon_inode:inotify"
        }
    }

    /// Asks many questions twice in a process of its own, and counts its inotify instances.
    static func askMany(_ folder: String) async throws {
        let device = try Device(folder: folder)
        let presence = UserPresence(device)
        try presence.set(.ask)
        for _ in 0..<2 {
            try await withThrowingTaskGroup(of: UserPresence.Outcome.self) { group in
                for _ in 0..<40 { group.addTask { try await ask(device) } }
                try #require(await waitUntil { (try? presence.status().questionsWaiting) == 40 })
                try #require(try instances() == 1)
                try #require(try presence.answer(.allow) == 40)
                for try await outcome in group { try #require(outcome == .confirmed) }
            }
            try #require(await waitUntil { (try? instances()) == 0 })
        }
    }

    @Test(
        "All pending questions of a process share one inotify instance, which is closed after the last answer"
    )
    func instance() async throws {
        let folder = device.folder
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            try await PendingQuestionTests.askMany(folder)
        }
    }

    @Test("Questions of different devices are answered independently")
    func devices() async throws {
        let other = try Device(folder: scratch.path("other"))
        for device in [device, other] { try UserPresence(device).set(.ask) }
        async let first = Self.ask(device)
        async let second = Self.ask(other)
        for (device, answer) in [(device, UserPresence.Answer.allow), (other, .deny)] {
            let presence = UserPresence(device)
            #expect(try await waitUntil { try presence.status().questionsWaiting == 1 })
            #expect(try presence.answer(answer) == 1)
        }
        #expect(try await first == .confirmed)
        #expect(try await second == .denied)
    }

    @Test("A question is no longer pending after its process has ended without removing it")
    func abandoned() async throws {
        let presence = UserPresence(device)
        try presence.set(.ask)
        let folder = device.folder
        await #expect(processExitsWith: .exitCode(7)) { [folder = folder as String] in
            let device = try Device(folder: folder)
            _ = Task { try await PendingQuestionTests.ask(device) }
            let isPending = await waitUntil { (try? UserPresence(device).status().questionsWaiting) == 1 }
            _exit(isPending ? 7 : 1)
        }
        let path = folder + "/presence"
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("\"asker\""))
        #expect(try presence.status().questionsWaiting == 0)
        #expect(try presence.answer(.allow) == 0)
        // The next change also removes it from the file.
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("\"asker\""))
    }

    @Test("A process has ended if another process has its number, but not if it is in another namespace")
    func identity() throws {
        let current = try #require(ProcessIdentity.current)
        #expect(!current.hasEnded)
        let earlier = ProcessIdentity(
            process: current.process, startTime: current.startTime - 1, namespace: current.namespace)
        #expect(earlier.hasEnded)
        let elsewhere = ProcessIdentity(
            process: current.process, startTime: current.startTime - 1, namespace: current.namespace + 1)
        #expect(!elsewhere.hasEnded)
    }

    @Test(
        "Questions without a process, as in files of earlier versions, remain pending, and unknown fields are ignored"
    )
    func files() throws {
        let text = #"""
            {"answer":"ask","delayMilliseconds":0,"questionsAsked":2,"later":1,"questions":[{"number":1},
            {"number":2,"later":{"a":[]}}]}
            """#
        try AtomicFile.write(Array(text.utf8), to: device.folder + "/presence")
        #expect(try UserPresence(device).status().pendingPresenceQuestions == [1, 2])
    }
}
