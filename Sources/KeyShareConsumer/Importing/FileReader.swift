internal import Foundation
internal import KeySharing
package import OpenSSL
package import SecretMemory
package import ZipBundles

/// A part of a file that a provider hands over: a PKCS #12 file as a whole, or an entry of a zip.
package struct FileEntry: Sendable {
    /// What reading an entry can give.
    package enum Contents: Sendable {
        /// A PKCS #12 file that opened.
        case read(PKCS12Contents)
        /// The error of a file that did not open, or of a zip entry that was refused.
        case unreadable(any Error)
        /// A zip entry that is no PKCS #12 file by its name.
        case skipped(ZipContents.Skipped.Reason)
    }

    /// The name of the zip entry; nil for a file that is no zip.
    package let name: String?
    /// What reading the entry gave.
    package let contents: Contents

    /// Whether the entry was not looked into.
    package var isSkipped: Bool {
        if case .skipped = contents { true } else { false }
    }
}

/// Reads what a provider hands over or what lies on disk: a PKCS #12 file, or a zip of them.
package struct FileReader: Sendable {
    private let limits: PKCS12Limits
    private let allowsMissingMAC: Bool

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - limits: the most that a PKCS #12 file may hold.
    ///   - allowsMissingMAC: whether files without a MAC are taken (docs/rules.md R7.9).
    package init(limits: PKCS12Limits = .standard, allowsMissingMAC: Bool = false) {
        self.limits = limits
        self.allowsMissingMAC = allowsMissingMAC
    }

    /// The most bytes worth reading from disk: the size of an archive. A PKCS #12 file may have less.
    package static let largestFile = ZipLimits.standard.archiveSize

    /// Reads a file (docs/rules.md R7.3, R7.4): one bad entry of a zip does not lose the others.
    ///
    /// - Parameter password: the password of the file and of every entry alike; nil tries the absent password
    ///   and the empty one (R7.11).
    /// - Returns: one entry for a PKCS #12 file; for a zip an entry for each in the archive's order, then
    ///   those that were skipped.
    /// - Throws: `ZipError` where the archive as a whole is refused; `CancellationError`.
    package func entries(of bytes: [UInt8], password: SecretBytes?) async throws -> [FileEntry] {
        let archive = ZipBundle.isArchive(bytes) ? try ZipBundle.read(bytes) : nil
        let files: [(name: String?, bytes: Result<[UInt8], ZipError>)] =
            archive?.entries.map { ($0.name, $0.result) } ?? [(nil, .success(bytes))]
        let entries = try await files.concurrentMap(
            width: ProcessInfo.processInfo.activeProcessorCount
        ) { name, bytes in
            do {
                let contents = try PKCS12.read(
                    try bytes.get(), password: password.map { .text($0) }, limits: limits,
                    allowNoMAC: allowsMissingMAC)
                return FileEntry(name: name, contents: .read(contents))
            } catch {
                return FileEntry(name: name, contents: .unreadable(error))
            }
        }
        let skipped = archive?.skipped ?? []
        return entries + skipped.map { FileEntry(name: $0.name, contents: .skipped($0.reason)) }
    }
}
