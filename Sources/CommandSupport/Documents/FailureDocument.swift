/// `{"error": {"code", "message", "hint"}}`, alone or inside another document.
package struct FailureDocument: Encodable, Sendable {
    /// What a failure looks like in JSON.
    package struct Body: Encodable, Sendable {
        package let code: String
        package let message: String
        package let hint: String?

        package init(_ failure: CommandFailure) {
            code = failure.code
            message = failure.message
            hint = failure.hint
        }
    }

    package let error: Body
}
