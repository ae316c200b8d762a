internal import Foundation
package import OpenSSL
package import SecretMemory
internal import StandardExtensions
package import ZipBundles

/// Reads a PKCS #12 file, or a zip of such files.
package struct FileReader: Sendable {
    private let limits: PKCS12Limits
    private let allowsMissingMAC: Bool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - limits: The limits for each PKCS #12 file.
    ///   - allowsMissingMAC: Whether files without a MAC are accepted (docs/rules.md R7.9).
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
    ///   - bytes: The contents of the file.
    ///   - password: The password of the file and of every entry. Nil tries the absent password and the empty one
    ///     (R7.11).
    /// - Returns: One entry for a PKCS #12 file. For a zip, its entries in the archive's order, then the skipped ones.
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

/// A part of an imported file: a complete PKCS #12 file, or an entry of a zip.
package struct FileEntry: Sendable {
    /// The possible results of reading an entry.
    package enum Contents: Sendable {
        /// The contents of a PKCS #12 file that was opened.
        case read(PKCS12Contents)
        /// The error of a PKCS #12 file that could not be opened, or of a rejected zip entry.
        case unreadable(any Error)
        /// A zip entry that is a folder or contains only macOS attributes.
        case skipped(ZipContents.Skipped.Reason)
    }

    /// The name of the zip entry; nil if the file is not a zip.
    package let name: String?
    /// Whether an earlier entry of the zip has the same name. Both entries are read; no file is written under this
    /// name.
    package let repeatsName: Bool
    /// The result of reading the entry.
    package let contents: Contents

    /// Whether the entry was not opened.
    package var isSkipped: Bool {
        if case .skipped = contents { true } else { false }
    }

    /// The identities of the entry, in file order.
    var identities: [PKCS12Identity] {
        if case .read(let contents) = contents { contents.identities } else { [] }
    }
}

/// The files in a sequence of bytes: the entries of a zip, or the bytes themselves if they are not a zip.
struct ArchiveFiles: Sendable {
    /// One file that has not been opened yet.
    struct File: Sendable {
        /// The name of the zip entry; nil for bytes that are not a zip.
        let entry: String?
        /// Whether an earlier entry of the zip has the same name.
        let repeatsName: Bool
        /// The bytes of the file, or the error of a zip entry that was rejected.
        let bytes: Result<[UInt8], ZipError>
    }

    /// Whether the bytes are a zip.
    let isZip: Bool
    /// The files, in the archive's order.
    let files: [File]
    /// The folders and macOS attribute files in the zip; empty if the bytes are not a zip.
    let skipped: [ZipContents.Skipped]

    /// Finds the files in `bytes`.
    ///
    /// - Throws: `ZipError` if the archive as a whole is rejected.
    init(of bytes: [UInt8]) throws(ZipError) {
        isZip = ZipBundle.isArchive(bytes)
        guard isZip else {
            files = [File(entry: nil, repeatsName: false, bytes: .success(bytes))]
            skipped = []
            return
        }
        let archive = try ZipBundle.read(bytes)
        files = archive.entries.map { File(entry: $0.name, repeatsName: $0.repeatsName, bytes: $0.result) }
        skipped = archive.skipped
    }

    /// Opens files in parallel. All entries of an archive share one budget of work.
    ///
    /// - Parameters:
    ///   - files: The files of one archive.
    ///   - limits: The limits of each file. They also determine the budget.
    ///   - open: Opens the bytes of a file. For an entry, it also receives the entry's share of the budget.
    /// - Returns: A result for each file, in order.
    /// - Throws: `CancellationError`.
    static func map<Value: Sendable>(
        _ files: [File], limits: PKCS12Limits,
        _ open: @escaping @Sendable ([UInt8], ArchiveShare?) throws -> Value
    ) async throws -> [(file: File, result: Result<Value, any Error>)] {
        let budget = ArchiveBudget(patience: limits.archivePatience)
        // The shares are reserved in the archive's order before any file is opened.
        let shared = files.map { file in
            let contents = Result<([UInt8], ArchiveShare?), any Error> {
                let bytes = try file.bytes.get()
                return (bytes, file.entry == nil ? nil : try budget.share(for: bytes, limits: limits))
            }
            return (file: file, contents: contents)
        }
        return try await shared.concurrentMap(width: ProcessInfo.processInfo.activeProcessorCount) { entry in
            let result = Result { () throws -> Value in
                let (bytes, share) = try entry.contents.get()
                return try open(bytes, share)
            }
            return (entry.file, result)
        }
    }
}
