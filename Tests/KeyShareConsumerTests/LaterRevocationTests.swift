import Foundation
import KeySharing
import OpenSSL
import PathValidation
import PrivateFiles
import SecureMail
import TestSupport
import Testing

@testable import KeyShareConsumer

/// A certificate that was revoked after the signing time, in messages whose sender added certificates.
@Suite("Revocations after the signing time", .timeLimit(.minutes(10)))
struct LaterRevocationTests {
    private let scratch: ScratchFolder
    private let root: MessageAuthority
    /// An authority below ``root``, and its sender.
    private let authority: CertificateIssuer
    private let sender: MessageSender
    private let now = Date()
    private var signingTime: Date { now - 100 * 86_400 }

    init() throws {
        scratch = try ScratchFolder()
        root = try MessageAuthority()
        authority = try Self.authority(below: root.issuer)
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "EXAMPLE.DANA.1234567890")]), serialNumber: [2],
            notBefore: now - 200 * 86_400, notAfter: now + 200 * 86_400)
        template.keyUsage = [.digitalSignature]
        template.subjectAlternativeNames = [.rfc822Name("dana@mail.example")]
        let key = try PrivateKey.generate(.p256)
        sender = MessageSender(certificate: try authority.issue(template, to: key), key: key)
    }

    /// Creates a certificate of an authority with the name of ``authority``.
    private static func authority(
        below issuer: CertificateIssuer, key: PrivateKey? = nil, serial: UInt8 = 3,
        notBefore: Date = Date() - 300 * 86_400
    ) throws -> CertificateIssuer {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "Test Email Authority")]), serialNumber: [serial],
            notBefore: notBefore, notAfter: Date() + 300 * 86_400)
        template.basicConstraints = .init(isCertificateAuthority: true)
        template.keyUsage = [.keyCertSign, .cRLSign]
        let key = try key ?? PrivateKey.generate(.p256)
        return CertificateIssuer(certificate: try issuer.issue(template, to: key), privateKey: key)
    }

    /// The lists at the signing time and now. The newer one revokes the sender.
    private func lists(of issuer: CertificateIssuer) throws -> [EncodedRevocationList] {
        let entry = CertificateRevocationList.Entry(serialNumber: [2], date: now - 50 * 86_400)
        return try [(signingTime - 86_400, []), (now - 86_400, [entry])].map { date, entries in
            try EncodedRevocationList(
                der: issuer.revocationList(
                    entries, thisUpdate: date, nextUpdate: date + 30 * 86_400, number: [1]
                ).der)
        }
    }

    /// The responses of ``authority`` at the signing time and now. The newer one revokes the sender.
    private func responses() throws -> [StatusResponse] {
        let revoked = CertificateStatus.revoked(now - 50 * 86_400, reason: 1)
        return try [(signingTime - 86_400, CertificateStatus.good), (now - 86_400, revoked)].map {
            date, status in
            let request = try StatusClient.request([[2]], of: authority.certificate.der)
            return try StatusResponse(
                der: authority.statusResponse(
                    to: OCSPRequest(der: request), thisUpdate: date, nextUpdate: date + 30 * 86_400
                ) { _ in status })
        }
    }

    /// The check of revocation for a message with these certificates.
    private func check(
        _ chain: [Certificate], trusted: [CertificateIssuer], lists: [EncodedRevocationList] = [],
        responses: [StatusResponse] = [], enclosed: [[UInt8]] = [], steps: Int? = nil
    ) async throws -> ValidationReport.Check? {
        var mail = try MailWriter.signed(
            MailHeader([.init("From", "dana@mail.example")]), MessageSender.body,
            as: (sender.certificate, sender.key), chain: chain, boundary: "b", signingTime: signingTime,
            scratch: scratch.path)
        if !enclosed.isEmpty {
            mail = try changingSignature(of: mail) { fields in
                fields.insert(try SignedFields.lists(enclosed), at: fields.count - 1)
            }
        }
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        let contents = try MessageReader(scratch: scratch.path) { _ in nil }.read(file.descriptor)
        let pool = CertificatePool(trusted: trusted.map(\.certificate), untrusted: [])
        let validator = MessageValidator(
            CertificateVerifier(), pool: pool,
            revocation: RevocationPool(lists: lists, responses: responses, isRequired: true),
            at: nil, now: now)
        if let steps { validator.limits.steps = steps }
        return await validator.validate(contents).parts.first?.signers.first?.checks
            .first { $0.name == Verification.Kind.revocation.words }
    }

    @Test("Certificates that lengthen the search at the current time cannot hide a later revocation")
    func limit() async throws {
        let responses = try responses()
        let honest = try await check(
            [authority.certificate], trusted: [root.issuer], responses: responses, steps: 10)
        #expect(honest?.outcome == .failed, "\(String(describing: honest))")
        // Dead ends, which are not valid yet at the signing time and therefore tried last.
        let unknown = try MessageAuthority()
        let others = try (0..<40).map {
            try Self.authority(
                below: unknown.issuer, key: authority.privateKey, serial: $0 + 10,
                notBefore: now - 90 * 86_400
            ).certificate
        }
        let flooded = try await check(
            [authority.certificate] + others, trusted: [root.issuer], responses: responses, steps: 10)
        #expect(flooded?.outcome == .unsettled, "\(String(describing: flooded))")
        #expect(flooded?.explanation == "a limit ended the search for paths (at the current time)")
    }

    @Test(
        "A list inside the message settles revocation at the signing time only if the current status is settled"
    )
    func oldListInMessage() async throws {
        func list(at date: Date, number: UInt8) throws -> [UInt8] {
            try authority.revocationList(
                [], thisUpdate: date, nextUpdate: date + 30 * 86_400, number: [number]
            ).der
        }
        let old = try list(at: signingTime - 86_400, number: 1)
        let current = try list(at: now - 86_400, number: 2)
        for (enclosed, lists, outcome) in [
            ([old], [], .unsettled), ([old, current], [], .passed), ([old], [current], .passed),
        ] as [([[UInt8]], [[UInt8]], Verification.Outcome)] {
            let check = try await check(
                [authority.certificate], trusted: [root.issuer],
                lists: lists.map { try EncodedRevocationList(der: $0) }, enclosed: enclosed)
            #expect(check?.outcome == outcome, "\(String(describing: check))")
        }
    }

    @Test("A path to an anchor on which the lists do not count cannot hide a later revocation")
    func otherAnchor() async throws {
        let other = try MessageAuthority()
        let cross = try Self.authority(below: other.issuer, key: authority.privateKey, serial: 4)
        // Only the first root certified the signer of the lists, which has another key than the authority.
        let signer = try Self.authority(below: root.issuer, serial: 5)
        let lists = try lists(of: signer)
        for chain in [[authority, signer], [authority, signer, cross], [cross, signer, authority]] {
            let check = try await check(
                chain.map(\.certificate), trusted: [root.issuer, other.issuer], lists: lists)
            #expect(check?.outcome == .failed, "\(String(describing: check))")
            #expect(check?.explanation.contains("certificate revoked") == true)
        }
    }
}
