internal import Diagnostics

/// The limits on values in scenarios and lists of persons, in every format.
package enum TextBounds {
    /// The maximum length of one value, in bytes.
    package static let largestText = 16_384
}

extension ProvisioningError {
    /// The error about a value that is longer than ``TextBounds/largestText``.
    static func longText(at position: SourcePosition) -> ProvisioningError {
        ProvisioningError(position, "this value has more than \(TextBounds.largestText) bytes")
    }

    /// The error about more than ``CombiningMarks/most`` combining marks in a row.
    static func manyMarks(at position: SourcePosition) -> ProvisioningError {
        ProvisioningError(position, "there are more than \(CombiningMarks.most) combining marks in a row")
    }
}
