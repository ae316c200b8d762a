/// The JSON document of `password rotate`, which holds no password.
package struct RotationDocument: Codable, Sendable {
    /// Whether the password was replaced; always true, because a failure has a document of its own.
    package let rotated: Bool

    /// Describes a rotation that succeeded.
    package init() {
        rotated = true
    }
}
