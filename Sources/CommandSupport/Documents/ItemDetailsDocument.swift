package import KeyShareConsumer
package import KeySharing

/// The JSON document of `browse --details`: the certificates of an item that is not imported.
package struct ItemDetailsDocument: Codable, Sendable {
    /// A file: the item, or an entry of the item where that is a zip.
    package struct Entry: Codable, Sendable {
        /// The name of the entry of the zip; nil where the item is the file.
        package let name: String?
        /// The certificates of the identities in the file.
        package let certificates: [CertificateDocument]
        /// Why the file cannot be read; nil where it can.
        package let error: FailureDocument.Body?
    }

    /// The item.
    package let item: ItemListingDocument.Row
    /// The files of the item.
    package let entries: [Entry]

    /// Describes what a preview of `item` shows.
    package init(_ item: Item, _ preview: Preview) {
        self.item = ItemListingDocument.Row(item)
        entries = preview.files.map { file in
            Entry(
                name: file.entry, certificates: file.certificates.map { CertificateDocument($0) },
                error: file.error.map { FailureDocument.Body(CommandFailure($0)) })
        }
    }
}
