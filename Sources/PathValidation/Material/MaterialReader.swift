internal import Foundation
package import OpenSSL
internal import PrivateFiles

/// Reads certificates, revocation lists and OCSP responses from files and folders: PEM, DER, `.p7c` and `.p7b`.
///
/// The format is determined from the contents, not from the file name.
package struct MaterialReader {
    /// The material that has been read so far.
    package private(set) var material = ValidationMaterial()
    /// The number of certificates read so far, including duplicates.
    package private(set) var certificatesRead = 0

    private let limits: MaterialLimits
    private var seen: Set<Certificate> = []
    private var keptOctets = 0

    /// The maximum size in bytes of a list that is kept in memory. Only larger lists are read twice.
    private static let smallList = 64 << 10

    /// Creates a reader with these limits.
    package init(limits: MaterialLimits = .init()) { self.limits = limits }

    /// Reads a file, or the files of a folder without its subfolders.
    ///
    /// A file without validation material is an error if `path` names it, and is skipped if it is in a folder. A damaged
    /// PEM block and a file that cannot be read are always errors.
    ///
    /// - Throws: `unreadable`, `malformed`, `overLimit`.
    package mutating func read(_ path: String) throws(CertificateError) {
        let status = try Status(path)
        guard status.isFolder else {
            try readFile(path, status)
            return
        }
        guard let entries = try? PrivateFolder.entries(path, followingLinks: true) else {
            throw CertificateError(.unreadable, "\(path): the folder cannot be read")
        }
        guard entries.count <= limits.files else {
            throw CertificateError(.overLimit, "\(path): more than \(limits.files) files")
        }
        for entry in entries where entry.isVisibleFile {
            let file = path + "/" + entry.name
            if let obstacle = entry.obstacle {
                throw CertificateError(.unreadable, "\(file): \(obstacle)")
            }
            do throws(CertificateError) {
                try readFile(file, try Status(file))
            } catch {
                guard error.code == .missing else { throw error }
                material.skipped.append(
                    .init(path: file, reason: "contains no certificate, revocation list or OCSP response"))
            }
        }
    }

    /// Whether text contains a PEM block of certificates, even if the block is damaged. The start of a block is a line of
    /// its own.
    package static func containsCertificates(_ text: [UInt8]) -> Bool {
        let starts = certificateLabels.union(bundleLabels).union([trustedLabel]).map {
            Array("-----BEGIN \($0)-----".utf8)
        }
        return text.split(separator: 0x0A).contains { line in
            let line = line.last == 0x0D ? line.dropLast() : line
            return starts.contains { line.elementsEqual($0) }
        }
    }

    /// Reads the contents of one file, for example from standard input. Error messages contain `name`.
    ///
    /// - Throws: `malformed`, `overLimit`.
    package mutating func take(_ bytes: [UInt8], named name: String) throws(CertificateError) {
        try take(bytes, named: name, file: nil)
    }

    private mutating func readFile(_ path: String, _ status: Status) throws(CertificateError) {
        try take(
            try Self.bytes(path, status, limits.fileOctets), named: path, file: (path: path, status: status))
    }

    /// The file that bytes were read from.
    private typealias File = (path: String, status: Status)

    private mutating func take(_ bytes: [UInt8], named name: String, file: File?) throws(CertificateError) {
        do throws(CertificateError) {
            if Self.isPEM(bytes) {
                try takePEM(bytes)
            } else {
                try takeDER(bytes, file)
            }
        } catch {
            throw CertificateError(
                error.code == .missing ? .missing : .malformed, "\(name): \(error.reason)")
        }
        let most = limits.certificates
        guard material.certificates.count <= most else {
            throw CertificateError(.overLimit, "\(name): more than \(most) certificates in total")
        }
        guard keptOctets <= limits.keptOctets else {
            throw CertificateError(.overLimit, "\(name): more than \(limits.keptOctets >> 20) MiB in total")
        }
    }

    // MARK: - Forms

    private static let certificateLabels: Set<String> = ["CERTIFICATE", "X509 CERTIFICATE"]
    private static let bundleLabels: Set<String> = ["PKCS7", "PKCS #7 SIGNED DATA", "CMS"]
    private static let responseLabels: Set<String> = ["OCSP RESPONSE"]
    /// A certificate followed by trust settings (openssl-x509(1), `-trustout`).
    private static let trustedLabel = "TRUSTED CERTIFICATE"

    /// Whether the bytes are PEM text. DER and BER begin with a sequence tag and a length of several octets or of
    /// indefinite form; no text does.
    private static func isPEM(_ bytes: [UInt8]) -> Bool {
        if bytes.count > 1, bytes[0] == 0x30, bytes[1] >= 0x80 { return false }
        return bytes.prefix(64 << 10).firstRange(of: Array("-----BEGIN ".utf8)) != nil
    }

    private mutating func takePEM(_ text: [UInt8]) throws(CertificateError) {
        let labels = Self.certificateLabels.union(Self.bundleLabels).union(Self.responseLabels)
        let blocks = try PEM.blocks(text, labelled: labels.union(["X509 CRL", Self.trustedLabel]))
        guard !blocks.isEmpty else {
            throw CertificateError(
                .missing, "the text contains no certificate, revocation list or OCSP response")
        }
        for block in blocks {
            guard block.label != Self.trustedLabel else {
                throw CertificateError(
                    .missing,
                    "\(Self.trustedLabel) is an OpenSSL format with trust settings and is not supported; create a plain "
                        + "certificate with: openssl x509 -in FILE -out FILE.pem")
            }
            if Self.certificateLabels.contains(block.label) {
                add(try Certificate(der: block.der))
            } else if Self.bundleLabels.contains(block.label) {
                try add(CertificateBundle(der: block.der, mostItems: limits.certificates))
            } else if Self.responseLabels.contains(block.label) {
                add(try StatusResponse(der: block.der))
            } else {
                add(try EncodedRevocationList(der: block.der))
            }
        }
    }

    private mutating func takeDER(_ bytes: [UInt8], _ file: File?) throws(CertificateError) {
        if let certificate = try? Certificate(der: bytes) {
            add(certificate)
            return
        }
        do throws(CertificateError) {
            add(try list(bytes, file))
            return
        } catch  where error.code == .overLimit {
            throw error
        } catch {}
        if let bundle = try? CertificateBundle(der: bytes, mostItems: limits.certificates) {
            add(bundle)
        } else if let response = try? StatusResponse(der: bytes) {
            add(response)
        } else {
            throw CertificateError(
                .missing, "contains no certificate, revocation list, PKCS #7 bundle or OCSP response")
        }
    }

    private func list(_ bytes: [UInt8], _ file: File?) throws(CertificateError) -> EncodedRevocationList {
        guard let file, bytes.count > Self.smallList else { return try EncodedRevocationList(der: bytes) }
        let most = limits.fileOctets
        return try EncodedRevocationList(head: bytes) { () throws(CertificateError) in
            guard let status = try? Status(file.path), status == file.status,
                let again = try? Self.bytes(file.path, status, most)
            else { throw CertificateError(.malformed, "\(file.path) has changed since it was first read") }
            return again
        }
    }

    private mutating func add(_ certificate: Certificate) {
        certificatesRead += 1
        guard seen.insert(certificate).inserted else { return }
        material.certificates.append(certificate)
        keptOctets += certificate.der.count
    }

    private mutating func add(_ list: EncodedRevocationList) {
        material.lists.append(list)
        if list.isHeld { keptOctets += list.count }
    }

    private mutating func add(_ bundle: CertificateBundle) {
        for certificate in bundle.certificates { add(certificate) }
        for list in bundle.lists { add(list) }
    }

    private mutating func add(_ response: StatusResponse) {
        material.responses.append(response)
        keptOctets += response.der.count
    }

    // MARK: - Files

    /// A file's type, size and time of change. If they differ when a revocation list is reread, the read fails.
    private struct Status: Equatable {
        let isFolder: Bool
        let isRegular: Bool
        let size: Int
        let changed: [Int]

        init(_ path: String) throws(CertificateError) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else {
                let isMissing = errno == ENOENT || errno == ENOTDIR
                throw CertificateError(
                    .unreadable, "\(path): " + (isMissing ? "no such file" : "cannot be read"))
            }
            isFolder = status.st_mode & S_IFMT == S_IFDIR
            isRegular = status.st_mode & S_IFMT == S_IFREG
            size = Int(status.st_size)
            changed = [Int(status.st_ino), Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec)]
        }
    }

    /// The bytes of a regular file. Other kinds, such as pipes, are rejected because they may never end.
    private static func bytes(_ path: String, _ status: Status, _ most: Int) throws(CertificateError)
        -> [UInt8]
    {
        guard status.isRegular else {
            throw CertificateError(.unreadable, "\(path): not a regular file")
        }
        guard status.size <= most else {
            throw CertificateError(.overLimit, "\(path): larger than \(most >> 20) MiB")
        }
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw CertificateError(.unreadable, "\(path): cannot be read")
        }
        return Array(data)
    }
}
