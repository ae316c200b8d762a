package import OpenSSL
package import PKCS12Compatibility

/// The JSON document of `inspect`.
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

    /// What the reader makes of the file, in a word.
    package let verdict: String
    /// The verdict as a phrase.
    package let message: String
    /// The message authentication code.
    package let mac: MAC
    /// The encryption of each encrypted part: algorithm and iterations.
    package let encryption: [String]
    /// The certificates that have their key in the file.
    package let identities: [CertificateDocument]
    /// How many certificates there are, with a key or without.
    package let certificates: Int
    /// The certificates to which no key of the file belongs.
    package let certificatesWithoutKey: [CertificateDocument]
    /// How many bags are neither keys nor X.509 certificates.
    package let otherBags: Int
    /// How many keys there are to which no certificate of the file belongs.
    package let keysWithoutCertificate: Int
    /// The keys of kinds that cannot be used.
    package let unusableKeys: [UnknownKey]
    /// Everything in the file that is neither identity nor certificate.
    package let bags: [InspectedBag]
    /// What is unusual about the file, as sentences.
    package let notes: [String]
    /// What other programs would do with the file; left out without `--readers`.
    package let readers: [Reader]?

    /// Describes what the reader found in a file.
    ///
    /// - Parameters:
    ///   - report: what the reader found.
    ///   - verdicts: the verdicts of reader models; nil where they were not asked for.
    package init(_ report: PKCS12Report, _ verdicts: [ReaderModel.Verdict]? = nil) {
        let contents = report.contents
        verdict = report.verdict.rawValue
        message = report.message
        mac = MAC(
            present: contents.mac != nil, algorithm: contents.mac?.algorithm,
            iterations: contents.mac?.iterations)
        encryption = contents.encryption
        identities = contents.identities.map { CertificateDocument($0) }
        certificates = contents.certificateCount
        certificatesWithoutKey = contents.certificateEntries.map { CertificateDocument($0) }
        otherBags = contents.otherBags.count
        keysWithoutCertificate = contents.keys.count
        unusableKeys = contents.unknownKeys.map { UnknownKey(algorithm: $0.algorithm, name: $0.name) }
        bags = InspectedBag.all(in: contents)
        notes = contents.notes.map(\.description)
        readers = verdicts?.map { verdict in
            Reader(
                reader: verdict.reader.rawValue, title: verdict.reader.title,
                outcome: verdict.outcome.rawValue, reasons: verdict.reasons)
        }
    }
}
