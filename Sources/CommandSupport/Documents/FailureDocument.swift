/// The JSON document `{"error": {"code", "message", "hint"}}`: alone, or as a part of a command's document.
package struct FailureDocument: Codable, Sendable {
    /// A failure in JSON.
    package struct Body: Codable, Sendable, Equatable {
        /// The stable name of the failure, such as `wrong-password`.
        package let code: String
        /// What happened, as a phrase.
        package let message: String
        /// What to do about it, as a phrase; nil where nothing can be advised.
        package let hint: String?

        /// Shows `failure` without its exit status, which the process has.
        package init(_ failure: CommandFailure) {
            code = failure.code
            message = failure.message
            hint = failure.hint.map { PasteableHint.complete($0) }
        }
    }

    /// The failure; nil in the document of a command that succeeded.
    package let error: Body?

    /// The document of a command that has nothing to say but its failure.
    package init(_ failure: CommandFailure) {
        error = Body(failure)
    }
}

/// A command's document with the key `error` beside its own where the command failed.
struct AnsweredDocument<Document: Encodable>: Encodable {
    let document: Document
    let failure: CommandFailure?

    private enum CodingKeys: CodingKey { case error }

    func encode(to encoder: any Encoder) throws {
        try document.encode(to: encoder)
        guard let failure else { return }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(FailureDocument.Body(failure), forKey: .error)
    }
}
