import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL
import PathValidation
import PrivateFiles

/// An identity or certificate to verify, or the reason why a label or file cannot be verified.
enum VerificationSubject {
    /// An identity or a certificate. `file` is the path as named on the command line, or nil for an identity in the
    /// keychain.
    case identity(ValidationSubject, file: String?)
    /// A label or a file that cannot be checked. `item` is its name on the command line.
    case unchecked(item: String, CommandFailure)
}

/// Reads files to check: PKCS #12, certificates in every format, and folders of these.
struct SubjectReader {
    /// The limits for PKCS #12 files.
    let reading: ReadingOptions
    /// The passwords to try.
    var passwords: PasswordAttempts
    /// The files in folders that contain nothing to check.
    private(set) var skipped: [VerificationDocument.Skipped] = []

    private let most = MaterialLimits().subjects
    private var count = 0

    /// Creates a reader of files for one run.
    init(reading: ReadingOptions, passwords: PasswordAttempts) {
        self.reading = reading
        self.passwords = passwords
    }

    /// Returns the subjects in the file at `path`, or a failure if there is nothing to check.
    ///
    /// - Throws: `CommandFailure` (10) if there are more subjects than one run checks.
    mutating func subjects(_ path: String) throws(CommandFailure) -> [VerificationSubject] {
        var isFolder: ObjCBool = false
        guard path != "-", unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            isFolder.boolValue
        else { return try counted(file(path), path) }
        let subjects: [VerificationSubject]
        do {
            let entries = try PrivateFolder.entries(path, followingLinks: true)
            let most = MaterialLimits().files
            guard entries.count <= most else {
                throw CertificateError(.overLimit, "\(path): more than \(most) files")
            }
            subjects = try entries.filter(\.isVisibleFile).flatMap {
                try counted(inFolder($0, path), path)
            }
            guard !subjects.isEmpty else {
                throw CertificateError(.missing, "\(path): contains nothing to check")
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            return [unchecked(path, error)]
        }
        return subjects
    }

    /// Returns these subjects, and adds their number to the total of the run.
    ///
    /// - Throws: `CommandFailure` (10) if there are too many.
    private mutating func counted(
        _ subjects: [VerificationSubject], _ path: String
    ) throws(CommandFailure) -> [VerificationSubject] {
        count += subjects.count
        guard count <= most else {
            throw CommandFailure(
                .tooLarge, "\(path): more than \(most) certificates to check in one run",
                hint: "check fewer in each run, such as one folder for each 1,000")
        }
        return subjects
    }

    /// Returns the subjects in a file that was found in a folder. Returns none for a file that contains neither PKCS #12
    /// nor certificates.
    private mutating func inFolder(_ entry: FolderEntry, _ folder: String) -> [VerificationSubject] {
        let path = folder + "/" + entry.name
        if let obstacle = entry.obstacle {
            return [unchecked(path, CommandFailure(.unreadable, "cannot read \(path): \(obstacle)"))]
        }
        do {
            let bytes = try InputFile.read(path, limit: Self.limit, onlyRegular: true)
            guard Self.isSubject(bytes) else {
                skipped.append(.init(file: path, reason: "contains neither PKCS #12 nor certificates"))
                return []
            }
            return try subjects(in: bytes, path)
        } catch {
            return [unchecked(path, error)]
        }
    }

    /// Whether a file in a folder is checked: DER, and text with a block of certificates, even if it is damaged.
    private static func isSubject(_ bytes: [UInt8]) -> Bool {
        bytes.first == 0x30 || MaterialReader.containsCertificates(bytes)
    }

    private mutating func file(_ path: String) -> [VerificationSubject] {
        do {
            return try subjects(in: try InputFile.read(path, limit: Self.limit), path)
        } catch {
            return [unchecked(path, error)]
        }
    }

    private mutating func subjects(in bytes: [UInt8], _ path: String) throws -> [VerificationSubject] {
        if let certificates = try certificates(bytes, path) {
            return ValidationSubject.all(among: certificates).map { .identity($0, file: path) }
        }
        guard bytes.count <= reading.limits.fileSize + reading.limits.trailingZeroes else {
            throw CommandFailure(
                .tooLarge, "\(path) is larger than the limit of \(reading.limits.fileSize) bytes")
        }
        let contents = try reading.open(bytes, with: &passwords, named: path)
        // A key that does not match its certificate is a separate subject. It fails the key check.
        let obstacles = contents.obstacles.filter { $0.code != .keyMismatch }
        return ValidationSubject.all(in: contents).map { .identity($0, file: path) }
            + obstacles.map { unchecked(path, $0) }
    }

    /// Returns the certificates in a file, or nil if it contains no certificates but may be a PKCS #12 file.
    private func certificates(_ bytes: [UInt8], _ path: String) throws -> [Certificate]? {
        var reader = MaterialReader()
        do throws(CertificateError) {
            try reader.take(bytes, named: path)
        } catch {
            guard error.code == .missing, !bytes.starts(with: Array("-----BEGIN ".utf8)) else {
                throw error
            }
            return nil
        }
        guard !reader.material.certificates.isEmpty else {
            throw CertificateError(.missing, "\(path): contains nothing to check")
        }
        return reader.material.certificates
    }

    /// Creates the subject for a file that cannot be checked. The error message is prefixed with the path unless it
    /// already contains the path.
    private func unchecked(_ path: String, _ error: any Error) -> VerificationSubject {
        let failure = CommandFailure(error)
        return .unchecked(item: path, failure.message.contains(path) ? failure : failure.about(path))
    }

    /// The maximum size of one file in bytes, which is large enough for the certificates of many users.
    private static let limit = MaterialLimits().fileOctets
}
