internal import Diagnostics
package import KeyShareClient
package import KeySharing
package import OpenSSL

/// The certificates of an item, as the provider's UI extension shows them before the item is picked; no keys.
package struct Preview: Sendable {
    /// A PKCS #12 file, or one of a zip.
    package struct File: Sendable {
        /// The name of the zip entry; nil for a file that is no zip.
        package let entry: String?
        /// The certificates of the identities in the file.
        package let certificates: [Certificate]
        /// The error of a file that cannot be shown; nil for one that can.
        package let error: (any Error)?
    }

    /// The files in the order of the item.
    package let files: [File]

    /// Reads an item as an import does, and keeps only the certificates.
    ///
    /// - Throws: `RequestError` `.isFolder`; `ProviderFailure`, `SocketError`, `ImportError` and `ZipError`
    ///   where no file can be shown.
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
