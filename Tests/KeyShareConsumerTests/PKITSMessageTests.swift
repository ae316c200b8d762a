import Foundation
import OpenSSL
import PathValidation
import PrivateFiles
import SecretMemory
import SecureMail
import TestSupport
import Testing

@testable import KeyShareConsumer

/// Messages signed with the keys of NIST's Public Key Interoperability Test Suite, if it is in the corpora.
enum PKITSMessages {
    struct Case: Decodable, CustomTestStringConvertible {
        let test: String
        let certificates: [String]
        let crls: [String]
        let policies: [String]
        let explicitPolicy: Bool
        let inhibitPolicyMapping: Bool
        let inhibitAnyPolicy: Bool
        let valid: Bool

        var testDescription: String { test }
        var leaf: String { certificates[certificates.count - 1] }
    }

    static let folder = Corpora.folder + "/pkits-path"

    /// The cases whose signer's key is in the corpora and can sign messages.
    static let cases: [Case] = {
        guard let data = FileManager.default.contents(atPath: folder + "/cases.json") else { return [] }
        // The certificate of 4.1.5 inherits its DSA parameters, which OpenSSL does not support.
        return ((try? JSONDecoder().decode([Case].self, from: data)) ?? []).filter {
            $0.test != "4.1.5" && FileManager.default.fileExists(atPath: key($0.leaf))
        }
    }()

    static func key(_ name: String) -> String { Corpora.folder + "/nist-pkits/\(name).p12" }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    static func certificate(_ name: String) throws -> Certificate {
        try Certificate(der: bytes("\(folder)/certs/\(name).crt"))
    }
}

@Suite(
    "NIST PKITS as signed messages",
    .enabled(if: !PKITSMessages.cases.isEmpty, Comment(rawValue: Corpora.skipped)), .timeLimit(.minutes(10)))
struct PKITSMessageTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    @Test(
        "The verdict on a message matches the suite's verdict on its signer", arguments: PKITSMessages.cases)
    func verdict(_ item: PKITSMessages.Case) async throws {
        let certificates = try item.certificates.map(PKITSMessages.certificate)
        let leaf = certificates[certificates.count - 1]
        let file = try PKCS12.read(
            PKITSMessages.bytes(PKITSMessages.key(item.leaf)), password: .text(SecretBytes(utf8: "password")))
        let key = try #require(file.identities.first).privateKey
        let address = MailAddress.addresses(in: leaf).first?.description ?? "test@mail.example"
        let mail = try UnnamedFile(in: scratch.path)
        try mail.write(
            MailWriter.signed(
                MailHeader([.init("From", address)]), MailWriter.textEntity("Hello\r\n"), as: (leaf, key),
                chain: [], boundary: "b", scratch: scratch.path))
        var verifier = CertificateVerifier()
        verifier.securityLevel = 0
        if item.policies != ["2.5.29.32.0"] { verifier.acceptedPolicies = item.policies }
        verifier.requiresExplicitPolicy = item.explicitPolicy
        verifier.inhibitsPolicyMapping = item.inhibitPolicyMapping
        verifier.inhibitsAnyPolicy = item.inhibitAnyPolicy
        let lists = try item.crls.map {
            try EncodedRevocationList(der: PKITSMessages.bytes("\(PKITSMessages.folder)/crls/\($0).crl"))
        }
        // 2011-04-15, at which the suite's certificates are valid.
        let date = Date(timeIntervalSince1970: 1_302_825_600)
        let report = await MessageValidator(
            verifier,
            pool: CertificatePool(
                trusted: [certificates[0]], untrusted: Array(certificates.dropFirst().dropLast())),
            revocation: RevocationPool(lists: lists), at: date, now: date
        ).validate(
            try MessageReader(scratch: scratch.path, securityLevel: 0) { _ in nil }.read(mail.descriptor))
        #expect(report.isValid == item.valid, "\(report.parts.flatMap(\.signers).flatMap(\.checks))")
        #expect(report.parts.first?.signers.first?.signature.outcome == .sound)
    }
}
