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
    /// The cases whose signer's key is in the corpora and can sign messages. The certificate of 4.1.5 inherits its DSA
    /// parameters, which OpenSSL does not support.
    static let cases = PKITS.cases.filter {
        $0.test != "4.1.5" && FileManager.default.fileExists(atPath: key($0))
    }

    /// The file with the key of the signer.
    static func key(_ item: PKITS.Case) -> String {
        "\(Corpora.folder)/nist-pkits/\(item.certificates.last ?? "").p12"
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
    func verdict(_ item: PKITS.Case) async throws {
        let certificates = try item.readCertificates()
        let leaf = certificates[certificates.count - 1]
        let bytes = try Data(contentsOf: URL(fileURLWithPath: PKITSMessages.key(item)))
        let file = try PKCS12.read(Array(bytes), password: .text(SecretBytes(utf8: "password")))
        let key = try #require(file.identities.first).privateKey
        let address = MailAddress.addresses(in: leaf).first?.description ?? "test@mail.example"
        let mail = try UnnamedFile(in: scratch.path)
        try mail.write(
            MailWriter.signed(
                MailHeader([.init("From", address)]), MailWriter.textEntity("Hello\r\n"), as: (leaf, key),
                chain: [], boundary: "b", scratch: scratch.path))
        let report = await MessageValidator(
            item.verifier, pool: PKITS.Case.pool(certificates),
            revocation: RevocationPool(lists: try item.readLists()), at: PKITS.date, now: PKITS.date
        ).validate(
            try MessageReader(scratch: scratch.path, securityLevel: 0) { _ in nil }.read(mail.descriptor))
        #expect(report.isValid == item.valid, "\(report.parts.flatMap(\.signers).flatMap(\.checks))")
        #expect(report.parts.first?.signers.first?.signature.outcome == .sound)
    }
}
