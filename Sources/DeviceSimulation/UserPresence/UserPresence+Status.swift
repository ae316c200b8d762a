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
        /// The last answer to all pending questions.
        private var lastAnswer = Answer.cancel
        /// The alias that belongs to `lastAnswer`.
        private var lastAlias: String?
        // These values are optional because earlier versions did not write them.
        /// The numbers above `questionsEnded` of the questions that have ended.
        private var endedLater: [Int]?
        /// The dialogs among the questions.
        private var dialogs: [PendingDialog]?

        /// The state of a new device: the user allows every request.
        package init() {}
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
        return isPending(question) ? nil : UserPresence.Reply(lastAnswer, selecting: lastAlias)
    }

    /// Adds a question.
    ///
    /// - Returns: Its number; nil if `most` dialogs are already pending.
    mutating func ask(_ dialog: AndroidDialog?, most: Int) -> Int? {
        if let dialog {
            guard pendingDialogs.count < most else { return nil }
            let entry = UserPresence.PendingDialog(number: questionsAsked + 1, dialog: dialog)
            // A process that ends unexpectedly leaves its dialog, so only those that can still matter are kept.
            dialogs = (dialogs ?? []).filter { isPending($0.number) }.suffix(2 * most) + [entry]
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

    /// Answers all pending questions.
    mutating func endAll(_ answer: UserPresence.Answer, selecting alias: String?) {
        questionsEnded = questionsAsked
        (lastAnswer, lastAlias, endedLater) = (answer, alias, nil)
    }

    /// Ends a question whose reply was read, or that is no longer needed.
    mutating func end(_ question: Int) {
        dialogs?.removeAll { $0.number == question }
        guard isPending(question) else { return }
        var ended = Set(endedLater ?? []).union([question])
        while ended.remove(questionsEnded + 1) != nil { questionsEnded += 1 }
        if ended.count > UserPresence.mostEndedLater, let last = ended.max() {
            (questionsEnded, lastAnswer, lastAlias) = (last, .cancel, nil)
            ended = []
        }
        endedLater = ended.isEmpty ? nil : ended.sorted()
    }

    /// Cancels a question and all earlier ones.
    mutating func expire(_ question: Int) {
        guard isPending(question) else { return }
        (questionsEnded, lastAnswer, lastAlias) = (question, .cancel, nil)
        let later = (endedLater ?? []).filter { $0 > question }
        endedLater = later.isEmpty ? nil : later
    }

    private func isPending(_ question: Int) -> Bool {
        question > questionsEnded && endedLater?.contains(question) != true
    }
}
