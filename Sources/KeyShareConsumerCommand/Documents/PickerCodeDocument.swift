package import KeySharing

/// The JSON document of `explain --code`.
package struct PickerCodeDocument: Codable, Sendable {
    /// The mechanism of the request: `2025` or `legacy`.
    package let mechanism: String
    /// The types that the code requests.
    package let requested: [String]
    /// The language of the code: `swift` or `objc`.
    package let language: String
    /// The source code, ready to be compiled as a file of an app.
    package let code: String

    /// Creates the document for the code that makes `request`.
    package init(_ request: TypeRequest, language: String, code: String) {
        mechanism = request.mechanism.rawValue
        requested = request.identifiers
        self.language = language
        self.code = code
    }
}
