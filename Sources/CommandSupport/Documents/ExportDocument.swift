/// The JSON document of `export`; the bytes go to a file.
package struct ExportDocument: Codable, Sendable {
    /// The identifier of the item.
    package let identifier: String
    /// The name that a user sees.
    package let filename: String
    /// The size of the file in bytes.
    package let size: Int

    /// Describes an item that was written.
    package init(identifier: String, filename: String, size: Int) {
        self.identifier = identifier
        self.filename = filename
        self.size = size
    }
}
