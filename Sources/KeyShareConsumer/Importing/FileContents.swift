internal import SecretMemory
internal import Foundation
internal import KeySharing
package import OpenSSL
package import ZipBundles

/// What one file, or one entry of a zip, gave: identities, or the reason why not.
package struct FileContents: Sendable {
    /// The zip entry's name; nil for a file that is no zip.
    package let entry: String?
    package let result: Result<PKCS12Contents, any Error>
}

/// Everything that came of one file.
package struct ReadFile: Sendable {
    /// The file itself, or the entries of a zip in its order.
    package let files: [FileContents]
    /// The entries of a zip that were not looked into.
    package let skipped: [ZipContents.Skipped]
}

/// Reads what a provider hands over, or what lies on disk: a PKCS #12 file, or a zip of them.
package struct FileReader: Sendable {
    /// The password of the file and of every entry alike; nil tries what a file without a password may have.
    package var password: PKCS12Password?
    package var limits: PKCS12Limits
    /// Whether files without a MAC are taken.
    package var allowsMissingMAC: Bool

    package init(
        password: PKCS12Password?, limits: PKCS12Limits = .standard, allowsMissingMAC: Bool = false
    ) {
        self.password = password
        self.limits = limits
        self.allowsMissingMAC = allowsMissingMAC
    }

    /// The same reader with this password.
    func with(_ password: SecretBytes?) -> FileReader {
        var reader = self
        reader.password = password.map { .text($0) }
        return reader
    }

    /// The most bytes worth reading from disk: an archive may be this large, a PKCS #12 file less.
    package static let largestFile = ZipLimits.standard.archiveSize

    /// Whether the bytes are those of a zip: an entry or an empty archive's end record at the start.
    package static func isZip(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) || bytes.starts(with: [0x50, 0x4B, 0x05, 0x06])
    }

    /// One result for a PKCS #12 file; for a zip one for each entry, in the archive's order. One bad entry
    /// does not lose the others.
    ///
    /// - Throws: `ZipError` where the archive as a whole is refused.
    package func contents(of bytes: [UInt8]) async throws -> ReadFile {
        guard Self.isZip(bytes) else {
            return ReadFile(files: [FileContents(entry: nil, result: read(bytes))], skipped: [])
        }
        let archive = try ZipBundle.read(bytes)
        let files = try await archive.entries.concurrentMap(
            width: ProcessInfo.processInfo.activeProcessorCount
        ) { entry in
            switch entry.result {
            case .success(let bytes): FileContents(entry: entry.name, result: read(bytes))
            case .failure(let error): FileContents(entry: entry.name, result: .failure(error))
            }
        }
        return ReadFile(files: files, skipped: archive.skipped)
    }

    private func read(_ bytes: [UInt8]) -> Result<PKCS12Contents, any Error> {
        Result {
            try PKCS12.read(bytes, password: password, limits: limits, allowNoMAC: allowsMissingMAC)
        }
    }
}
