internal import CertificateReading
package import OpenSSL
package import KeySharing

/// The JSON document of `browse --details`: the certificates of an item that is not imported.
package struct ItemDetailsDocument: Codable, Sendable {
    /// A file: the item itself, or an entry of a zip.
    package struct Entry: Codable, Sendable {
        /// The name of the zip entry; nil if the item is the file.
        package let filename: String?
        /// The certificates of the identities in the file.
        package let certificates: [CertificateDocument]
        /// The reason that the file cannot be read; nil if it can.
        package let error: FailureDocument.Body?

        /// Creates the description of a file from its certificates, or from the error that prevents reading them.
        package init(filename: String?, certificates: [Certificate], error: (any Error)?) {
            self.filename = filename
            self.certificates = certificates.map { CertificateDocument($0) }
            self.error = error.map { FailureDocument.Body(CommandFailure($0)) }
        }
    }

    /// The item whose files are described.
    package let item: ItemListingDocument.Row
    /// The files of the item.
    package let entries: [Entry]

    /// Creates the document of an item and its files.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - entries: The files of the item.
    ///   - certificates: The certificates in the files. One of them identifies the item's identity.
    package init(_ item: Item, entries: [Entry], of certificates: [Certificate]) {
        let identities = certificates.map { ($0.label, IdentitySummary($0)) }
        self.item = ItemListingDocument.Row(
            item, of: Dictionary(identities, uniquingKeysWith: { first, _ in first }))
        self.entries = entries
    }
}
