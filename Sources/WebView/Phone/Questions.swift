internal import Foundation

/// The questions to the device's user that are pending on the page.
actor Questions {
    /// A question whether an app may paste the item that another app copied.
    struct Question: Encodable, Sendable {
        /// The number that identifies the question in the answer.
        let number: Int
        /// The app that requests the paste.
        let reader: String
        /// The app that copied the item.
        let owner: String
    }

    private var waiting: [Int: (question: Question, answer: CheckedContinuation<Bool, Never>)] = [:]
    private var last = 0

    /// The pending questions, starting with the oldest.
    var all: [Question] { waiting.values.map(\.question).sorted { $0.number < $1.number } }

    /// Asks whether an app may paste, and waits for the answer.
    ///
    /// - Parameters:
    ///   - timeout: How long a question waits. Without an answer, it counts as denied.
    ///   - asked: Called once the question is visible.
    func ask(
        reader: String, owner: String, timeout: Duration = WebLimits.question, asked: @Sendable () -> Void
    ) async -> Bool {
        last += 1
        let number = last
        let patience = Task {
            try await Task.sleep(for: timeout)
            answer(number, false)
        }
        defer { patience.cancel() }
        return await withCheckedContinuation { continuation in
            waiting[number] = (Question(number: number, reader: reader, owner: owner), continuation)
            asked()
        }
    }

    /// Answers a question. Has no effect if the question is no longer pending.
    ///
    /// - Returns: Whether the question was pending.
    @discardableResult
    func answer(_ number: Int, _ isAllowed: Bool) -> Bool {
        guard let question = waiting.removeValue(forKey: number) else { return false }
        question.answer.resume(returning: isAllowed)
        return true
    }

    /// Denies all pending questions.
    func end() {
        for number in waiting.keys { answer(number, false) }
    }
}
