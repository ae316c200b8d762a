import Foundation
import Glibc
import PrivateFiles
import SimulatedKeychain
import TestSupport
import Testing

@testable import DeviceSimulation

/// One test at a time, because one of them counts this process's descriptors.
@Suite("Notifications", .serialized, .timeLimit(.minutes(10)))
struct NotificationTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let notifications: Notifications

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        notifications = try Notifications(device: device)
    }

    @Test("Every notification reaches all observers of its name and no others")
    func posted() async throws {
        var observers = try (0..<3).map { _ in try notifications.observe("a.b.c").makeAsyncIterator() }
        var other = try notifications.observe("a.b").makeAsyncIterator()
        for _ in 0..<3 {
            try notifications.post("a.b.c")
            for index in observers.indices { #expect(await observers[index].next() != nil) }
        }
        try notifications.post("a.b")
        #expect(await other.next() != nil)
        #expect(await isQuiet(&other))
    }

    @Test("Notifications that are posted while no task waits are coalesced")
    func coalesced() async throws {
        var observer = try notifications.observe("name").makeAsyncIterator()
        for _ in 0..<100 { try notifications.post("name") }
        #expect(await observer.next() != nil)
        // A second notification may arrive if the first was delivered before all were posted, but not a hundred.
        #expect(await isQuiet(&observer, after: 3))
    }

    @Test("A notification that was posted before observing began is not delivered")
    func earlier() async throws {
        try notifications.post("name")
        var observer = try notifications.observe("name").makeAsyncIterator()
        #expect(await isQuiet(&observer))
    }

    /// Returns whether at most `most` notifications wait. Removes their folder, which ends the observers: the
    /// kernel reports events in order, so all earlier events have been delivered.
    private func isQuiet(
        _ observer: inout Observations.AsyncIterator, after most: Int = 0
    ) async -> Bool {
        try? FileManager.default.removeItem(atPath: device.folder + "/notifications")
        var count = 0
        while await observer.next() != nil { count += 1 }
        return count <= most
    }

    @Test("No notification between two checks is lost, even if the checks are close together")
    func noLostWakeUp() async throws {
        let rounds = 300
        var pings = try notifications.observe("ping").makeAsyncIterator()
        let pongs = try notifications.observe("pong")
        let other = try Notifications(device: device)
        let answering = Task {
            var answers = 0
            for await _ in pongs {
                answers += 1
                try other.post("ping")
                if answers == rounds { break }
            }
            return answers
        }
        for _ in 0..<rounds {
            try notifications.post("pong")
            // After a lost notification, both would wait forever.
            #expect(await pings.next() != nil)
        }
        #expect(try await answering.value == rounds)
    }

    @Test("Notifications reach other processes")
    func acrossProcesses() async throws {
        let folder = device.folder
        var ready = try notifications.observe("ready").makeAsyncIterator()
        let notifications = notifications
        async let child = #expect(processExitsWith: .success) { [folder = folder as String] in
            let notifications = try Notifications(device: Device(folder: folder))
            var observer = try notifications.observe("go").makeAsyncIterator()
            for _ in 0..<3 {
                try notifications.post("ready")
                try #require(await observer.next() != nil)
            }
            try notifications.post("ready")
        }
        for _ in 0..<3 {
            #expect(await ready.next() != nil)
            try notifications.post("go")
        }
        #expect(await ready.next() != nil)
        _ = await child
    }

    @Test("A cancelled task stops waiting for notifications")
    func cancelled() async throws {
        let observations = try notifications.observe("name")
        let task = Task {
            for await _ in observations {}
            return true
        }
        task.cancel()
        #expect(await task.value)
    }

    @Test("Released observers leave no descriptor open")
    func descriptors() async throws {
        let before = try inotifyDescriptors()
        for round in 0..<50 {
            let observations = try notifications.observe("name")
            guard round % 2 == 0 else { continue }
            try notifications.post("name")
            for await _ in observations { break }
        }
        // Another thread closes them soon.
        #expect(try await waitUntil { try inotifyDescriptors() <= before })
    }

    private func inotifyDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name))
                == "anon_inode:inotify"
        }
    }

    @Test("If the kernel drops events, the observed file counts as changed")
    func overflow() throws {
        let folder = device.folder + "/notifications"
        let events = try FolderEvents(folder, events: UInt32(IN_CLOSE_WRITE))
        try notifications.post("a")
        guard case .nothing = events.drain(name: "state") else {
            Issue.record("another file counts as changed")
            return
        }
        let limit = try #require(
            Int(
                try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
                    .trimmingCharacters(in: .whitespacesAndNewlines)))
        // The kernel merges equal consecutive events. A file that a new process of another test still has open causes its
        // event later.
        for number in 0...limit + 100 { try notifications.post(number % 2 == 0 ? "a" : "b") }
        guard case .happened = events.drain(name: "state") else {
            Issue.record("the lost events are ignored")
            return
        }
    }

    @Test("A notification has a name and no payload: its file is empty, and only the owner can access it")
    func noPayload() throws {
        try notifications.post("name")
        let path = device.folder + "/notifications/name"
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        #expect(try scratch.mode(path) == 0o600)
    }

    @Test(
        "Invalid notification names are rejected",
        arguments: [
            "", ".", "..", "a/b", ".hidden", "a\0b", NotificationName(String(repeating: "x", count: 256)),
        ])
    func badNames(name: NotificationName) throws {
        #expect(throws: FileError(.cannotCreate(EINVAL), path: "", "")) { try notifications.post(name) }
        #expect(throws: FileError(.cannotCreate(EINVAL), path: "", "")) {
            _ = try notifications.observe(name)
        }
    }

    @Test("A symbolic link with the name of a notification's file is not followed")
    func link() throws {
        try FileManager.default.createSymbolicLink(
            atPath: device.folder + "/notifications/name", withDestinationPath: scratch.path("target"))
        #expect(throws: FileError(.cannotCreate(ELOOP), path: "", "")) { try notifications.post("name") }
        #expect(!FileManager.default.fileExists(atPath: scratch.path("target")))
    }
}
