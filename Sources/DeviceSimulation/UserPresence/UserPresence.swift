package import PrivateFiles
private import Foundation

/// The user of the device, as far as keys ask for him: a key under `kSecAccessControlUserPresence` is used once the user
/// has proved to be there, by passcode or biometry.
///
/// The answer stands in a file of the device, so that one process sets it (`keyshare-device presence`) and another asks.
package struct UserPresence: Sendable {
    /// How the user answers.
    package enum Answer: String, Sendable, Hashable, Codable, CaseIterable {
        /// The user proves to be there.
        case allow
        /// The user's proof fails.
        case deny
        /// The user closes the question.
        case cancel
        /// Somebody answers each question when it is asked; see ``UserPresence/answer(_:)``.
        case ask
    }

    /// The end of a question.
    package enum Outcome: Sendable, Hashable {
        /// The user was there.
        case confirmed
        /// The user's proof failed.
        case denied
        /// The user closed the question.
        case canceled
        /// Nobody answered in time.
        case timedOut
    }

    /// What the file holds.
    package struct Status: Sendable, Hashable, Codable {
        /// How the user answers.
        package fileprivate(set) var answer = Answer.allow
        /// How long the user takes, in milliseconds; 0 unless somebody set it.
        package fileprivate(set) var delayMilliseconds = 0
        /// How many questions were asked that somebody has to answer.
        fileprivate(set) var questionsAsked = 0
        /// How many of them are over.
        fileprivate(set) var questionsEnded = 0
        /// The last answer to a question.
        fileprivate(set) var lastAnswer = Answer.cancel

        /// How many questions wait for an answer.
        package var questionsWaiting: Int { max(0, questionsAsked - questionsEnded) }
    }

    /// The longest time that the user may be said to take, in milliseconds.
    package static let longestDelay = 600_000
    private static let fileLimit = 4_096

    private let device: Device

    /// The user of `device`.
    package init(_ device: Device) {
        self.device = device
    }

    /// Reads how the user answers; a new device's user allows everything.
    ///
    /// - Throws: `FileError`: `.damagedFile` where the file holds something else, or trouble with the file.
    package func status() throws(FileError) -> Status {
        let path = device.presencePath
        guard let bytes = try PrivateFile.open(path)?.read(atMost: Self.fileLimit) else { return Status() }
        guard let status = try? JSONDecoder().decode(Status.self, from: Data(bytes)),
            (0...Self.longestDelay).contains(status.delayMilliseconds)
        else { throw FileError(.damagedFile, path: path, "\(path) does not say how the user answers") }
        return status
    }

    /// Sets how the user answers from now on. An answer other than `ask` ends the questions that wait, too.
    ///
    /// - Parameters:
    ///   - answer: how the user answers.
    ///   - delayMilliseconds: how long the user takes, at most `longestDelay`.
    /// - Throws: `FileError` where the file cannot be read or written.
    package func set(_ answer: Answer, delayMilliseconds: Int = 0) throws(FileError) {
        try change { status in
            status.answer = answer
            status.delayMilliseconds = min(max(0, delayMilliseconds), Self.longestDelay)
            guard answer != .ask else { return }
            status.questionsEnded = status.questionsAsked
            status.lastAnswer = answer
        }
    }

    /// Answers the questions that wait, and leaves the answer to later ones open.
    ///
    /// - Parameter answer: the answer; `ask` is none.
    /// - Returns: how many questions were answered.
    /// - Throws: `FileError` where the file cannot be read or written.
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

    /// Asks the user to prove to be there, and waits for the end of the question.
    ///
    /// - Parameters:
    ///   - timeout: how long a question waits.
    ///   - sleep: waits; throws `CancellationError` where the task is cancelled.
    /// - Throws: `FileError` where the file cannot be read or written; `CancellationError`.
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

    /// Ends a question whose asker does not wait any more. Others that were asked before it wait on, and it with them.
    private func withdraw(_ question: Int) throws(FileError) {
        try change { status in
            guard status.questionsEnded == question - 1 else { return }
            status.questionsEnded = question
            status.lastAnswer = .cancel
        }
    }

    /// Ends a question, and those before it, that nobody has answered.
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
        // The change is on disk. Who waits for an answer has the time-out if the notification is lost.
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
