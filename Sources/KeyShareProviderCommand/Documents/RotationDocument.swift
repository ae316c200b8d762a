/// The JSON document of `password rotate`. It contains no password.
package struct RotationDocument: Codable, Sendable {
    /// Whether the password was replaced; always true, because a failure has a separate document.
    package let rotated: Bool

    /// Creates the document for a successful rotation.
    package init() {
        rotated = true
    }
}
