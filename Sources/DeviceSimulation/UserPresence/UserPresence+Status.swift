extension UserPresence {
    /// The contents of the file: the configured answer and the pending questions.
    package struct Status: Sendable, Hashable, Codable {
        /// The user's configured answer.
        package var answer = Answer.allow
        /// The alias that the user selects in choosers; nil for the preselected one.
        package var alias: String?
        /// The user's response time, in milliseconds; 0 by default.
        package var delayMilliseconds = 0
        /// The number of questions so far that were to be answered individually.
        private var questionsAsked = 0
        /// The number of the last question up to which all questions have ended.
        private var questionsEnded = 0
        /// The last answer to all pending questions. It applies to all ended questions if `answers` is nil.
        private var lastAnswer = Answer.cancel
        /// The alias that belongs to `lastAnswer`.
        private var lastAlias: String?
        // These values are optional because earlier versions did not write them.
        /// The numbers above `questionsEnded` of the questions that have ended.
        private var endedLater: [Int]?
        /// The dialogs among the questions.
        private var dialogs: [PendingDialog]?
        /// The latest answers that ended questions together, oldest first.
        private var answers: [GroupAnswer]?

        /// The state of a new device: the user allows every request.
        package init() {}
    }

    /// An answer to all questions of a range that were pending.
    fileprivate struct GroupAnswer: Sendable, Hashable, Codable {
        let first: Int
        let last: Int
        let answer: Answer
        let alias: String?
    }

    /// A dialog that waits for the user, or for the process that asked.
    package struct PendingDialog: Sendable, Hashable, Codable {
        /// The number that identifies the dialog.
        package let number: Int
        /// The dialog.
        package let dialog: AndroidDialog
        fileprivate var answer: Answer?
        fileprivate var alias: String?
    }

    /// The maximum number of questions that end before an earlier one. More are possible only if the process that asked
    /// the earlier question ended without withdrawing it.
    private static let mostEndedLater = 256
    /// The maximum number of stored answers to several questions. A process reads the reply as soon as a question has
    /// ended. The reply to a question whose answer is no longer stored is `cancel`.
    fileprivate static let mostAnswers = 64
}

extension UserPresence.Status {
    /// The dialogs that wait for an answer, oldest first.
    package var pendingDialogs: [UserPresence.PendingDialog] {
        (dialogs ?? []).filter { $0.answer == nil && isPending($0.number) }
    }

    /// The number of questions that wait for an answer.
    package var questionsWaiting: Int {
        let answered = (dialogs ?? []).count { $0.answer != nil && isPending($0.number) }
        return max(0, questionsAsked - questionsEnded - (endedLater ?? []).count - answered)
    }

    /// Returns the reply to a question; nil if it is pending.
    func reply(to question: Int) -> UserPresence.Reply? {
        if let dialog = (dialogs ?? []).first(where: { $0.number == question }), let answer = dialog.answer {
            return UserPresence.Reply(answer, selecting: dialog.alias)
        }
        guard !isPending(question) else { return nil }
        // An earlier version stored only the last answer.
        guard let answers else { return UserPresence.Reply(lastAnswer, selecting: lastAlias) }
        let found = answers.first { $0.first <= question && question <= $0.last }
        return UserPresence.Reply(found?.answer ?? .cancel, selecting: found?.alias)
    }

    /// Adds a question.
    ///
    /// - Returns: Its number; nil if `most` dialogs are already pending.
    mutating func ask(_ dialog: AndroidDialog?, most: Int) -> Int? {
        if let dialog {
            guard pendingDialogs.count < most else { return nil }
            let entry = UserPresence.PendingDialog(number: questionsAsked + 1, dialog: dialog)
            // A process that ends unexpectedly leaves its dialog, so only those that can still matter are kept: pending
            // ones, and those whose own answer was not read yet.
            dialogs =
                (dialogs ?? []).filter { isPending($0.number) || $0.answer != nil }.suffix(2 * most) + [entry]
        }
        questionsAsked += 1
        return questionsAsked
    }

    /// Answers one dialog.
    mutating func answer(_ number: Int, _ answer: UserPresence.Answer, selecting alias: String?) {
        guard let place = dialogs?.firstIndex(where: { $0.number == number }) else { return }
        dialogs?[place].answer = answer
        dialogs?[place].alias = alias
    }

    /// Answers all pending questions. Without a pending question, nothing changes.
    mutating func endAll(_ answer: UserPresence.Answer, selecting alias: String?) {
        end(upTo: questionsAsked, answer, selecting: alias)
    }

    /// Ends a question whose reply was read, or that is no longer needed.
    mutating func end(_ question: Int) {
        dialogs?.removeAll { $0.number == question }
        guard isPending(question) else { return }
        var ended = Set(endedLater ?? []).union([question])
        while ended.remove(questionsEnded + 1) != nil { questionsEnded += 1 }
        endedLater = ended.isEmpty ? nil : ended.sorted()
        if ended.count > UserPresence.mostEndedLater, let last = ended.max() {
            end(upTo: last, .cancel, selecting: nil)
        }
    }

    /// Cancels a question and all earlier ones.
    mutating func expire(_ question: Int) {
        guard isPending(question) else { return }
        end(upTo: question, .cancel, selecting: nil)
    }

    /// Ends all pending questions up to a number. Replies to questions that ended earlier do not change.
    private mutating func end(upTo last: Int, _ answer: UserPresence.Answer, selecting alias: String?) {
        guard last > questionsEnded else { return }
        let group = UserPresence.GroupAnswer(
            first: questionsEnded + 1, last: last, answer: answer, alias: alias)
        answers = Array((answers ?? earlierAnswers).suffix(UserPresence.mostAnswers - 1)) + [group]
        (questionsEnded, lastAnswer, lastAlias) = (last, answer, alias)
        let later = (endedLater ?? []).filter { $0 > last }
        endedLater = later.isEmpty ? nil : later
    }

    /// The answer that an earlier version stored.
    private var earlierAnswers: [UserPresence.GroupAnswer] {
        guard questionsEnded > 0 else { return [] }
        return [
            UserPresence.GroupAnswer(first: 1, last: questionsEnded, answer: lastAnswer, alias: lastAlias)
        ]
    }

    private func isPending(_ question: Int) -> Bool {
        question > questionsEnded && endedLater?.contains(question) != true
    }
}
