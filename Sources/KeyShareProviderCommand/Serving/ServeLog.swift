import CommandSupport
import Logging

/// The log of a running provider: messages of its modules, and notes for the user.
struct ServeLog: Sendable {
    let console: Console
    /// Writes messages and notes. The provider never waits for the reader of its log.
    let writer: LineWriter
    let logger: Logger
    /// Whether every line is a JSON object.
    let isJSON: Bool

    /// Prints a note for the user: a line of text, or a message of the level `notice`.
    func note(_ text: String) {
        if isJSON {
            logger.notice("\(text)")
        } else {
            console.note(text, to: writer)
        }
    }
}
