internal import CertificateReading
package import OpenSSL
package import KeySharing

/// The JSON document of `browse --details`: the certificates of an item that is not imported.
package struct ItemDetailsDocument: Codable, Sendable {
    /// A file: the item, or an entry of the item where that is a zip.
    package struct Entry: Codable, Sendable {
        /// The file name of the entry of the zip; nil where the item is the file.
        package let filename: String?
        /// The certificates of the identities in the file.
        package let certificates: [CertificateDocument]
        /// Why the file cannot be read; nil where it can.
        package let error: FailureDocument.Body?

        /// Describes one file by its certificates, or by the error that keeps them from being shown.
        package init(filename: String?, certificates: [Certificate], error: (any Error)?) {
            self.filename = filename
            self.certificates = certificates.map { CertificateDocument($0) }
            self.error = error.map { FailureDocument.Body(CommandFailure($0)) }
        }
    }

    /// The item.
    package let item: ItemListingDocument.Row
    /// The files of the item.
    package let entries: [Entry]

    /// Describes an item and the files in it.
    ///
    /// - Parameters:
    ///   - item: the item.
    ///   - entries: the files of the item.
    ///   - certificates: the certificates in the files, of which one says whose the item is.
    package init(_ item: Item, entries: [Entry], of certificates: [Certificate]) {
        let identities = certificates.map { ($0.label, IdentitySummary($0)) }
        self.item = ItemListingDocument.Row(
            item, of: Dictionary(identities, uniquingKeysWith: { first, _ in first }))
        self.entries = entries
    }
}
