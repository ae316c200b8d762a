import DeviceSimulation
import Foundation
import PrivateFiles
import SimulatedKeychain
import TestSupport
import Testing

@Suite("The user's presence", .timeLimit(.minutes(10)))
struct UserPresenceTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
    }

    /// Asks, with a timeout that is never reached.
    private func ask() async throws -> UserPresence.Outcome {
        try await UserPresence(device).request(timeout: .seconds(60)) { _ in
            try await Task.sleep(for: .seconds(3600))
        }
    }

    @Test(
        "The configured answer applies in every process, and on a new device the answer is to allow everything",
        arguments: [
            (UserPresence.Answer?.none, UserPresence.Outcome.confirmed), (.allow, .confirmed),
            (.deny, .denied),
            (.cancel, .canceled),
        ])
    func answers(answer: UserPresence.Answer?, outcome: UserPresence.Outcome) async throws {
        if let answer { try UserPresence(device).set(answer) }
        #expect(try await ask() == outcome)
        #expect(try UserPresence(device).status().questionsWaiting == 0)
    }

    @Test(
        "A question waits until it is answered, and the answer does not apply to later questions",
        arguments: [true, false])
    func question(agrees: Bool) async throws {
        let presence = UserPresence(device)
        try presence.set(.ask)
        let changes = try Notifications(device: device).observe(.presenceAnswered)
        async let outcome = ask()
        // The notification of the question, which is now pending.
        for await _ in changes where try presence.status().questionsWaiting == 1 { break }
        #expect(try presence.answer(agrees ? .allow : .deny) == 1)
        #expect(try await outcome == (agrees ? .confirmed : .denied))
        #expect(try presence.status().answer == .ask)
        #expect(try presence.status().questionsWaiting == 0)
    }

    @Test("Setting another answer also answers all waiting questions")
    func set() async throws {
        let presence = UserPresence(device)
        try presence.set(.ask)
        let changes = try Notifications(device: device).observe(.presenceAnswered)
        async let outcome = ask()
        for await _ in changes where try presence.status().questionsWaiting == 1 { break }
        try presence.set(.cancel)
        #expect(try await outcome == .canceled)
    }

    @Test("A question without an answer times out and is no longer pending")
    func timeout() async throws {
        try UserPresence(device).set(.ask)
        let outcome = try await UserPresence(device).request(timeout: .seconds(60)) { _ in }
        #expect(outcome == .timedOut)
        #expect(try UserPresence(device).status().questionsWaiting == 0)
        #expect(try UserPresence(device).answer(.allow) == 0)
    }

    @Test("The simulated user answers after the configured time")
    func delay() async throws {
        try UserPresence(device).set(.allow, delayMilliseconds: 250)
        let slept = Slept()
        let outcome = try await UserPresence(device).request(timeout: .seconds(60)) { await slept.add($0) }
        #expect(outcome == .confirmed)
        #expect(await slept.durations == [.milliseconds(250)])
        try UserPresence(device).set(.allow, delayMilliseconds: -5)
        #expect(try UserPresence(device).status().delayMilliseconds == 0)
    }

    @Test(
        "A damaged file is reported, and erasing the device removes it",
        arguments: ["", "{}x", #"{"answer":"maybe"}"#])
    func damaged(text: String) throws {
        let path = device.folder + "/presence"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(throws: FileError(.damagedFile, path: "", "")) { try UserPresence(device).status() }
        try device.reset()
        #expect(try UserPresence(device).status().answer == .allow)
    }

    private actor Slept {
        private(set) var durations: [Duration] = []

        func add(_ duration: Duration) { durations.append(duration) }
    }
}
