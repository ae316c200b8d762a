import Foundation
import KeySharing
import OpenSSL
import PathValidation
import PrivateFiles
import SecureMail
import SwiftASN1
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("Signers of a message", .timeLimit(.minutes(10)))
struct MessageSignerTests {
    private let scratch: ScratchFolder
    private let authority: MessageAuthority

    init() throws {
        scratch = try ScratchFolder()
        authority = try MessageAuthority()
    }

    private func read(
        _ mail: [UInt8], keys: MessageSender? = nil, securityLevel: Int = 2
    ) throws -> MessageContents {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        return try MessageReader(scratch: scratch.path, securityLevel: securityLevel) { recipient in
            keys.flatMap { recipient.isHolder(of: $0.certificate) ? ($0.certificate, $0.key) : nil }
        }.read(file.descriptor)
    }

    private func judge(
        _ mail: [UInt8], keys: MessageSender? = nil, lists: [EncodedRevocationList] = [],
        securityLevel: Int = 2, now: Date? = nil, totalTime: Duration? = nil
    ) async throws -> MessageReport {
        let contents = try read(mail, keys: keys, securityLevel: securityLevel)
        var verifier = CertificateVerifier()
        verifier.securityLevel = 2
        let validator = MessageValidator(
            verifier, pool: CertificatePool(trusted: [authority.issuer.certificate], untrusted: []),
            revocation: RevocationPool(lists: lists, isRequired: !lists.isEmpty), at: nil,
            now: now ?? Date())
        if let totalTime { validator.limits.totalTime = totalTime }
        return await validator.validate(contents)
    }

    /// The check of the first signer of a part.
    private func check(_ name: String, _ part: MessageReport.Part?) -> ValidationReport.Check? {
        part?.signers.first?.checks.first { $0.name == name }
    }

    private func signed(
        _ sender: MessageSender, at time: Date, from addresses: String = "dana@mail.example"
    ) throws -> [UInt8] {
        try MailWriter.signed(
            MailHeader([.init("From", addresses)]), MessageSender.body,
            as: (sender.certificate, sender.key), chain: [], boundary: "b", signingTime: time,
            scratch: scratch.path)
    }

    /// A message with the signers of both messages. Only the first message's signature matches the content.
    private func joined(_ mail: [UInt8], _ other: [UInt8]) throws -> [UInt8] {
        var signers: [[UInt8]] = []
        for message in [mail, other] {
            _ = try changingSignature(of: message) { fields in
                signers += try #require(fields.last.flatMap { DERElement($0) }).children
                    .map { Array($0.encoded) }
            }
        }
        return try changingSignature(of: mail) { fields in
            var serializer = DER.Serializer()
            serializer.appendConstructedNode(identifier: .set) { serializer in
                for signer in signers { serializer.serializeRawBytes(signer) }
            }
            fields[fields.count - 1] = serializer.serializedBytes
        }
    }

    @Test(
        "One mismatched signature makes a message invalid, even if another signature is valid or only expired"
    )
    func mismatch() async throws {
        let other = MailWriter.textEntity("Jello\r\n")
        let dana = try authority.sender()
        let report = try await judge(
            try joined(dana.signed(in: scratch), dana.signed(other, in: scratch)))
        let part = try #require(report.parts.first)
        #expect(part.signers.map(\.signature.outcome).contains(.sound) && part.signers.count == 2)
        #expect(!report.isValid && part.checks.first?.outcome == .failed)
        let expired = try authority.sender { $0.notAfter = authority.now - 3_600 }
        #expect(try await judge(expired.signed(in: scratch)).hasOnlyExpired)
        let both = try await judge(
            try joined(expired.signed(in: scratch), expired.signed(other, in: scratch)))
        #expect(!both.isValid && !both.hasOnlyExpired)
    }

    @Test("Signatures with the same certificate and signing time share one search for a path")
    func sharedSearch() async throws {
        let dana = try authority.sender()
        // The first search uses up the time for all searches.
        func validations(_ mail: [UInt8]) async throws -> [Bool] {
            let report = try await judge(mail, totalTime: .nanoseconds(1))
            return try #require(report.parts.first).signers.map { $0.validation != nil }
        }
        let time = authority.now - 3_600
        let mail = try signed(dana, at: time)
        #expect(try await validations(try joined(mail, signed(dana, at: time))) == [true, true])
        #expect(try await validations(try joined(mail, signed(dana, at: time - 60))) == [true, false])
    }

    @Test("Only the signer of the innermost layer is an author of the content")
    func author() async throws {
        let dana = try authority.sender()
        let stranger = try MessageAuthority().sender()
        for (inner, isValid) in [(dana, true), (stranger, false)] {
            let entity = try dana.encrypted(try inner.signed(in: scratch), .aes256GCM)
            let report = try await judge(try dana.signed(entity, in: scratch), keys: dana)
            #expect(report.parts.first?.signers.map(\.isValid) == [true, isValid])
            #expect(report.isValid == isValid)
        }
    }

    @Test("A signed part inside another signed part does not affect the verdict on the message")
    func container() async throws {
        let (dana, stranger) = (try authority.sender(), try MessageAuthority().sender())
        let inner = try stranger.signed(in: scratch)
        let report = try await judge(try dana.signed(multipart([inner], boundary: "in"), in: scratch))
        #expect(report.isValid && report.parts.map(\.isValid) == [true, false])
        #expect(report.ownParts.map(\.part.path) == [report.parts.first?.part.path])
    }

    @Test("Revocation lists in one part are not used for the other parts of the message")
    func listsOfOnePart() async throws {
        let now = authority.now
        let mail = try authority.sender().signed(in: scratch)
        let list = try authority.listDER(revoking: [[2]], at: now - 120, thisUpdate: now - 60)
        let listed = try changingSignature(of: mail) { fields in
            fields.insert(try SignedFields.lists([list]), at: fields.count - 1)
        }
        let report = try await judge(multipart([listed, mail]))
        #expect(
            report.parts.map { check("revocation", $0)?.outcome } == [.failed, .notChecked])
    }

    @Test("A list that is fetched because of a list inside a message is kept for the next message")
    func fetchedList() async throws {
        let now = authority.now
        func list(
            _ entries: [CertificateRevocationList.Entry], number: UInt8, _ item: CertificateExtension
        ) throws -> [UInt8] {
            try authority.issuer.revocationList(
                entries, thisUpdate: now - 60, nextUpdate: now + 86_400, number: [number],
                extensions: [item]
            ).der
        }
        // The URL of delta lists (freshestCRL), and a delta list that revokes the sender.
        let url: [UInt8] = [0x30, 0x12, 0x30, 0x10, 0xA0, 0x0E, 0xA0, 0x0C, 0x86, 0x0A]
        let complete = try list(
            [], number: 1, CertificateExtension(oid: "2.5.29.46", value: url + Array("http://x/d".utf8)))
        let delta = try list(
            [.init(serialNumber: [2], date: now - 120, reason: 1)], number: 2,
            CertificateExtension(oid: "2.5.29.27", isCritical: true, value: [0x02, 0x01, 0x01]))
        let mail = try changingSignature(of: authority.sender().signed(in: scratch)) { fields in
            fields.insert(try SignedFields.lists([complete]), at: fields.count - 1)
        }
        var verifier = CertificateVerifier()
        verifier.securityLevel = 2
        let validator = MessageValidator(
            verifier, pool: CertificatePool(trusted: [authority.issuer.certificate], untrusted: []),
            fetcher: MaterialFetcher { $0.url == "http://x/d" ? .arrived(delta) : .nothing("not found") },
            at: nil, now: Date())
        for _ in 1...2 {
            let part = await validator.validate(try read(mail)).parts.first
            #expect(check("revocation", part)?.outcome == .failed)
        }
    }

    @Test("The check of the sender names the first eight addresses and counts the others")
    func manyAddresses() async throws {
        for (count, end) in [(8, "u7@mail.example, but"), (10, "u7@mail.example and 2 more, but")] {
            let addresses = (0..<count).map { "u\($0)@mail.example" }.joined(separator: ", ")
            let mail = try signed(authority.sender(), at: authority.now, from: addresses)
            let sender = try #require(check("sender", try await judge(mail).parts.first))
            #expect(sender.outcome == .failed)
            #expect(
                sender.explanation.hasPrefix("From contains u0@mail.example, u1@"), "\(sender.explanation)")
            #expect(sender.explanation.contains(end), "\(sender.explanation)")
        }
    }

    @Test("A signing time may be at most five minutes ahead of the clock")
    func signingTime() async throws {
        let time = Date(timeIntervalSince1970: authority.now.timeIntervalSince1970.rounded(.down))
        let mail = try signed(authority.sender(), at: time)
        for (ahead, outcome) in [(300, Verification.Outcome.passed), (301, .failed)] {
            let report = try await judge(mail, now: time - Double(ahead))
            #expect(check("signing time", report.parts.first)?.outcome == outcome)
        }
    }

    @Test("The signing time of an altered message is not used")
    func alteredTime() async throws {
        let mail = String(
            decoding: try signed(authority.sender(), at: authority.now - 86_400), as: UTF8.self)
        let report = try await judge(Array(mail.replacing("Hello", with: "Jello").utf8))
        #expect(check("signature", report.parts.first)?.outcome == .failed)
        #expect(check("signing time", report.parts.first)?.outcome == .notChecked)
        let date = try #require(report.parts.first?.signers.first?.date)
        #expect(date > authority.now - 3_600)
    }

    @Test("A revocation known at the signing time remains if the current status is unknown")
    func unsettledLater() async throws {
        let now = authority.now
        let mail = try authority.sender().signed(in: scratch)
        // The list expires 30 days after its date.
        let list = try authority.list(revoking: [[2]], at: now - 7_200, thisUpdate: now - 3_600)
        let report = try await judge(mail, lists: [list], now: now + 60 * 86_400)
        #expect(check("revocation", report.parts.first)?.outcome == .failed)
    }

    @Test("A signature below the security level does not authenticate the content")
    func weakness() async throws {
        let mail = try authority.sender().signed(in: scratch)
        #expect(try await judge(mail).isValid)
        // A P-256 key has 128 bits of security, and level 4 requires 192.
        let report = try await judge(mail, securityLevel: 4)
        #expect(report.parts.first?.signers.first?.signature.outcome == .sound)
        #expect(!report.isValid && check("signature", report.parts.first)?.outcome == .failed)
    }
}
