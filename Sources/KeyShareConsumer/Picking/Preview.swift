internal import Diagnostics
package import KeyShareClient
package import KeySharing
package import OpenSSL

/// The certificates of an item, without keys, as the provider's UI extension shows them before the item is picked.
package struct Preview: Sendable {
    /// A PKCS #12 file, or an entry of a zip.
    package struct File: Sendable {
        /// The name of the zip entry; nil if the file is not a zip.
        package let entry: String?
        /// The certificates of the identities in the file.
        package let certificates: [Certificate]
        /// The reason why the file cannot be shown, or nil.
        package let error: (any Error)?
    }

    /// The files in the order of the item's contents.
    package let files: [File]

    /// Reads an item like an import, but keeps only the certificates.
    ///
    /// - Throws: `RequestError` `.isFolder`; `ProviderFailure`, `SocketError`, `ImportError` and `ZipError` if no file
    ///   can be shown.
    package init(_ item: Item, from client: ProviderClient) async throws {
        try item.requireContent()
        let (bytes, password) = try await client.fetch(item)
        files = try await FileReader().entries(of: bytes, password: password).compactMap { entry in
            switch entry.contents {
            case .read(let contents):
                File(entry: entry.name, certificates: contents.identities.map(\.certificate), error: nil)
            case .unreadable(let error): File(entry: entry.name, certificates: [], error: error)
            case .skipped: nil
            }
        }
    }
}
