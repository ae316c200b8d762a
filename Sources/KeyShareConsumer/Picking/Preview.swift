package import KeyShareClient
package import KeySharing
package import OpenSSL

/// What the provider's UI extension shows of an item before it is picked: certificates, and no keys.
package struct Preview: Sendable {
    /// A PKCS #12 file, or one of a zip.
    package struct File: Sendable {
        /// The zip entry's name; nil for a file that is no zip.
        package let entry: String?
        /// The certificates of its identities.
        package let certificates: [Certificate]
        /// Why it cannot be shown.
        package let error: (any Error)?
    }

    package let files: [File]

    /// Reads an item as an import would, and keeps only its certificates.
    ///
    /// - Throws: `RequestError` `.isFolder`; `ProviderFailure`, `SocketError`, `ImportError` and `ZipError` where no file can be shown.
    package init(_ item: Item, from client: ProviderClient) async throws {
        try item.requireContent()
        let fetched = try await client.fetch(item)
        files = try await FileReader(password: .text(fetched.password)).contents(of: fetched.bytes).files.map
        {
            file in
            switch file.result {
            case .success(let contents):
                File(entry: file.entry, certificates: contents.identities.map(\.certificate), error: nil)
            case .failure(let error): File(entry: file.entry, certificates: [], error: error)
            }
        }
    }
}
