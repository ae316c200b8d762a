package import CommandSupport
package import DeviceSimulation

/// The JSON document of `presence`: the simulated user's answer when an app uses a token's key.
package struct PresenceDocument: Codable, Sendable {
    /// The user's answer: `allow`, `deny`, `cancel` or `ask`.
    package let answer: String
    /// The delay of the answer in milliseconds.
    package let delayMilliseconds: Int
    /// The number of pending prompts.
    package let questionsWaiting: Int
    /// The alias that the user selects in KeyChain's chooser; null for the preselected one.
    @Nullable package var alias: String?
    /// The dialogs among the pending prompts, oldest first.
    package let dialogs: [Dialog]

    /// A dialog of Android's system that waits for the user.
    package struct Dialog: Codable, Sendable {
        /// The kind: `read-alias` for the permission prompt, `choose-key` for KeyChain's chooser.
        package let kind: String
        /// The name of the app that asks.
        package let app: String
        /// The aliases that the chooser offers.
        package let offered: [String]
        /// The preselected alias; null if there is none.
        @Nullable package var preselected: String?
        /// The host that the dialog shows; null if there is none.
        @Nullable package var host: String?
        /// The port that the dialog shows; null if there is none.
        @Nullable package var port: UInt16?

        init(_ dialog: AndroidDialog) {
            kind = dialog.kind.rawValue
            app = dialog.app
            offered = dialog.offered
            preselected = dialog.preselected
            host = dialog.host
            port = dialog.port
        }
    }

    /// Creates the document from the user's configured answer and the pending prompts.
    package init(_ status: UserPresence.Status) {
        answer = status.answer.rawValue
        delayMilliseconds = status.delayMilliseconds
        questionsWaiting = status.questionsWaiting
        dialogs = status.pendingDialogs.map { Dialog($0.dialog) }
        alias = status.alias
    }
}
