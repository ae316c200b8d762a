import CertificateReading
import Foundation
import KeySharing
import OpenSSL
import TestSupport
import Testing

/// The verdicts of the public sample apps' own compiled functions on generated certificates.
private enum Oracle {
    /// The folder with the verdicts: the environment variable `KEYSHARE_ORACLE`, or `shared/oracle` next to the
    /// package.
    static let folder =
        ProcessInfo.processInfo.environment["KEYSHARE_ORACLE"] ?? PackageFolder.path + "/../shared/oracle"

    /// Whether the verdicts are present.
    static var isAvailable: Bool { FileManager.default.fileExists(atPath: folder + "/types.jsonl.xz") }

    /// The reason that is shown for a skipped test.
    static let skipped =
        "the sample apps' verdicts are not next to the package (KEYSHARE_ORACLE can name another folder)"

    /// One certificate with the sample apps' verdicts.
    struct Row: Decodable {
        let name: String
        /// The certificate in DER.
        let certificate: Data
        /// The type according to SampleKeyProvider2025.
        let type2025: String
        /// The type according to the legacy SampleKeyProvider.
        let legacyType: String
        /// The notBefore date in seconds since 1970.
        let notBefore: Double
        let serial: String
    }

    /// Every row, in the order of the file.
    static func rows() throws -> [Row] {
        let xz = Process()
        xz.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        xz.arguments = ["xz", "-dc", folder + "/types.jsonl.xz"]
        let output = Pipe()
        xz.standardOutput = output
        try xz.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        xz.waitUntilExit()
        try #require(xz.terminationStatus == 0, "xz does not decompress the verdicts")
        let decoder = JSONDecoder()
        return try text.split(separator: UInt8(ascii: "\n")).map { try decoder.decode(Row.self, from: $0) }
    }
}

@Suite(
    "The sample apps as an oracle", .enabled(if: Oracle.isAvailable, Comment(rawValue: Oracle.skipped)),
    .timeLimit(.minutes(10)))
struct OracleTests {
    /// A difference from the sample apps that docs/rules.md describes.
    private enum Deviation: Hashable {
        /// R5.11: for an EC key, keyAgreement counts as key encipherment.
        case keyAgreement2025, keyAgreementLegacy
        /// R5.2: a key usage without any bit counts as absent.
        case emptyKeyUsage
        /// R3.13: a serial number has two digits for each octet, even for a zero octet.
        case zeroSerial
        /// A certificate with a serial number that is not an INTEGER in DER is rejected.
        case malformedSerial
    }

    @Test("Types, dates and serial numbers match those of the sample apps, except for documented deviations")
    func verdicts() throws {
        let rows = try Oracle.rows()
        #expect(rows.count == 4_139)
        var deviations: [Deviation: Int] = [:]
        var unexplained: [String] = []
        for row in rows {
            guard let certificate = try? Certificate(der: Array(row.certificate)) else {
                if row.name.contains("serial") {
                    deviations[.malformedSerial, default: 0] += 1
                } else {
                    unexplained.append("\(row.name): refused")
                }
                continue
            }
            for (text, deviation) in differences(of: row, certificate) {
                if let deviation {
                    deviations[deviation, default: 0] += 1
                } else {
                    unexplained.append("\(row.name): \(text)")
                }
            }
        }
        #expect(unexplained.isEmpty, "\(unexplained.prefix(20).joined(separator: "\n"))")
        #expect(
            deviations == [
                .keyAgreement2025: 456, .keyAgreementLegacy: 504, .emptyKeyUsage: 39, .zeroSerial: 1,
                .malformedSerial: 3,
            ])
    }

    /// The differences between the sample apps' verdicts and ours, each with the rule that explains it, if any.
    private func differences(of row: Oracle.Row, _ certificate: Certificate) -> [(String, Deviation?)] {
        let facts = CertificateFacts(certificate)
        let agrees = facts.isEllipticCurve && facts.keyUsage?.contains(.keyAgreement) == true
        let signs = facts.keyUsage?.contains(.digitalSignature) == true
        var found: [(String, Deviation?)] = []
        let type = Classification(facts, under: .keySharing2025).type
        if type.rawValue != row.type2025 {
            let expected: CredentialType = signs ? .device : .encryption
            let samples = signs ? ["signature", "authentication"] : ["unknown"]
            let isKnown = agrees && type == expected && samples.contains(row.type2025)
            found.append(("2025 \(row.type2025) is \(type) here", isKnown ? .keyAgreement2025 : nil))
        }
        let legacy = Classification(facts, under: .legacy).type
        if legacy.rawValue != row.legacyType {
            let expected: CredentialType = signs ? .multi : .encryption
            let samples = signs ? ["signature", "authentication"] : ["unknown"]
            var deviation: Deviation?
            if agrees, legacy == expected, samples.contains(row.legacyType) {
                deviation = .keyAgreementLegacy
            } else if facts.keyUsage?.isEmpty == true, legacy == .device, row.legacyType == "unknown" {
                deviation = .emptyKeyUsage
            }
            found.append(("legacy \(row.legacyType) is \(legacy) here", deviation))
        }
        if certificate.notBefore.timeIntervalSince1970 != row.notBefore {
            found.append(("notBefore is \(certificate.notBefore.timeIntervalSince1970) here", nil))
        }
        if certificate.serialHex != row.serial {
            let isZero = row.serial == "0" && certificate.serialHex == "00"
            found.append(
                ("serial number \(row.serial) is \(certificate.serialHex) here", isZero ? .zeroSerial : nil))
        }
        return found
    }
}
