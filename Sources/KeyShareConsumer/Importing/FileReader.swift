package import OpenSSL
package import SecretMemory
internal import ZipBundles

/// Reads a PKCS #12 file, or a zip of such files.
package struct FileReader: Sendable {
    private let limits: PKCS12Limits
    private let allowsMissingMAC: Bool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - limits: the limits for each PKCS #12 file.
    ///   - allowsMissingMAC: whether files without a MAC are accepted (docs/rules.md R7.9).
    package init(limits: PKCS12Limits = .standard, allowsMissingMAC: Bool = false) {
        self.limits = limits
        self.allowsMissingMAC = allowsMissingMAC
    }

    /// The maximum size of a file to read from disk, in bytes: that of an archive. The limit for a PKCS #12 file may be
    /// lower.
    package static let largestFile = ZipLimits.standard.archiveSize

    /// Reads a file (docs/rules.md R7.3, R7.4). One defective entry of a zip does not affect the others.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - password: the password of the file and of every entry. Nil tries the absent password and the empty one
    ///     (R7.11).
    /// - Returns: one entry for a PKCS #12 file. For a zip, its entries in the archive's order, then the skipped ones.
    /// - Throws: `ZipError` if the archive as a whole is rejected; `CancellationError`.
    package func entries(of bytes: [UInt8], password: SecretBytes?) async throws -> [FileEntry] {
        let files = try ArchiveFiles(of: bytes)
        let entries = try await ArchiveFiles.map(files.files, limits: limits) { bytes, share in
            try PKCS12.read(
                bytes, password: password.map { .text($0) }, limits: limits,
                allowNoMAC: allowsMissingMAC, share: share)
        }.map { file, result in
            switch result {
            case .success(let contents):
                FileEntry(name: file.entry, repeatsName: file.repeatsName, contents: .read(contents))
            case .failure(let error):
                FileEntry(name: file.entry, repeatsName: file.repeatsName, contents: .unreadable(error))
            }
        }
        return entries
            + files.skipped.map {
                FileEntry(name: $0.name, repeatsName: false, contents: .skipped($0.reason))
            }
    }
}
