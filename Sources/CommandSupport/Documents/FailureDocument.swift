/// The JSON document `{"error": {"code", "message", "hint"}}`, separately or as part of a command's document.
package struct FailureDocument: Codable, Sendable {
    /// The value of the key `error` in a document.
    package struct Body: Codable, Sendable, Equatable {
        /// The stable name of the failure, such as `wrong-password`.
        package let code: String
        /// The message of the failure, as a phrase.
        package let message: String
        /// The hint for the user, as a phrase; nil if there is none.
        package let hint: String?

        /// Creates the description of `failure` without its exit status, which the process returns.
        package init(_ failure: CommandFailure) {
            code = failure.code
            message = failure.message
            hint = failure.hint.map { PasteableHint.complete($0) }
        }
    }

    /// The failure; nil in the document of a command that succeeded.
    package let error: Body?

    /// Creates the document of a command whose only result is its failure.
    package init(_ failure: CommandFailure) {
        error = Body(failure)
    }
}

/// A command's document, with the additional key `error` if the command failed.
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
