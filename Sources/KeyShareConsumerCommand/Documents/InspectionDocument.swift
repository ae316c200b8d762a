package import CommandSupport
internal import Diagnostics
package import Foundation
package import KeyShareConsumer
package import OpenSSL
package import PKCS12Compatibility
internal import SecureMail

/// The JSON document of `inspect` for one file. It is also used for each of several files and for each entry of a zip.
package struct InspectionDocument: Codable, Sendable {
    /// The message authentication code of the file (RFC 7292, section 4).
    package struct MAC: Codable, Sendable {
        /// Whether the file has a MAC.
        package let present: Bool
        /// The algorithm; nil if the file has no MAC.
        package let algorithm: String?
        /// The iterations of the key derivation; nil if the file has no MAC.
        package let iterations: Int?
        /// The size of the salt in bytes; nil if the file has no MAC.
        package let saltLength: Int?
    }

    /// The encryption of one part of the file. Each combination of values is listed once.
    package struct Encryption: Codable, Sendable, Hashable {
        /// The encrypted contents: `certificates` or `keys`. A safe that could not be opened is assumed to contain
        /// certificates, as is customary.
        package let covers: String
        /// The scheme: `PBES2`, or the name of a scheme that determines both cipher and key derivation.
        package let scheme: String
        /// The cipher, such as `AES-256-CBC`; null for a scheme that is not supported.
        @Nullable package private(set) var cipher: String?
        /// The key derivation: `PBKDF2`, `scrypt`, `PKCS12KDF` (RFC 7292, B.2) or `PBKDF1`; null for a scheme that is
        /// not supported.
        @Nullable package private(set) var kdf: String?
        /// The pseudo-random function: an HMAC such as `HMAC-SHA-256` for PBKDF2, a digest such as `SHA-1` for PKCS12KDF
        /// and PBKDF1; null for scrypt and for a scheme that is not supported.
        @Nullable package private(set) var prf: String?
        /// The iterations of the key derivation, for scrypt 2·N·r·p; null for a scheme that is not supported.
        @Nullable package private(set) var iterations: Int?
        /// The size of the salt in bytes; null for a scheme that is not supported.
        @Nullable package private(set) var saltLength: Int?
        /// The size of the key in bytes; null for a scheme that is not supported.
        @Nullable package private(set) var keyLength: Int?
    }

    /// A key of an unsupported kind.
    package struct UnknownKey: Codable, Sendable {
        /// The dotted identifier of the algorithm of the key.
        package let algorithm: String
        /// The name of the algorithm.
        package let name: String
    }

    /// The prediction for another program: whether the program would open the file, according to a model of the
    /// program.
    package struct Reader: Codable, Sendable {
        /// The short name of the program.
        package let reader: String
        /// The name and version of the program.
        package let title: String
        /// The behaviour of the program with this file.
        package let outcome: String
        /// The reasons, as sentences.
        package let reasons: [String]
    }

    /// The file as named on the command line; omitted if only one file was named.
    package private(set) var file: String?
    /// The name of the entry; omitted except for entries of a zip.
    package private(set) var entry: String?
    /// The file format: `pkcs12`, `zip`, `pem`, `der`, `pkcs7`, `mobileconfig` or `smime`.
    package let format: String
    /// The verdict on the file, as a code such as `ok`.
    package let verdict: String
    /// The verdict as a phrase.
    package private(set) var message: String
    /// The message authentication code.
    package let mac: MAC
    /// The encryption of each encrypted part.
    package let encryption: [Encryption]
    /// The encryption of each encrypted part, as text with algorithm and iterations.
    package let encryptionText: [String]
    /// The certificates whose private key is in the file.
    package let identities: [CertificateDocument]
    /// The number of certificates, with or without a key; null if the file could not be opened.
    @Nullable package private(set) var certificates: Int?
    /// The certificates whose private key is not in the file.
    package let certificatesWithoutKey: [CertificateDocument]
    /// The number of bags that contain neither keys nor X.509 certificates; null if the file could not be opened.
    @Nullable package private(set) var otherBags: Int?
    /// The number of keys whose certificate is not in the file; null if the file could not be opened.
    @Nullable package private(set) var keysWithoutCertificate: Int?
    /// The keys of unsupported kinds.
    package let unusableKeys: [UnknownKey]
    /// All bags that are neither identities nor certificates.
    package let bags: [InspectedBag]
    /// The private keys outside PKCS #12, without anything secret.
    package private(set) var privateKeys: [KeyDocument] = []
    /// The public keys outside certificates.
    package private(set) var publicKeys: [KeyDocument] = []
    /// The certificate revocation lists.
    package private(set) var revocationLists: [RevocationListDocument] = []
    /// The OCSP responses.
    package private(set) var statusResponses: [StatusResponseDocument] = []
    /// The encryptions and signatures of messages: of a mail message, or of CMS in PEM or DER.
    package private(set) var messages: [MessageDocument] = []
    /// The configuration profile; omitted for other formats.
    package private(set) var profile: ProfileDocument?
    /// Unusual properties of the file, as sentences.
    package private(set) var notes: [String]
    /// The behaviour of other programs with the file; omitted without `--readers`.
    package let readers: [Reader]?
    /// The files in a zip. The other fields of the document combine their contents. Omitted for other formats.
    package private(set) var entries: [InspectionDocument]?
    /// The names of the zip entries that were not inspected, such as folders; omitted for other formats.
    package private(set) var skipped: [String]?
    /// The error that prevents reading the file completely. Omitted if there is none, or if the rest of the
    /// document already shows it.
    package private(set) var error: FailureDocument.Body?

    /// Creates the document for a PKCS #12 file.
    ///
    /// - Parameters:
    ///   - report: The report of the PKCS #12 reader.
    ///   - verdicts: The verdicts of reader models; nil if they were not requested.
    ///   - date: The time at which certificates are examined.
    package init(_ report: PKCS12Report, _ verdicts: [ReaderModel.Verdict]? = nil, at date: Date) {
        let contents = report.contents
        let examination = CertificateDocument.Examination(
            at: date,
            among: contents.certificateEntries.map(\.certificate) + contents.identities.map(\.certificate))
        format = "pkcs12"
        verdict = report.verdict.rawValue
        message = report.message
        mac = MAC(
            present: contents.mac != nil, algorithm: contents.mac?.algorithm,
            iterations: contents.mac?.iterations, saltLength: contents.mac?.saltLength)
        encryption = Encryption.all(in: contents)
        encryptionText = contents.encryption
        identities = contents.identities.map { CertificateDocument($0, examination) }
        // The numbers are unknown if the file could not be opened.
        let isOpen = report.verdict == .ok
        certificates = isOpen ? contents.certificateCount : nil
        certificatesWithoutKey = contents.certificateEntries.map { CertificateDocument($0, examination) }
        otherBags = isOpen ? contents.otherBags.count : nil
        keysWithoutCertificate = isOpen ? contents.keys.count : nil
        unusableKeys = contents.unknownKeys.map { UnknownKey(algorithm: $0.algorithm, name: $0.name) }
        bags = InspectedBag.all(in: contents)
        notes = contents.notes.map(\.description)
        readers = verdicts?.map { verdict in
            Reader(
                reader: verdict.reader.rawValue, title: verdict.reader.title,
                outcome: verdict.outcome.rawValue, reasons: verdict.reasons)
        }
    }

    /// Creates the document for a file that contains certificates, keys, revocation lists or OCSP responses.
    package init(_ material: FileMaterial, format: String, at date: Date) {
        let examination = CertificateDocument.Examination(at: date, among: material.certificates)
        self.init(
            format: format, verdict: "ok", message: "the file contains \(material.summary)",
            certificates: material.certificates.count,
            certificatesWithoutKey: material.certificates.map { CertificateDocument($0, examination) },
            otherBags: 0, keysWithoutCertificate: 0)
        privateKeys = material.privateKeys.map { KeyDocument($0) }
        publicKeys = material.publicKeys.map { KeyDocument($0) }
        revocationLists = material.lists.map { RevocationListDocument($0, at: date) }
        statusResponses = material.responses.map { StatusResponseDocument($0, at: date) }
        messages = material.messages.map {
            MessageDocument($0, among: material.certificates, at: date)
        }
        notes = material.keyErrors.map { "a private key cannot be used: \($0.reason)" }
    }

    /// Creates the document for a configuration profile.
    package init(_ profile: ProfileFile, format: String, at date: Date) {
        let document = ProfileDocument(profile, at: date)
        let certificates = document.payloads.flatMap(\.certificates)
        let count = counted(document.payloads.count, "payload", "payloads")
        self.init(
            format: format, verdict: "ok", message: "a configuration profile with \(count)",
            certificates: certificates.count, certificatesWithoutKey: certificates, otherBags: 0,
            keysWithoutCertificate: 0)
        self.profile = document
    }

    /// Creates the document for a mail message.
    package init(_ message: MessageInspection, format: String, at date: Date) {
        var seen: Set<Certificate> = []
        let certificates = message.layers.flatMap(\.description.certificates)
            .filter { seen.insert($0).inserted }
        let examination = CertificateDocument.Examination(at: date, among: certificates)
        let count = counted(message.layers.count, "encryption or signature", "encryptions and signatures")
        self.init(
            format: format, verdict: "ok", message: "an S/MIME message with \(count)",
            certificates: certificates.count,
            certificatesWithoutKey: certificates.map { CertificateDocument($0, examination) },
            otherBags: 0, keysWithoutCertificate: 0)
        messages = message.layers.map { MessageDocument($0, among: certificates, at: date) }
        revocationLists = message.layers.flatMap(\.description.encodedLists).compactMap { der in
            (try? CertificateRevocationList(der: der)).map { RevocationListDocument($0, at: date) }
        }
        notes =
            message.errors.map { "a part cannot be read: \($0.reason)" }
            + message.unprotected.map { "part \($0.path) (\($0.type.visible)) is not protected" }
    }

    /// Creates the document for a file or a zip entry that cannot be inspected.
    package init(failure: CommandFailure, format: String) {
        self.init(format: format, verdict: Self.verdict(of: failure), message: failure.reason)
    }

    /// Creates the document for a zip from those of its entries. The verdict is the first one that is not `ok`.
    ///
    /// - Parameters:
    ///   - entries: The documents of the entries.
    ///   - skipped: The names of entries that were not inspected.
    package init(entries: [InspectionDocument], skipped: [String]) {
        let bad = entries.first { $0.verdict != "ok" }
        let message = "an archive of \(counted(entries.count, "file", "files"))"
        self.init(
            format: "zip", verdict: bad?.verdict ?? "ok",
            message: bad.map { "\(message); \($0.entry ?? ""): \($0.message)" } ?? message,
            identities: entries.flatMap(\.identities),
            certificates: Self.sum(entries.map(\.certificates)),
            certificatesWithoutKey: entries.flatMap(\.certificatesWithoutKey),
            otherBags: Self.sum(entries.map(\.otherBags)),
            keysWithoutCertificate: Self.sum(entries.map(\.keysWithoutCertificate)),
            unusableKeys: entries.flatMap(\.unusableKeys), bags: entries.flatMap(\.bags))
        self.entries = entries
        self.skipped = skipped
        privateKeys = entries.flatMap(\.privateKeys)
        publicKeys = entries.flatMap(\.publicKeys)
        revocationLists = entries.flatMap(\.revocationLists)
        statusResponses = entries.flatMap(\.statusResponses)
        messages = entries.flatMap(\.messages)
    }

    /// Returns the sum of counts, or nil if one of them is unknown.
    private static func sum(_ counts: [Int?]) -> Int? {
        counts.reduce(0) { sum, count in sum.flatMap { sum in count.map { sum + $0 } } }
    }

    private init(
        format: String, verdict: String, message: String, identities: [CertificateDocument] = [],
        certificates: Int? = nil, certificatesWithoutKey: [CertificateDocument] = [], otherBags: Int? = nil,
        keysWithoutCertificate: Int? = nil, unusableKeys: [UnknownKey] = [], bags: [InspectedBag] = []
    ) {
        self.format = format
        self.verdict = verdict
        self.message = message
        mac = MAC(present: false, algorithm: nil, iterations: nil, saltLength: nil)
        encryption = []
        encryptionText = []
        self.identities = identities
        self.certificates = certificates
        self.certificatesWithoutKey = certificatesWithoutKey
        self.otherBags = otherBags
        self.keysWithoutCertificate = keysWithoutCertificate
        self.unusableKeys = unusableKeys
        self.bags = bags
        notes = []
        readers = nil
    }

    /// Adds a note about this zip entry.
    package mutating func note(_ sentence: String) { notes.append(sentence) }

    /// Replaces the message with the reason of a failure, which is more specific.
    package mutating func explain(_ failure: CommandFailure) { message = failure.reason }

    /// Returns the document for one of several files, with its name and the error that prevents reading it completely.
    package func file(_ name: String, failure: CommandFailure?) -> InspectionDocument {
        var document = self
        document.file = name
        document.error = failure.map { FailureDocument.Body($0) }
        return document
    }

    /// Returns the document for an entry of a zip, with its name and the error that prevents reading it completely.
    package func entry(_ name: String, failure: CommandFailure?) -> InspectionDocument {
        var document = self
        document.entry = name
        document.error = failure.map { FailureDocument.Body($0) }
        return document
    }

    /// Returns the verdict on a file that cannot be read, as one of the PKCS #12 reader's verdicts.
    private static func verdict(of failure: CommandFailure) -> String {
        switch failure.status {
        case .wrongPassword: PKCS12Report.Verdict.wrongPassword.rawValue
        case .unsupportedAlgorithm: PKCS12Report.Verdict.unsupported.rawValue
        case .refused: PKCS12Report.Verdict.refused.rawValue
        default: PKCS12Report.Verdict.malformed.rawValue
        }
    }
}

extension InspectionDocument.Encryption {
    /// Returns the encryption of every layer of a file, without duplicates: supported schemes first, then unsupported
    /// ones.
    fileprivate static func all(in contents: PKCS12Contents) -> [InspectionDocument.Encryption] {
        // The position of a layer is `safe 1`, or `safe 1, bag 2` for a key with its own layer.
        func covers(_ place: String) -> String {
            place.contains(",") || contents.keySafes.contains(place) ? "keys" : "certificates"
        }
        let known = contents.layers.map { Self($0, covers: covers($0.place)) }
        let unknown = contents.unknownSchemes.map { Self(covers: covers($0.place), scheme: $0.name) }
        var seen: Set<InspectionDocument.Encryption> = []
        return (known + unknown).filter { seen.insert($0).inserted }
    }

    private init(covers: String, scheme: String) {
        self.covers = covers
        self.scheme = scheme
        (cipher, kdf, prf) = (nil, nil, nil)
        (iterations, saltLength, keyLength) = (nil, nil, nil)
    }

    init(_ layer: PKCS12Layer, covers: String) {
        self.init(covers: covers, scheme: layer.schemeName)
        cipher = layer.cipher
        switch layer.derivation {
        case .pkcs12(let digest): (kdf, prf) = ("PKCS12KDF", digest)
        case .pbkdf1(let digest): (kdf, prf) = ("PBKDF1", digest)
        case .pbkdf2(let digest): (kdf, prf) = ("PBKDF2", "HMAC-\(digest)")
        case .scrypt: kdf = "scrypt"
        }
        iterations = layer.iterations
        saltLength = layer.saltLength
        keyLength = layer.keyLength
    }
}

/// The JSON document of `inspect` for several files.
package struct InspectionsDocument: Codable, Sendable {
    /// The files in the order of the command line.
    package let files: [InspectionDocument]

    /// Creates the document for several files from the document of each.
    package init(files: [InspectionDocument]) {
        self.files = files
    }
}

extension FileMaterial {
    /// The numbers of objects in words, such as `2 certificates and 1 private key`.
    fileprivate var summary: String {
        let counts: [(Int, String, String)] = [
            (certificates.count, "certificate", "certificates"),
            (privateKeys.count, "private key", "private keys"),
            (publicKeys.count, "public key", "public keys"),
            (lists.count, "revocation list", "revocation lists"),
            (responses.count, "OCSP response", "OCSP responses"),
            (messages.count, "message", "messages"),
        ]
        let parts = counts.filter { $0.0 > 0 }.map { counted($0.0, $0.1, $0.2) }
        return parts.isEmpty
            ? "0 certificates" : parts.formatted(.list(type: .and).locale(Locale(identifier: "en_US")))
    }
}
