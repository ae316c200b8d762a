package import DeviceSimulation

/// The JSON document of `presence`: the user's answer to key uses of tokens.
package struct PresenceDocument: Codable, Sendable {
    /// The user's answer: `allow`, `deny`, `cancel` or `ask`.
    package let answer: String
    /// The delay of the answer in milliseconds.
    package let delayMilliseconds: Int
    /// The number of pending questions.
    package let questionsWaiting: Int

    /// Describes the user's configured answer and the pending questions.
    package init(_ status: UserPresence.Status) {
        answer = status.answer.rawValue
        delayMilliseconds = status.delayMilliseconds
        questionsWaiting = status.questionsWaiting
    }
}
