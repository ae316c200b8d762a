internal import Diagnostics
package import OpenSSL
package import PKCS12Compatibility

/// The JSON document of `inspect` for one file, and what it says of each of several files and of each entry of a zip.
package struct InspectionDocument: Codable, Sendable {
    /// The message authentication code of the file (RFC 7292, section 4).
    package struct MAC: Codable, Sendable {
        /// Whether the file has one.
        package let present: Bool
        /// The algorithm; nil without a code.
        package let algorithm: String?
        /// The iterations of the key derivation; nil without a code.
        package let iterations: Int?
    }

    /// A key of a kind that cannot be used.
    package struct UnknownKey: Codable, Sendable {
        /// The dotted identifier of the algorithm of the key.
        package let algorithm: String
        /// The name of the algorithm.
        package let name: String
    }

    /// Whether another program would open the file, by a model of the program.
    package struct Reader: Codable, Sendable {
        /// The short name of the program.
        package let reader: String
        /// The name and version of the program.
        package let title: String
        /// What the program would do with the file.
        package let outcome: String
        /// Why, as sentences.
        package let reasons: [String]
    }

    /// The file as it was named on the command line; left out where only one was.
    package private(set) var file: String?
    /// The name of the entry; left out of all but the entries of a zip.
    package private(set) var entry: String?
    /// What the file is: `pkcs12`, `zip`, `pem`, `der` or `pkcs7`.
    package let format: String
    /// What the reader makes of the file, in a word.
    package let verdict: String
    /// The verdict as a phrase.
    package private(set) var message: String
    /// The message authentication code.
    package let mac: MAC
    /// The encryption of each encrypted part: algorithm and iterations.
    package let encryption: [String]
    /// The certificates that have their key in the file.
    package let identities: [CertificateDocument]
    /// How many certificates there are, with a key or without; null where
    /// the file does not open, so that nobody knows.
    @Nullable package private(set) var certificates: Int?
    /// The certificates to which no key of the file belongs.
    package let certificatesWithoutKey: [CertificateDocument]
    /// How many bags are neither keys nor X.509 certificates; null where the file does not open, so that nobody knows.
    @Nullable package private(set) var otherBags: Int?
    /// How many keys there are to which no certificate of the file belongs; null where
    /// the file does not open, so that nobody knows.
    @Nullable package private(set) var keysWithoutCertificate: Int?
    /// The keys of kinds that cannot be used.
    package let unusableKeys: [UnknownKey]
    /// Everything in the file that is neither identity nor certificate.
    package let bags: [InspectedBag]
    /// What is unusual about the file, as sentences.
    package let notes: [String]
    /// What other programs would do with the file; left out without `--readers`.
    package let readers: [Reader]?
    /// The files in a zip, whose contents the other fields add up; left out of all but a zip.
    package private(set) var entries: [InspectionDocument]?
    /// The names in a zip that were not looked into, such as folders; left out of all but a zip.
    package private(set) var skipped: [String]?
    /// Why the file cannot be read to its end; left out where it can, and where the document itself says so.
    package private(set) var error: FailureDocument.Body?

    /// Describes what the reader found in a file.
    ///
    /// - Parameters:
    ///   - report: what the reader found.
    ///   - verdicts: the verdicts of reader models; nil where they were not asked for.
    package init(_ report: PKCS12Report, _ verdicts: [ReaderModel.Verdict]? = nil) {
        let contents = report.contents
        format = "pkcs12"
        verdict = report.verdict.rawValue
        message = report.message
        mac = MAC(
            present: contents.mac != nil, algorithm: contents.mac?.algorithm,
            iterations: contents.mac?.iterations)
        encryption = contents.encryption
        identities = contents.identities.map { CertificateDocument($0) }
        // Before a file opens nothing in it has been counted.
        let isOpen = report.verdict == .ok
        certificates = isOpen ? contents.certificateCount : nil
        certificatesWithoutKey = contents.certificateEntries.map { CertificateDocument($0) }
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

    /// Describes a file that holds nothing but certificates.
    package init(certificates: [Certificate], format: String) {
        self.init(
            format: format, verdict: "ok",
            message: "the file holds \(counted(certificates.count, "certificate", "certificates"))",
            certificates: certificates.count,
            certificatesWithoutKey: certificates.map { CertificateDocument($0) }, otherBags: 0,
            keysWithoutCertificate: 0)
    }

    /// Describes a file or an entry of a zip that cannot be looked into.
    package init(failure: CommandFailure, format: String) {
        self.init(format: format, verdict: Self.verdict(of: failure), message: failure.reason)
    }

    /// Describes a zip by its entries: the verdict is the first that is not `ok`.
    ///
    /// - Parameters:
    ///   - entries: what is known of each entry.
    ///   - skipped: the names of entries that were not looked into.
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
    }

    /// The sum of counts; nil where one of them is not known.
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
        mac = MAC(present: false, algorithm: nil, iterations: nil)
        encryption = []
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

    /// Gives the verdict the words of a failure that says more of the same.
    package mutating func explain(_ failure: CommandFailure) { message = failure.reason }

    /// The document as one of several files, with its name and why it cannot be read to its end.
    package func file(_ name: String, failure: CommandFailure?) -> InspectionDocument {
        var document = self
        document.file = name
        document.error = failure.map { FailureDocument.Body($0) }
        return document
    }

    /// The document as the entry of a zip, with its name and why it cannot be read to its end.
    package func entry(_ name: String, failure: CommandFailure?) -> InspectionDocument {
        var document = self
        document.entry = name
        document.error = failure.map { FailureDocument.Body($0) }
        return document
    }

    /// The verdict in the words of the reader of PKCS #12 files, for failures of other forms.
    private static func verdict(of failure: CommandFailure) -> String {
        switch failure.status {
        case .wrongPassword: PKCS12Report.Verdict.wrongPassword.rawValue
        case .unsupportedAlgorithm: PKCS12Report.Verdict.unsupported.rawValue
        case .refused: PKCS12Report.Verdict.refused.rawValue
        default: PKCS12Report.Verdict.malformed.rawValue
        }
    }
}

/// The JSON document of `inspect` for several files.
package struct InspectionsDocument: Codable, Sendable {
    /// The files in the order of the command line.
    package let files: [InspectionDocument]

    /// Describes several files.
    package init(files: [InspectionDocument]) {
        self.files = files
    }
}
