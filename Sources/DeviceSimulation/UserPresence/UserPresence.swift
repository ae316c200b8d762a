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

    /// The contents of the file.
    package struct Status: Sendable, Hashable, Codable {
        /// The user's configured answer.
        package fileprivate(set) var answer = Answer.allow
        /// The user's response time, in milliseconds; 0 by default.
        package fileprivate(set) var delayMilliseconds = 0
        /// The number of questions so far that were to be answered individually.
        fileprivate(set) var questionsAsked = 0
        /// The number of these questions that have ended.
        fileprivate(set) var questionsEnded = 0
        /// The last answer to a question.
        fileprivate(set) var lastAnswer = Answer.cancel

        /// The number of questions that wait for an answer.
        package var questionsWaiting: Int { max(0, questionsAsked - questionsEnded) }
    }

    /// The maximum configured response time, in milliseconds.
    package static let longestDelay = 600_000
    private static let fileLimit = 4_096

    private let device: Device

    /// The user of `device`.
    package init(_ device: Device) {
        self.device = device
    }

    /// Reads the configured answer. The user of a new device allows every request.
    ///
    /// - Throws: `FileError`: `.damagedFile` if the file has invalid contents, or another failure of the file.
    package func status() throws(FileError) -> Status {
        let path = device.presencePath
        guard let bytes = try PrivateFile.open(path)?.read(atMost: Self.fileLimit) else { return Status() }
        guard let status = try? JSONDecoder().decode(Status.self, from: Data(bytes)),
            (0...Self.longestDelay).contains(status.delayMilliseconds)
        else { throw FileError(.damagedFile, path: path, "\(path) does not contain the user's answer") }
        return status
    }

    /// Sets the user's answer to future questions. An answer other than `ask` also ends the pending questions.
    ///
    /// - Parameters:
    ///   - answer: the user's answer.
    ///   - delayMilliseconds: the user's response time, at most `longestDelay`.
    /// - Throws: `FileError` if the file cannot be read or written.
    package func set(_ answer: Answer, delayMilliseconds: Int = 0) throws(FileError) {
        try change { status in
            status.answer = answer
            status.delayMilliseconds = min(max(0, delayMilliseconds), Self.longestDelay)
            guard answer != .ask else { return }
            status.questionsEnded = status.questionsAsked
            status.lastAnswer = answer
        }
    }

    /// Answers the pending questions, but not later questions.
    ///
    /// - Parameter answer: the answer; `ask` is not an answer.
    /// - Returns: the number of answered questions.
    /// - Throws: `FileError` if the file cannot be read or written.
    package func answer(_ answer: Answer) throws(FileError) -> Int {
        var count = 0
        try change { status in
            count = status.questionsWaiting
            guard count > 0, answer != .ask else { return }
            status.questionsEnded = status.questionsAsked
            status.lastAnswer = answer
        }
        return count
    }

    /// Asks the user to prove presence, and waits until the question has ended.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for an answer.
    ///   - sleep: waits; throws `CancellationError` if the task is cancelled.
    /// - Throws: `FileError` if the file cannot be read or written; `CancellationError`.
    package func request(
        timeout: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async throws -> Outcome {
        let status = try status()
        if status.delayMilliseconds > 0 { try await sleep(.milliseconds(status.delayMilliseconds)) }
        guard status.answer == .ask else { return Outcome(status.answer) }
        // Observing begins before the question is asked, so that no answer is missed.
        let answers = try Notifications(device: device).observe(.presenceAnswered)
        var number = 0
        try change { status in
            status.questionsAsked += 1
            number = status.questionsAsked
        }
        let question = number
        return try await withThrowingTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                for await _ in answers {
                    let status = try self.status()
                    if status.questionsEnded >= question { return Outcome(status.lastAnswer) }
                }
                return nil
            }
            group.addTask {
                try await sleep(timeout)
                return .timedOut
            }
            defer { group.cancelAll() }
            do {
                while let outcome = try await group.next() {
                    guard let outcome else { continue }
                    if outcome == .timedOut { try expire(question) }
                    return outcome
                }
                throw CancellationError()
            } catch {
                try? withdraw(question)
                throw error
            }
        }
    }

    /// Ends a question that is no longer needed. While earlier questions are pending, it still counts as waiting.
    private func withdraw(_ question: Int) throws(FileError) {
        try change { status in
            guard status.questionsEnded == question - 1 else { return }
            status.questionsEnded = question
            status.lastAnswer = .cancel
        }
    }

    /// Ends an unanswered question and all earlier ones.
    private func expire(_ question: Int) throws(FileError) {
        try change { status in
            guard status.questionsEnded < question else { return }
            status.questionsEnded = question
            status.lastAnswer = .cancel
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

extension UserPresence.Outcome {
    fileprivate init(_ answer: UserPresence.Answer) {
        switch answer {
        case .allow: self = .confirmed
        case .deny: self = .denied
        case .cancel, .ask: self = .canceled
        }
    }
}
