package import DeviceSimulation

/// The JSON document of `presence`: how the user answers when a token's key is used.
package struct PresenceDocument: Codable, Sendable {
    /// How the user answers: `allow`, `deny`, `cancel` or `ask`.
    package let answer: String
    /// How long the user takes, in milliseconds.
    package let delayMilliseconds: Int
    /// How many questions wait for an answer.
    package let questionsWaiting: Int

    /// Describes how the user answers.
    package init(_ status: UserPresence.Status) {
        answer = status.answer.rawValue
        delayMilliseconds = status.delayMilliseconds
        questionsWaiting = status.questionsWaiting
    }
}
