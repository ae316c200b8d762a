package import OpenSSL
package import SecretMemory
package import ZipBundles

/// The format and contents of a file, determined without importing it: a PKCS #12 file, a zip of them, a configuration
/// profile, a mail message, or certificates, keys, revocation lists, OCSP responses and CMS messages.
package struct FileInspection: Sendable {
    /// The file formats. The raw values appear in JSON documents.
    package enum Format: String, Sendable, CaseIterable {
        /// A PKCS #12 file, or a file of unknown format.
        case pkcs12
        /// A zip, which may contain PKCS #12 files and certificates.
        case zip
        /// Certificates, keys, revocation lists, OCSP responses or CMS in PEM.
        case pem
        /// One of these in DER.
        case der
        /// PKCS #7 or CMS in DER or BER: certificates (`.p7b`, `.p7c`) or a message (`.p7m`, `.p7s`).
        case pkcs7
        /// A mail message with S/MIME parts (`.eml`).
        case smime
        /// A configuration profile of an Apple device.
        case mobileconfig
    }

    /// The contents of a file, or of an entry of a zip.
    package enum Contents: Sendable {
        /// A report on a PKCS #12 file, whether or not it could be opened.
        case pkcs12(PKCS12Report)
        /// The certificates, keys, revocation lists and OCSP responses of a file.
        case material(FileMaterial)
        /// A configuration profile.
        case profile(ProfileFile)
        /// A mail message with S/MIME parts.
        case message(MessageInspection)
        /// The error of a file or zip entry that cannot be inspected.
        case unreadable(any Error)
    }

    /// One inspected file: the whole file, or one entry of a zip.
    package struct Part: Sendable {
        /// The name of the entry; nil if the file is not a zip.
        package let entry: String?
        /// Whether an earlier entry of the zip has the same name.
        package var repeatsName = false
        /// The format of the part.
        package let format: Format
        /// The contents of the part.
        package let contents: Contents
    }

    /// The format of the file.
    package let format: Format
    /// The inspected files, in order: the file itself, or the entries of the zip.
    package let parts: [Part]
    /// The skipped entries of a zip: folders and macOS attributes.
    package let skipped: [ZipContents.Skipped]
}

/// Inspects files in the formats of ``FileInspection``.
package struct FileInspector: Sendable {
    private let limits: PKCS12Limits
    private let scratch: String
    /// The maximum number of certificates and other objects. The limits of a single PKCS #12 file apply instead of it.
    var mostItems = FileMaterial.mostItems

    /// Creates an inspector.
    ///
    /// - Parameters:
    ///   - limits: The limits for PKCS #12 files.
    ///   - scratch: A folder for temporary files without a name, which contain the parts of mail messages.
    package init(limits: PKCS12Limits = .standard, scratch: String) {
        self.limits = limits
        self.scratch = scratch
    }

    /// The maximum size of a file to read from disk, in bytes. It exceeds the size of every file that can be inspected.
    package var largestFile: Int { max(2 * limits.fileSize, FileReader.largestFile) }

    /// Inspects a file with several passwords, until no part needs another one.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - passwords: The passwords to try, at least one; nil means no password. Each is requested only when it is
    ///     needed.
    /// - Returns: The inspection, the last password that opened something, and the last one that was tried.
    /// - Throws: `CancellationError`.
    package func inspect(
        _ bytes: [UInt8], trying passwords: some Sequence<SecretBytes?>
    ) async throws -> (inspection: FileInspection, opened: SecretBytes?, tried: SecretBytes?) {
        let archive: ArchiveFiles
        do throws(ZipError) {
            archive = try ArchiveFiles(of: bytes)
        } catch {
            let part = FileInspection.Part(entry: nil, format: .zip, contents: .unreadable(error))
            return (FileInspection(format: .zip, parts: [part], skipped: []), nil, nil)
        }
        var parts: [FileInspection.Part] = []
        let (opened, tried) = try await passwords.tryEach { password in
            if parts.isEmpty {
                parts = try await look(into: archive.files, password)
            } else {
                let wrong = parts.indices.filter { parts[$0].isUnderAnotherPassword }
                let again = try await look(into: wrong.map { archive.files[$0] }, password)
                for (index, part) in zip(wrong, again) { parts[index] = part }
            }
            return PasswordTrial(
                opensSomething: parts.contains(where: \.isOpen),
                needsAnother: parts.contains(where: \.isUnderAnotherPassword))
        }
        let format = archive.isZip ? .zip : parts.first?.format ?? .pkcs12
        let inspection = FileInspection(format: format, parts: limited(parts), skipped: archive.skipped)
        return (inspection, opened, tried)
    }

    /// Replaces the contents of parts after too many objects with an error. Describing a certificate takes several
    /// times as long as reading it.
    private func limited(_ parts: [FileInspection.Part]) -> [FileInspection.Part] {
        var count = 0
        return parts.map { part in
            count += part.contents.count
            guard count > mostItems, part.entry != nil || part.format != .pkcs12 else { return part }
            let error = CertificateError(
                .overLimit, "the file contains more than \(mostItems) certificates and other objects")
            return FileInspection.Part(
                entry: part.entry, repeatsName: part.repeatsName, format: part.format,
                contents: .unreadable(error))
        }
    }

    private func look(
        into files: [ArchiveFiles.File], _ password: SecretBytes?
    ) async throws -> [FileInspection.Part] {
        try await ArchiveFiles.map(files, limits: limits) { contents(of: $0, password, $1) }
            .map { file, result in
                switch result {
                case .success((let format, let contents)):
                    FileInspection.Part(
                        entry: file.entry, repeatsName: file.repeatsName, format: format, contents: contents)
                case .failure(let error):
                    FileInspection.Part(
                        entry: file.entry, repeatsName: file.repeatsName, format: .pkcs12,
                        contents: .unreadable(error))
                }
            }
    }

    private func contents(
        of bytes: [UInt8], _ password: SecretBytes?, _ share: ArchiveShare?
    ) -> (FileInspection.Format, FileInspection.Contents) {
        // In DER and BER, all these formats begin with the tag of a SEQUENCE. No PEM file begins with this octet.
        guard bytes.first == 0x30 else {
            if let message = MessageInspection(bytes, scratch: scratch) { return (.smime, .message(message)) }
            if bytes.firstRange(of: Array("-----BEGIN ".utf8)) != nil {
                return (
                    .pem,
                    FileInspection.Contents { () throws(CertificateError) in try FileMaterial(pem: bytes) }
                )
            }
            if let profile = ProfileFile(bytes) { return (.mobileconfig, .profile(profile)) }
            return (.pkcs12, .pkcs12(PKCS12.inspect(bytes, password: nil, limits: limits, share: share)))
        }
        if let profile = ProfileFile(bytes) { return (.mobileconfig, .profile(profile)) }
        if let (material, isBundle) = FileMaterial.der(bytes) {
            return (isBundle ? .pkcs7 : .der, .material(material))
        }
        do {
            return (.pkcs7, .material(try FileMaterial(message: bytes)))
        } catch let error as CMSError where error.isAboutMessage {
            return (.pkcs7, .unreadable(error))
        } catch {
            // The file is neither CMS nor one of the other objects.
        }
        let report = PKCS12.inspect(
            bytes, password: password.map { .text($0) }, limits: limits, share: share)
        return (.pkcs12, .pkcs12(report))
    }
}

extension FileInspection.Contents {
    /// The number of certificates and other objects.
    fileprivate var count: Int {
        switch self {
        case .pkcs12(let report): report.contents.certificateCount + report.contents.keyCount
        case .material(let material): material.count
        case .profile(let profile):
            profile.signerCertificates.count + profile.payloads.reduce(0) { $0 + $1.certificates.count }
        case .message(let message):
            message.layers.reduce(0) { $0 + $1.description.certificates.count }
        case .unreadable: 0
        }
    }

    fileprivate init(_ material: () throws(CertificateError) -> FileMaterial) {
        do throws(CertificateError) {
            self = .material(try material())
        } catch {
            self = .unreadable(error)
        }
    }
}

extension CMSError {
    /// Whether the error occurred in a file that is CMS, but not in a form that can be described.
    fileprivate var isAboutMessage: Bool {
        switch code {
        // PKCS #12 files fail as malformed CMS, and their own error is more specific.
        case .unsupported(let oid): oid != OID.data
        case .overLimit: true
        default: false
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
