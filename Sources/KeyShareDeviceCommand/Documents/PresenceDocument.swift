package import DeviceSimulation

/// The JSON document of `presence`: the simulated user's answer when an app uses a token's key.
package struct PresenceDocument: Codable, Sendable {
    /// The user's answer: `allow`, `deny`, `cancel` or `ask`.
    package let answer: String
    /// The delay of the answer in milliseconds.
    package let delayMilliseconds: Int
    /// The number of pending prompts.
    package let questionsWaiting: Int

    /// Creates the document from the user's configured answer and the pending prompts.
    package init(_ status: UserPresence.Status) {
        answer = status.answer.rawValue
        delayMilliseconds = status.delayMilliseconds
        questionsWaiting = status.questionsWaiting
    }
}
