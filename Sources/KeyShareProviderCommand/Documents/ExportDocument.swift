/// The JSON document of `export`. The bytes are written to a file.
package struct ExportDocument: Codable, Sendable {
    /// The identifier of the item.
    package let identifier: String
    /// The name that is shown to users.
    package let filename: String
    /// The size of the file in bytes.
    package let size: Int

    /// Creates the document for an exported item.
    package init(identifier: String, filename: String, size: Int) {
        self.identifier = identifier
        self.filename = filename
        self.size = size
    }
}
