internal import Foundation
package import OpenSSL
package import SecretMemory
package import ZipBundles

/// What a file is and holds, found out without importing it: a PKCS #12 file, an archive of them, or certificates.
package struct FileInspection: Sendable {
    /// The forms of files that are told apart; the raw values stand in documents.
    package enum Format: String, Sendable, CaseIterable {
        /// A PKCS #12 file, and whatever else is none of the other forms.
        case pkcs12
        /// A zip.
        case zip
        /// Certificates in PEM.
        case pem
        /// One certificate in DER.
        case der
        /// Certificates in PKCS #7 (`.p7b`, `.p7c`).
        case pkcs7
    }

    /// What a file, or an entry of a zip, holds.
    package enum Contents: Sendable {
        /// What is known of a PKCS #12 file, whether it opens or not.
        case pkcs12(PKCS12Report)
        /// The certificates of a file that holds nothing else.
        case certificates([Certificate])
        /// The error of a file or entry that cannot be looked into.
        case unreadable(any Error)
    }

    /// The file as a whole, or one entry of a zip.
    package struct Part: Sendable {
        /// The name of the entry; nil for a file that is no zip.
        package let entry: String?
        /// The form of the part.
        package let format: Format
        /// What the part holds.
        package let contents: Contents
    }

    /// The form of the file.
    package let format: Format
    /// The parts in the order of the file: one, or one for each entry of a zip.
    package let parts: [Part]
    /// The entries of a zip that are no files of its own, by name.
    package let skipped: [ZipContents.Skipped]
}

/// Looks into files of any of the forms of ``FileInspection``.
package struct FileInspector: Sendable {
    private let limits: PKCS12Limits

    /// Makes an inspector that takes as much of a PKCS #12 file as `limits` allow.
    package init(limits: PKCS12Limits = .standard) {
        self.limits = limits
    }

    /// The most bytes worth reading from disk: one more than the largest file that is looked into.
    package var largestFile: Int { max(2 * limits.fileSize, FileReader.largestFile) }

    /// Looks into a file under one password after another, until no part is under a wrong one or there is no other
    /// password.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - passwords: the passwords to try, at least one; each is asked for only when it is needed. Nil stands for none.
    /// - Returns: what was found, the last password that opened something, and the last one that was tried.
    /// - Throws: `CancellationError`.
    package func inspect(
        _ bytes: [UInt8], trying passwords: some Sequence<SecretBytes?>
    ) async throws -> (inspection: FileInspection, opened: SecretBytes?, tried: SecretBytes?) {
        let files: [(entry: String?, bytes: Result<[UInt8], ZipError>)]
        var skipped: [ZipContents.Skipped] = []
        let isZip = ZipBundle.isArchive(bytes)
        if isZip {
            do throws(ZipError) {
                let archive = try ZipBundle.read(bytes)
                files = archive.entries.map { ($0.name, $0.result) }
                skipped = archive.skipped
            } catch {
                let part = FileInspection.Part(entry: nil, format: .zip, contents: .unreadable(error))
                return (FileInspection(format: .zip, parts: [part], skipped: []), nil, nil)
            }
        } else {
            files = [(nil, .success(bytes))]
        }
        var parts: [FileInspection.Part] = []
        var opened: SecretBytes?
        var tried: SecretBytes?
        for password in passwords {
            tried = password
            if parts.isEmpty {
                parts = try await look(into: files, password)
            } else {
                let wrong = parts.indices.filter { parts[$0].isUnderAnotherPassword }
                let again = try await look(into: wrong.map { files[$0] }, password)
                for (index, part) in zip(wrong, again) { parts[index] = part }
            }
            if parts.contains(where: \.isOpen) { opened = password }
            guard parts.contains(where: \.isUnderAnotherPassword) else { break }
        }
        let format = isZip ? .zip : parts.first?.format ?? .pkcs12
        return (FileInspection(format: format, parts: parts, skipped: skipped), opened, tried)
    }

    private func look(
        into files: [(entry: String?, bytes: Result<[UInt8], ZipError>)], _ password: SecretBytes?
    ) async throws -> [FileInspection.Part] {
        let budget = ArchiveBudget(patience: limits.archivePatience)
        // The shares are taken in the archive's order before any file is opened.
        let shared = files.map { file in
            let contents = Result<([UInt8], ArchiveShare?), any Error> {
                let bytes = try file.bytes.get()
                return (bytes, file.entry == nil ? nil : try budget.share(for: bytes, limits: limits))
            }
            return (entry: file.entry, contents: contents)
        }
        return try await shared.concurrentMap(width: ProcessInfo.processInfo.activeProcessorCount) { file in
            do {
                let (bytes, share) = try file.contents.get()
                let (format, contents) = contents(of: bytes, password, share)
                return FileInspection.Part(entry: file.entry, format: format, contents: contents)
            } catch {
                return FileInspection.Part(entry: file.entry, format: .pkcs12, contents: .unreadable(error))
            }
        }
    }

    private func contents(
        of bytes: [UInt8], _ password: SecretBytes?, _ share: ArchiveShare?
    ) -> (FileInspection.Format, FileInspection.Contents) {
        // DER and BER of all the forms begin with the tag of a SEQUENCE, which no text begins with.
        guard bytes.first == 0x30 else {
            if bytes.firstRange(of: Array("-----BEGIN ".utf8)) != nil {
                return (.pem, FileInspection.Contents { () throws(CertificateError) in try Self.pem(bytes) })
            }
            return (.pkcs12, .pkcs12(PKCS12.inspect(bytes, password: nil, limits: limits, share: share)))
        }
        if let certificate = try? Certificate(der: bytes) { return (.der, .certificates([certificate])) }
        if let bundle = try? CertificateBundle(der: bytes, mostItems: Self.mostCertificates),
            !bundle.certificates.isEmpty
        {
            return (.pkcs7, .certificates(bundle.certificates))
        }
        let report = PKCS12.inspect(
            bytes, password: password.map { .text($0) }, limits: limits, share: share)
        return (.pkcs12, .pkcs12(report))
    }

    /// The certificates of a PEM text, those in PKCS #7 included.
    private static func pem(_ text: [UInt8]) throws(CertificateError) -> [Certificate] {
        let bundles = try PEM.blocks(text, labelled: ["PKCS7"])
        guard !bundles.isEmpty else { return try Certificate.pem(text) }
        var certificates: [Certificate] = []
        for bundle in bundles {
            certificates += try CertificateBundle(der: bundle.der, mostItems: mostCertificates).certificates
        }
        return certificates + ((try? Certificate.pem(text)) ?? [])
    }

    private static let mostCertificates = 10_000
}

extension FileInspection.Contents {
    fileprivate init(_ certificates: () throws(CertificateError) -> [Certificate]) {
        do throws(CertificateError) {
            self = .certificates(try certificates())
        } catch {
            self = .unreadable(error)
        }
    }
}

extension FileInspection.Part {
    fileprivate var isUnderAnotherPassword: Bool {
        if case .pkcs12(let report) = contents { report.verdict == .wrongPassword } else { false }
    }

    fileprivate var isOpen: Bool {
        if case .pkcs12(let report) = contents { report.verdict == .ok } else { false }
    }
}
