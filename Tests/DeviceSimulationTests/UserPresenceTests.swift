import Foundation
import KeySharing
import PrivateFiles
import SimulatedKeychain
import TestSupport
import Testing

@testable import DeviceSimulation

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

    @Test("A question of a cancelled task is no longer pending, and asking again is not an answer")
    func cancellation() async throws {
        let presence = UserPresence(device)
        try presence.set(.ask)
        let changes = try Notifications(device: device).observe(.presenceAnswered)
        let asking = Task { try await ask() }
        for await _ in changes where try presence.status().questionsWaiting == 1 { break }
        #expect(try presence.answer(.ask) == 1)
        #expect(try presence.status().questionsWaiting == 1)
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        #expect(try presence.status().questionsWaiting == 0)
    }

    @Test("Questions may end in any order")
    func order() {
        var status = UserPresence.Status()
        for number in 1...3 { #expect(status.ask(nil, most: 16) == number) }
        status.remove(2)
        #expect(status.reply(to: 1) == nil && status.reply(to: 3) == nil)
        #expect(status.reply(to: 2)?.outcome == .canceled && status.questionsWaiting == 2)
        for number in [1, 3] { status.remove(number) }
        #expect(status.questionsWaiting == 0)
    }

    @Test("A question and a dialog remain pending, however many later questions are withdrawn")
    func withdrawals() {
        var status = UserPresence.Status()
        #expect(status.ask(nil, most: 16) == 1 && status.ask(dialog("app"), most: 16) == 2)
        for number in 3...3_000 {
            #expect(status.ask(nil, most: 16) == number)
            status.remove(number)
        }
        #expect(status.reply(to: 1) == nil && status.reply(to: 2) == nil)
        #expect(status.questionsWaiting == 2 && status.pendingDialogs.map(\.number) == [2])
        status.decide(.allow, selecting: nil)
        #expect((1...2).allSatisfy { status.reply(to: $0)?.outcome == .confirmed })
    }

    @Test("A question that times out does not end earlier ones")
    func timeoutOfLaterQuestion() async throws {
        let presence = UserPresence(device)
        try presence.set(.ask)
        let changes = try Notifications(device: device).observe(.presenceAnswered)
        async let outcome = ask()
        for await _ in changes where try presence.status().questionsWaiting == 1 { break }
        #expect(try await presence.request(timeout: .seconds(60)) { _ in } == .timedOut)
        #expect(try presence.status().questionsWaiting == 1)
        #expect(try presence.answer(.allow) == 1)
        #expect(try await outcome == .confirmed)
    }

    @Test("An answer belongs to the questions that it ended, even if later answers follow before it is read")
    func laterAnswers() {
        var status = UserPresence.Status()
        #expect(status.ask(nil, most: 16) == 1)
        status.decide(.deny, selecting: nil)
        status.decide(.allow, selecting: "a")
        #expect(status.reply(to: 1)?.outcome == .denied)
        #expect(status.ask(nil, most: 16) == 2)
        status.decide(.allow, selecting: "a")
        #expect(status.ask(nil, most: 16) == 3)
        status.remove(3)
        #expect(status.reply(to: 1)?.outcome == .denied && status.reply(to: 3)?.outcome == .canceled)
        #expect(status.reply(to: 2)?.outcome == .confirmed && status.reply(to: 2)?.alias == "a")
    }

    @Test("The answer to one dialog remains after an answer to all questions and a later dialog")
    func answeredDialog() {
        var status = UserPresence.Status()
        #expect(status.ask(dialog("one"), most: 16) == 1)
        status.decide(.deny, selecting: nil, only: 1)
        #expect(status.ask(nil, most: 16) == 2)
        status.decide(.allow, selecting: nil)
        #expect(status.ask(dialog("two"), most: 16) == 3)
        #expect(status.reply(to: 1)?.outcome == .denied && status.reply(to: 2)?.outcome == .confirmed)
    }

    @Test("Only the latest 1,024 questions are stored, and a question that is not stored is cancelled")
    func oldQuestions() {
        var status = UserPresence.Status()
        for number in 1...1_000 { #expect(status.ask(nil, most: 16) == number) }
        status.decide(.allow, selecting: nil)
        for number in 1_001...1_025 { #expect(status.ask(nil, most: 16) == number) }
        #expect(status.reply(to: 1)?.outcome == .canceled && status.questionsWaiting == 25)
        #expect((2...1_000).allSatisfy { status.reply(to: $0)?.outcome == .confirmed })
    }

    @Test("An answered dialog stores only its answer, so abandoned ones need little space")
    func abandonedDialogs() throws {
        var status = UserPresence.Status()
        let app = String(repeating: "a", count: 1_000)
        for number in 1...100 {
            #expect(status.ask(dialog(app), most: 2) == number)
            status.decide(.allow, selecting: "a", only: number)
        }
        #expect(try JSONEncoder().encode(status).count < 10_000)
        #expect((1...100).allSatisfy { status.reply(to: $0)?.alias == "a" })
    }

    @Test("No question remains stored after its answer was read", arguments: [true, false])
    func removal(isDialog: Bool) async throws {
        let presence = UserPresence(device)
        try presence.set(.ask)
        var expected = try presence.status()
        let changes = try Notifications(device: device).observe(.presenceAnswered)
        async let reply = presence.request(isDialog ? dialog("a") : nil, timeout: .seconds(60)) { _ in
            try await Task.sleep(for: .seconds(3600))
        }
        for await _ in changes where try presence.status().questionsWaiting == 1 { break }
        #expect(try presence.answer(.allow) == 1)
        #expect(try await reply.outcome == .confirmed)
        #expect(expected.ask(nil, most: 16) == 1)
        expected.remove(1)
        #expect(try presence.status() == expected)
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

    @Test("A response time that is longer than the timeout ends at the timeout", arguments: [true, false])
    func longDelay(isLonger: Bool) async throws {
        try UserPresence(device).set(.allow, delayMilliseconds: isLonger ? 60_001 : 60_000)
        let slept = Slept()
        let outcome = try await UserPresence(device).request(timeout: .seconds(60)) { await slept.add($0) }
        #expect(outcome == (isLonger ? .timedOut : .confirmed))
        #expect(await slept.durations == [.seconds(60)])
    }

    @Test(
        "A decision during the response time replaces the earlier one",
        arguments: [
            (UserPresence.Answer.deny, UserPresence.Outcome.denied), (.cancel, .canceled), (.ask, .timedOut),
        ])
    func laterDecision(answer: UserPresence.Answer, outcome: UserPresence.Outcome) async throws {
        let presence = UserPresence(device)
        try presence.set(.allow, delayMilliseconds: 3_000)
        let reply = try await presence.request(timeout: .seconds(60)) { duration in
            if duration == .milliseconds(3_000) { try presence.set(answer) }
        }
        #expect(reply == outcome)
    }

    @Test(
        "A damaged file is reported, and erasing the device removes it",
        arguments: [
            "", "{}x", #"{"answer":"maybe"}"#,
            #"{"answer":"deny","delayMilliseconds":-1,"lastAnswer":"cancel","questionsAsked":0,"questionsEnded":0}"#,
            #"{"answer":"deny","delayMilliseconds":600001,"lastAnswer":"cancel","questionsAsked":0,"questionsEnded":0}"#,
        ])
    func damaged(text: String) throws {
        let path = device.folder + "/presence"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(throws: FileError(.damagedFile, path: "", "")) { try UserPresence(device).status() }
        try device.reset()
        #expect(try UserPresence(device).status().answer == .allow)
    }

    @Test("Counters in the files of a device start again after their maximum")
    func counters() throws {
        func write(_ text: String, to name: String) throws {
            let path = device.folder + "/" + name
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        try write(
            #"{"answer":"ask","delayMilliseconds":0,"questionsAsked":9223372036854775807,"questionsEnded":0}"#,
            to: "presence")
        var status = try UserPresence(device).status()
        #expect(status.ask(nil, most: 16) == .min)
        try Broadcasts(device).send(.keychainChanged, at: Date(timeIntervalSince1970: 0))
        try write(#"{"last":9223372036854775807,"entries":[]}"#, to: "android/broadcasts")
        let entry = try Broadcasts(device).send(.keychainChanged, at: Date(timeIntervalSince1970: 0))
        #expect(entry.number == .min)
    }

    private func dialog(_ app: String) -> AndroidDialog { AndroidDialog(permissionFor: app) }

    /// Shows dialogs, and waits until all of them are pending.
    private func show(
        _ apps: [String], _ body: ([UserPresence.PendingDialog]) async throws -> Void
    ) async throws -> [String: UserPresence.Reply] {
        let presence = UserPresence(device)
        try presence.set(.ask)
        let changes = try Notifications(device: device).observe(.presenceAnswered)
        return try await withThrowingTaskGroup(of: (String, UserPresence.Reply).self) { group in
            for app in apps {
                group.addTask { [device] in
                    let reply = try await UserPresence(device).request(
                        AndroidDialog(permissionFor: app), timeout: .seconds(60)
                    ) { _ in try await Task.sleep(for: .seconds(3600)) }
                    return (app, reply)
                }
            }
            for await _ in changes where try presence.status().pendingDialogs.count == apps.count { break }
            try await body(try presence.status().pendingDialogs)
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    @Test("One dialog is answered with the alias that the user selected, and others remain pending")
    func dialogs() async throws {
        let presence = UserPresence(device)
        let replies = try await show(["a", "b", "c"]) { pending in
            let numbers = Dictionary(uniqueKeysWithValues: pending.map { ($0.dialog.app, $0.number) })
            let (a, b) = (try #require(numbers["a"]), try #require(numbers["b"]))
            #expect(try presence.answer(dialog: b, .allow, selecting: "Alias"))
            #expect(try !presence.answer(dialog: b, .deny))
            #expect(try !presence.answer(dialog: 99, .allow))
            #expect(try !presence.answer(dialog: a, .ask))
            #expect(try presence.status().questionsWaiting == 2)
            #expect(Set(try presence.status().pendingDialogs.map(\.dialog.app)) == ["a", "c"])
            #expect(try presence.answer(dialog: a, .deny, selecting: "Other"))
            #expect(try presence.answer(.allow, selecting: "Last") == 1)
        }
        #expect(replies["b"]?.outcome == .confirmed && replies["b"]?.alias == "Alias")
        #expect(replies["a"]?.outcome == .denied && replies["a"]?.alias == nil)
        #expect(replies["c"]?.outcome == .confirmed && replies["c"]?.alias == "Last")
        let status = try presence.status()
        #expect(status.questionsWaiting == 0 && status.pendingDialogs.isEmpty)
    }

    @Test("One question about presence is answered by number, and all others remain pending")
    func presenceQuestions() async throws {
        let presence = UserPresence(device)
        let replies = try await show(["a"]) { pending in
            let changes = try Notifications(device: device).observe(.presenceAnswered)
            async let first = ask()
            async let second = ask()
            for await _ in changes where try presence.status().questionsWaiting == 3 { break }
            let numbers = try presence.status().pendingPresenceQuestions
            #expect(numbers.count == 2 && numbers == numbers.sorted())
            let (dialog, oldest) = (try #require(pending.first).number, try #require(numbers.first))
            #expect(!numbers.contains(dialog))
            #expect(try !presence.answer(question: dialog, .allow))
            #expect(try !presence.answer(question: oldest, .ask))
            #expect(try presence.answer(question: oldest, .allow))
            #expect(try !presence.answer(question: oldest, .deny))
            #expect(try presence.status().pendingPresenceQuestions == Array(numbers.dropFirst()))
            #expect(try presence.status().pendingDialogs.map(\.number) == [dialog])
            #expect(try presence.answer(.deny) == 2)
            let outcomes = try await [first, second]
            #expect(outcomes.count { $0 == .confirmed } == 1 && outcomes.count { $0 == .denied } == 1)
        }
        #expect(replies["a"]?.outcome == .denied)
    }

    @Test("The configured answer can select an alias, and the next setting forgets it")
    func selection() async throws {
        try UserPresence(device).set(.allow, selecting: "Alias")
        let reply = try await UserPresence(device).request(dialog("a"), timeout: .zero) { _ in }
        #expect(reply.outcome == .confirmed && reply.alias == "Alias")
        try UserPresence(device).set(.allow)
        #expect(try await UserPresence(device).request(dialog("a"), timeout: .zero) { _ in }.alias == nil)
    }

    @Test(
        "A dialog without an answer times out and is no longer shown; while 16 are shown, another one is cancelled"
    )
    func dialogLimits() async throws {
        let presence = UserPresence(device)
        try presence.set(.ask)
        #expect(
            try await presence.request(dialog("a"), timeout: .seconds(60)) { _ in }.outcome == .timedOut)
        #expect(try presence.status().pendingDialogs.isEmpty)
        let replies = try await show((1...16).map { "app\($0)" }) { _ in
            let more = try await presence.request(dialog("b"), timeout: .seconds(60)) { _ in
                try await Task.sleep(for: .seconds(3600))
            }
            #expect(more.outcome == .canceled)
            #expect(try presence.answer(.deny) == 16)
        }
        #expect(replies.values.allSatisfy { $0.outcome == .denied })
    }

    @Test("A file of an earlier version is read, and its questions are cancelled")
    func earlierFile() throws {
        let path = device.folder + "/presence"
        let text =
            #"{"answer":"deny","delayMilliseconds":0,"lastAnswer":"cancel","questionsAsked":3,"questionsEnded":1}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let status = try UserPresence(device).status()
        #expect(status.answer == .deny && status.questionsWaiting == 0 && status.pendingDialogs.isEmpty)
        #expect((1...3).allSatisfy { status.reply(to: $0)?.outcome == .canceled })
        try UserPresence(device).set(.ask)
        var asked = try UserPresence(device).status()
        #expect(asked.ask(nil, most: 16) == 4)
    }

    private actor Slept {
        private(set) var durations: [Duration] = []

        func add(_ duration: Duration) { durations.append(duration) }
    }
}
