extension UserPresence {
    /// The contents of the file: the configured answer and the questions.
    package struct Status: Sendable, Hashable, Codable {
        /// The user's configured answer.
        package var answer = Answer.allow
        /// The alias that the user selects in choosers; nil for the preselected one.
        package var alias: String?
        /// The user's response time, in milliseconds; 0 by default.
        package var delayMilliseconds = 0
        /// The number of questions so far that were to be answered individually. It numbers the questions, so that an
        /// answer never applies to a later question.
        private var questionsAsked = 0
        /// The questions that a process waits for, oldest first; nil in the file of an earlier version. The process
        /// removes its question after it has read the answer or no longer waits, so a question never affects others.
        private var questions: [Question]?

        /// The state of a new device: the user allows every request.
        package init() {}
    }

    /// A question that was not removed by the process that asked it.
    fileprivate struct Question: Sendable, Hashable, Codable {
        let number: Int
        /// The dialog that is shown; nil for a question about the user's presence, and after the answer.
        var dialog: AndroidDialog?
        /// The user's answer; nil while the question is pending.
        var answer: Answer?
        /// The alias that the user selected; nil for the preselected one.
        var alias: String?
        /// The process that asked; nil after the answer, and in the file of an earlier version.
        var asker: ProcessIdentity?
    }

    /// A dialog that waits for the user.
    package struct PendingDialog: Sendable, Hashable {
        /// The number that identifies the dialog.
        package let number: Int
        /// The dialog.
        package let dialog: AndroidDialog
    }

    /// The maximum number of stored questions. A provider asks far fewer at a time, so the oldest questions above this
    /// number are no longer needed. A question that is not stored is cancelled.
    static let mostQuestions = 1_024
}

extension UserPresence.Status {
    /// The dialogs that wait for an answer, oldest first.
    package var pendingDialogs: [UserPresence.PendingDialog] {
        (questions ?? []).compactMap { question in
            guard question.answer == nil else { return nil }
            return question.dialog.map { UserPresence.PendingDialog(number: question.number, dialog: $0) }
        }
    }

    /// The numbers of the questions about the user's presence that wait for an answer, oldest first.
    package var pendingPresenceQuestions: [Int] {
        (questions ?? []).filter { $0.answer == nil && $0.dialog == nil }.map(\.number)
    }

    /// The number of questions that wait for an answer, including dialogs.
    package var questionsWaiting: Int { (questions ?? []).count { $0.answer == nil } }

    /// Returns the reply to a question; nil if it is pending.
    func reply(to number: Int) -> UserPresence.Reply? {
        guard let question = (questions ?? []).first(where: { $0.number == number }) else {
            return UserPresence.Reply(.cancel, selecting: nil)
        }
        return question.answer.map { UserPresence.Reply($0, selecting: question.alias) }
    }

    /// Adds a question.
    ///
    /// - Returns: Its number; nil if `most` dialogs are already pending.
    mutating func ask(_ dialog: AndroidDialog?, most: Int) -> Int? {
        guard dialog == nil || pendingDialogs.count < most else { return nil }
        questionsAsked &+= 1
        let question = UserPresence.Question(
            number: questionsAsked, dialog: dialog, asker: ProcessIdentity.current)
        questions = (questions ?? []).suffix(UserPresence.mostQuestions - 1) + [question]
        return questionsAsked
    }

    /// Answers all pending questions, or only one of them.
    mutating func decide(_ answer: UserPresence.Answer, selecting alias: String?, only number: Int? = nil) {
        questions = questions?.map { question in
            guard question.answer == nil, number == nil || question.number == number else { return question }
            return UserPresence.Question(
                number: question.number, dialog: nil, answer: answer, alias: alias)
        }
    }

    /// Removes the pending questions of processes that have ended, for example because they were killed.
    mutating func removeAbandoned() {
        let ended = Set((questions ?? []).compactMap(\.asker)).filter(\.hasEnded)
        guard !ended.isEmpty else { return }
        questions?.removeAll { question in question.asker.map { ended.contains($0) } ?? false }
    }

    /// Removes a question whose reply was read, or that is no longer needed.
    mutating func remove(_ number: Int) {
        questions?.removeAll { $0.number == number }
    }
}
