internal import OpenSSL
internal import PKCS12Compatibility
internal import SecretMemory
internal import StandardExtensions
internal import TestVectors

/// The expected behaviour with one mutated file.
struct FuzzJudge: Sendable {
    /// The behaviour of this package's reader, as a phrase.
    let ours: String
    /// The digests of the certificates of the identities; nil if no identity can be imported.
    let certificates: Set<String>?
    /// Whether a consumer must not accept the file, because it is not authentic, malformed, or has a wrong key.
    let mustReject: Bool
    /// Whether a consumer must accept the file.
    let mustAccept: Bool
    /// Whether a consumer may import only some of the identities.
    let mayLoseIdentities: Bool

    /// The number of readers that must open a file before a rejection is a finding.
    static let leastReaders = 6

    /// Judges other programs: this package's reader and the models of other readers decide.
    ///
    /// A consumer must accept a file that conforms to RFC 7292, that this package's reader opens without a note, and
    /// that at least six readers open.
    init(_ file: MutatedFile, bytes: [UInt8], claim: TestVectorClaim) {
        let password = PKCS12Password.text(SecretBytes(utf8: file.seed.password))
        mayLoseIdentities = false
        do {
            let identities = try Self.identities(in: bytes, password)
            certificates = Set(identities.map { $0.label.lowercased() })
            ours =
                "opens it and finds \(certificates?.count ?? 0) of \(file.seed.certificates.count) identities"
            mustReject = false
        } catch {
            certificates = nil
            ours = "rejects it: \(error.reason)"
            mustReject =
                switch error.code {
                case .wrongPassword, .malformed, .missingMAC, .refused(.iterations): true
                // A consumer that only opens files need not compare keys with certificates.
                case .keyMismatch: claim != .parse
                case .refused, .unsupportedAlgorithm, .noIdentity: false
                }
        }
        guard certificates != nil, file.isLegal else {
            mustAccept = false
            return
        }
        let report = PKCS12.inspect(bytes, password: password)
        let readers = ReaderModel.allCases.count { $0.verdict(on: report).outcome == .opens }
        mustAccept = readers >= Self.leastReaders && report.contents.notes.allSatisfy(\.isHarmless)
    }

    /// Judges this package's reader: the mutations decide.
    ///
    /// A file after legal mutations must have the identities of its seed, unless it exceeds a limit. A file after one
    /// mutation that destroys its authenticity must be rejected. No file may have identities that its seed lacks.
    init(ownReader file: MutatedFile, bytes: [UInt8]) {
        certificates = Set(file.seed.certificates.map { Digest.sha256($0).hexadecimal })
        ours = "the seed has \(file.seed.certificates.count) identities"
        mustAccept = file.isLegal
        mayLoseIdentities = !file.isLegal
        mustReject = file.steps.count == 1 && file.steps.contains { $0.mutation.isFatal }
    }

    /// The identities that this package's reader imports.
    static func identities(
        in bytes: [UInt8], _ password: PKCS12Password
    ) throws(PKCS12Error) -> [PKCS12Identity] {
        let contents = try PKCS12.read(bytes, password: password)
        let identities = try contents.requireIdentities()
        // A key that belongs to another certificate is an error, even if the file also contains complete identities.
        guard contents.mismatchedKeys.isEmpty else { throw PKCS12Error(.keyMismatch) }
        return identities
    }

    /// Returns the finding in a consumer's answer, or nil.
    func finding(in answer: FuzzAnswer) -> FuzzOutcome? {
        switch answer {
        case .failed(let outcome): return outcome
        case .stopped: return nil
        case .rejected: return mustAccept ? .refusesGood : nil
        case .accepted(let count, let reported):
            if mustReject { return .acceptsBad }
            guard let certificates else { return nil }
            if let reported {
                let isRight =
                    mayLoseIdentities ? reported.isSubset(of: certificates) : reported == certificates
                return isRight ? nil : .otherIdentities
            }
            return count.map { $0 == certificates.count ? nil : .otherIdentities } ?? nil
        }
    }
}

extension PKCS12Note {
    /// Whether every reader ignores the property.
    fileprivate var isHarmless: Bool {
        switch self {
        case .basicEncoding, .emptySafe, .trailingZeroes, .duplicateCertificate: true
        default: false
        }
    }
}

extension [UInt8] {
    /// The octets in lower-case hexadecimal.
    fileprivate var hexadecimal: String { upperHex.lowercased() }
}
