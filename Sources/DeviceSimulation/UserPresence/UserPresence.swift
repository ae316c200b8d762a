private import Foundation
package import PrivateFiles
internal import SimulatedKeychain

/// The simulated user's consent to key uses: a key with `kSecAccessControlUserPresence` can be used only after the user
/// has confirmed presence by passcode or biometry.
///
/// The answer is in a file of the device, so that one process sets it (`keyshare-device presence`) and
/// another reads it.
package struct UserPresence: Sendable {
    /// The user's answers.
    package enum Answer: String, Sendable, Hashable, Codable, CaseIterable {
        /// The user proves presence.
        case allow
        /// The user's proof fails.
        case deny
        /// The user dismisses the question.
        case cancel
        /// Each question is answered individually; see ``UserPresence/answer(_:)``.
        case ask
    }

    /// The outcome of a question.
    package enum Outcome: Sendable, Hashable {
        /// The user proved presence.
        case confirmed
        /// The user's proof failed.
        case denied
        /// The user dismissed the question.
        case canceled
        /// The user did not answer in time.
        case timedOut
    }

    /// The outcome of a question, and the alias that the user selected in a chooser.
    package struct Reply: Sendable, Hashable {
        /// The outcome.
        package let outcome: Outcome
        /// The alias that the user selected; nil for the preselected one.
        package let alias: String?
    }

    /// The maximum configured response time, in milliseconds.
    package static let longestDelay = 600_000
    /// The maximum number of pending dialogs. The user cancels further ones.
    package static let mostDialogs = 16
    private static let fileLimit = 8 << 20

    private let device: Device

    /// The user of `device`.
    package init(_ device: Device) {
        self.device = device
    }

    /// Reads the configured answer, and the questions of processes that still exist. The user of a new device allows
    /// every request.
    ///
    /// - Throws: `FileError`: `.damagedFile` if the file has invalid contents, or another failure of the file.
    package func status() throws(FileError) -> Status {
        let path = device.presencePath
        guard let bytes = try PrivateFile.open(path)?.read(atMost: Self.fileLimit) else { return Status() }
        guard var status = try? JSONDecoder().decode(Status.self, from: Data(bytes)),
            (0...Self.longestDelay).contains(status.delayMilliseconds)
        else { throw FileError(.damagedFile, path: path, "\(path) does not contain a valid answer") }
        status.removeAbandoned()
        return status
    }

    /// Sets the user's answer to future questions. An answer other than `ask` also ends the pending questions.
    ///
    /// - Parameters:
    ///   - answer: The user's answer.
    ///   - alias: The alias that the user selects in choosers; nil for the preselected one.
    ///   - delayMilliseconds: The user's response time, at most `longestDelay`.
    /// - Throws: `FileError` if the file cannot be read or written.
    package func set(
        _ answer: Answer, selecting alias: String? = nil, delayMilliseconds: Int = 0
    ) throws(FileError) {
        try change { status in
            status.answer = answer
            status.alias = alias
            status.delayMilliseconds = min(max(0, delayMilliseconds), Self.longestDelay)
            guard answer != .ask else { return }
            status.decide(answer, selecting: alias)
        }
    }

    /// Answers the pending questions, but not later questions.
    ///
    /// - Parameters:
    ///   - answer: The answer; `ask` is not an answer.
    ///   - alias: The alias that the user selects in choosers; nil for the preselected one.
    /// - Returns: The number of answered questions.
    /// - Throws: `FileError` if the file cannot be read or written.
    package func answer(_ answer: Answer, selecting alias: String? = nil) throws(FileError) -> Int {
        var count = 0
        try change { status in
            count = status.questionsWaiting
            guard count > 0, answer != .ask else { return }
            status.decide(answer, selecting: alias)
        }
        return count
    }

    /// Answers one dialog. Other questions remain pending.
    ///
    /// - Parameters:
    ///   - number: The number of the dialog; see ``Status/pendingDialogs``.
    ///   - answer: The answer; `ask` is not an answer.
    ///   - alias: The alias that the user selects in a chooser; nil for the preselected one.
    /// - Returns: Whether the dialog was pending.
    /// - Throws: `FileError` if the file cannot be read or written.
    package func answer(
        dialog number: Int, _ answer: Answer, selecting alias: String? = nil
    ) throws(FileError) -> Bool {
        try decide(number, answer, selecting: alias) { $0.pendingDialogs.map(\.number) }
    }

    /// Answers one question about the user's presence. Other questions remain pending.
    ///
    /// - Parameters:
    ///   - number: The number of the question; see ``Status/pendingPresenceQuestions``.
    ///   - answer: The answer; `ask` is not an answer.
    /// - Returns: Whether the question was pending.
    /// - Throws: `FileError` if the file cannot be read or written.
    package func answer(question number: Int, _ answer: Answer) throws(FileError) -> Bool {
        try decide(number, answer, selecting: nil, among: \.pendingPresenceQuestions)
    }

    /// Answers one of the pending questions, and returns whether it was pending.
    private func decide(
        _ number: Int, _ answer: Answer, selecting alias: String?, among pending: (Status) -> [Int]
    ) throws(FileError) -> Bool {
        var isAnswered = false
        try change { status in
            guard answer != .ask, pending(status).contains(number) else { return }
            status.decide(answer, selecting: alias, only: number)
            isAnswered = true
        }
        return isAnswered
    }

    /// Asks the user to prove presence, and waits until the question has ended.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for an answer, including the user's response time.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    /// - Throws: `FileError` if the file cannot be read or written; `CancellationError`.
    package func request(
        timeout: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async throws -> Outcome {
        try await request(nil, timeout: timeout, sleep: sleep).outcome
    }

    /// Shows a dialog of Android's system to the user, and waits until it has ended.
    ///
    /// - Parameters:
    ///   - dialog: The dialog; nil for a question about the user's presence.
    ///   - timeout: How long to wait for an answer, including the user's response time.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    /// - Throws: `FileError` if the file cannot be read or written; `CancellationError`.
    package func request(
        _ dialog: AndroidDialog?, timeout: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async throws -> Reply {
        var status = try status()
        let delay = Duration.milliseconds(status.delayMilliseconds)
        guard delay <= timeout else {
            try await sleep(timeout)
            return Reply(outcome: .timedOut, alias: nil)
        }
        if delay > .zero {
            try await sleep(delay)
            // The user may have decided otherwise during the delay. The later decision applies without another delay.
            status = try self.status()
        }
        guard status.answer == .ask else { return Reply(status.answer, selecting: status.alias) }
        // Observing begins before the question is asked, so that no answer is missed.
        let answers = try Notifications(device: device).observeShared(.presenceAnswered)
        var number: Int?
        var decision = Reply(.cancel, selecting: nil)
        try change { status in
            // The user may have decided before the question was asked.
            guard status.answer == .ask else {
                decision = Reply(status.answer, selecting: status.alias)
                return
            }
            number = status.ask(dialog, most: Self.mostDialogs)
        }
        guard let question = number else { return decision }
        // If this fails, the question remains stored, but affects no other question.
        defer { try? change { $0.remove(question) } }
        return try await withThrowingTaskGroup(of: Reply?.self) { group in
            group.addTask {
                for await _ in answers {
                    if let reply = try self.status().reply(to: question) { return reply }
                }
                return nil
            }
            group.addTask {
                try await sleep(timeout - delay)
                return Reply(outcome: .timedOut, alias: nil)
            }
            defer { group.cancelAll() }
            while let reply = try await group.next() {
                if let reply { return reply }
            }
            throw CancellationError()
        }
    }

    private func change(_ body: (inout Status) -> Void) throws(FileError) {
        let changing = try FileLock.acquire(device.presencePath + ".lock")
        defer { changing.release() }
        var status = try status()
        body(&status)
        do {
            try AtomicFile.write(Array(JSONEncoder().encode(status)), to: device.presencePath)
        } catch {
            throw (error as? FileError) ?? .inputOutput("cannot write", device.presencePath, errno: 0)
        }
        // The change is on disk. If the notification is lost, a waiting process relies on its timeout.
        try? Notifications(device: device).post(.presenceAnswered)
    }
}

extension UserPresence.Reply {
    /// The reply of a user with this answer.
    init(_ answer: UserPresence.Answer, selecting alias: String?) {
        outcome =
            switch answer {
            case .allow: .confirmed
            case .deny: .denied
            case .cancel, .ask: .canceled
            }
        self.alias = answer == .allow ? alias : nil
    }
}
