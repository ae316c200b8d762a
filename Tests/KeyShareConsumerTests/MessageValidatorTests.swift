import Foundation
import KeySharing
import OpenSSL
import PathValidation
import PrivateFiles
import SecureMail
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("Verdicts about messages", .timeLimit(.minutes(10)))
struct MessageValidatorTests {
    private let scratch: ScratchFolder
    private let authority: MessageAuthority

    init() throws {
        scratch = try ScratchFolder()
        authority = try MessageAuthority()
    }

    private func judge(
        _ mail: [UInt8], keys: MessageSender? = nil, lists: [EncodedRevocationList] = [],
        certificates: [Certificate] = [], fetcher: MaterialFetcher? = nil, at date: Date? = nil,
        now: Date? = nil, limits: PathLimits = PathLimits()
    ) async throws -> MessageReport {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        let contents = try MessageReader(scratch: scratch.path, certificates: certificates) { recipient in
            keys.flatMap { recipient.isHolder(of: $0.certificate) ? ($0.certificate, $0.key) : nil }
        }.read(file.descriptor)
        var verifier = CertificateVerifier()
        verifier.securityLevel = 2
        let validator = MessageValidator(
            verifier, pool: CertificatePool(trusted: [authority.issuer.certificate], untrusted: []),
            revocation: RevocationPool(lists: lists, isRequired: !lists.isEmpty), fetcher: fetcher, at: date,
            now: now ?? Date())
        validator.limits = limits
        return await validator.validate(contents)
    }

    /// The outcome of a check of the first signer of the first part.
    private func outcome(_ name: String, _ report: MessageReport) -> Verification.Outcome? {
        report.parts.first?.signers.first?.checks.first { $0.name == name }?.outcome
    }

    private func partOutcome(_ name: String, _ report: MessageReport) -> Verification.Outcome? {
        report.parts.first?.checks.first { $0.name == name }?.outcome
    }

    @Test("A message is valid if the person in From signed it and the signer's path is valid")
    func valid() async throws {
        let report = try await judge(try authority.sender().signed(in: scratch))
        #expect(report.isValid && !report.hasOnlyExpired)
        for name in ["signature", "signing time", "chain", "validity", "key usage", "sender"] {
            #expect(outcome(name, report) == .passed, "\(name)")
        }
        #expect(partOutcome("headers", report) == .notChecked)
    }

    @Test("An altered message is invalid, and its path is judged nevertheless")
    func altered() async throws {
        let mail = String(decoding: try authority.sender().signed(in: scratch), as: UTF8.self)
        let report = try await judge(Array(mail.replacing("Hello", with: "Jello").utf8))
        #expect(!report.isValid && outcome("signature", report) == .failed)
        #expect(outcome("chain", report) == .passed && partOutcome("signed", report) == .failed)
    }

    @Test(
        "A signer without a trusted path, and a signer whose certificate is for another purpose, are invalid")
    func wrongSigner() async throws {
        let stranger = try await judge(try MessageAuthority().sender().signed(in: scratch))
        #expect(!stranger.isValid && outcome("chain", stranger) == .failed)
        let server = try authority.sender { $0.extendedKeyUsage = [ExtendedKeyUsage.clientAuthentication] }
        let report = try await judge(try server.signed(in: scratch))
        #expect(!report.isValid && outcome("extended key usage", report) == .failed)
        let encryption = try authority.sender { $0.keyUsage = .keyAgreement }
        let unusable = try await judge(try encryption.signed(in: scratch))
        #expect(!unusable.isValid && outcome("key usage", unusable) == .failed)
    }

    @Test(
        "From must contain only addresses of the signer",
        arguments: [
            ("dana@mail.example", Verification.Outcome.passed), ("<dana@MAIL.Example>", .passed),
            ("Dana@mail.example", .failed), ("\"dana@mail.example\" <eve@mail.example>", .failed),
            ("dana@mail.example, eve@mail.example", .failed), ("nobody", .failed),
            ("a@m.example\r\nFrom: dana@mail.example", .failed),
            ("dana@mail.example\r\nFrom: a@m.example", .failed),
        ])
    func sender(_ from: String, _ expected: Verification.Outcome) async throws {
        let report = try await judge(try authority.sender().signed(from: from, in: scratch))
        #expect(outcome("sender", report) == expected)
        #expect(report.isValid == (expected == .passed))
    }

    @Test("A CR or NUL that ends lines for some programs makes the structure and the sender invalid")
    func strayLineEnds() async throws {
        let mail = try authority.sender().signed(in: scratch)
        for field in ["X: a\rFrom: eve@mail.example\r\n", "X: a\0\r\n"] {
            let report = try await judge(Array(field.utf8) + mail)
            #expect(!report.isValid && outcome("sender", report) == .failed, "\(field.debugDescription)")
            #expect(report.checks.map(\.name) == ["structure"] && report.checks[0].outcome == .failed)
        }
        let hidden = "x\r--outer\rContent-Type: text/html\r\r<b>x</b>\r--outer--\r\r\n"
        let list = String(decoding: multipart([mail]), as: UTF8.self)
            .replacing("\r\n\r\n--outer\r\n", with: "\r\n\r\n\(hidden)--outer\r\n")
        let report = try await judge(Array(list.utf8))
        #expect(!report.isValid && report.checks[0].outcome == .failed)
        #expect(outcome("sender", report) == .passed)
    }

    @Test("SmtpUTF8Mailbox names a sender, and a certificate without addresses leaves the sender unchecked")
    func senderNames() async throws {
        let mailbox = GeneralName.otherName(
            type: OID.smtpUTF8Mailbox, value: .utf8String("d\u{E4}na@xn--bcher-kva.example"))
        let sender = try authority.sender([mailbox])
        #expect(
            try await judge(try sender.signed(from: "d\u{E4}na@b\u{FC}cher.example", in: scratch)).isValid)
        #expect(
            try await !judge(try sender.signed(from: "d\u{C4}na@b\u{FC}cher.example", in: scratch)).isValid)
        for (count, expected) in [(1_000, Verification.Outcome.passed), (1_001, .unsettled)] {
            let names = [GeneralName](repeating: .rfc822Name("dana@mail.example"), count: count)
            let report = try await judge(try authority.sender(names).signed(in: scratch))
            #expect(outcome("sender", report) == expected)
        }
        // The address with a blank is another one (RFC 9598, 5).
        for blank in ["dana\u{A0}", "\u{3000}dana", "dana\u{200B}"] {
            let other = GeneralName.otherName(
                type: OID.smtpUTF8Mailbox, value: .utf8String(blank + "@mail.example"))
            let report = try await judge(try authority.sender([other]).signed(in: scratch))
            #expect(!report.isValid && outcome("sender", report) == .failed, "\(blank)")
        }
        let nameless = try await judge(try authority.sender([]).signed(in: scratch))
        #expect(nameless.isValid && outcome("sender", nameless) == .notChecked)
    }

    @Test("A signer is validated at the signing time, or at a given date")
    func dates() async throws {
        let now = authority.now
        let mail = try authority.sender { $0.notAfter = now + 3_600 }.signed(in: scratch)
        // The certificate has expired since, but not when the message was signed.
        #expect(try await judge(mail, now: now + 7_200).isValid)
        let report = try await judge(mail, at: now + 7_200)
        #expect(!report.isValid && report.hasOnlyExpired && outcome("validity", report) == .failed)
        #expect(outcome("signing time", report) == .notChecked)
        let future = try await judge(mail, now: now - 86_400)
        #expect(!future.isValid && outcome("signing time", future) == .failed)
        let expired = try await judge(try authority.sender { $0.notAfter = now - 3_600 }.signed(in: scratch))
        #expect(!expired.isValid && expired.hasOnlyExpired)
        // An expired certificate and another sender.
        let both = try await judge(
            try authority.sender { $0.notAfter = now - 3_600 }.signed(from: "eve@mail.example", in: scratch))
        #expect(!both.isValid && !both.hasOnlyExpired)
    }

    @Test(
        "A list that is newer than the message settles revocation, including revocations after the signing time"
    )
    func revocation() async throws {
        let now = authority.now
        let mail = try authority.sender().signed(in: scratch)
        let later = now + 86_400
        func verdict(_ serials: [[UInt8]], at date: Date, thisUpdate: Date) async throws -> MessageReport {
            let list = try authority.list(revoking: serials, at: date, thisUpdate: thisUpdate)
            return try await judge(mail, lists: [list], now: later + 3_600)
        }
        #expect(try await verdict([], at: now, thisUpdate: now - 3_600).isValid)
        #expect(try await verdict([], at: now, thisUpdate: later).isValid)
        for (date, thisUpdate) in [(now - 7_200, now - 3_600), (now - 7_200, later), (now + 3_600, later)] {
            let report = try await verdict([[2]], at: date, thisUpdate: thisUpdate)
            #expect(!report.isValid && outcome("revocation", report) == .failed)
        }
        let missing = try await judge(
            mail, lists: [try MessageAuthority().list(revoking: [], at: now, thisUpdate: now - 60)])
        #expect(!missing.isValid && outcome("revocation", missing) == .unsettled)
    }

    @Test("Revocation lists in the message are used, but do not require that the status is known")
    func listsInside() async throws {
        let now = authority.now
        let mail = try authority.sender().signed(in: scratch)
        func verdict(_ list: [UInt8]) async throws -> MessageReport {
            try await judge(
                try changingSignature(of: mail) { fields in
                    fields.insert(try SignedFields.lists([list]), at: fields.count - 1)
                })
        }
        #expect(outcome("revocation", try await judge(mail)) == .notChecked)
        let good = try await verdict(try authority.listDER(revoking: [], at: now, thisUpdate: now - 60))
        #expect(good.isValid && outcome("revocation", good) == .passed)
        let revoked = try await verdict(
            try authority.listDER(revoking: [[2]], at: now - 120, thisUpdate: now - 60))
        #expect(!revoked.isValid && outcome("revocation", revoked) == .failed)
        // A list that is out of date can revoke, but has no other effect.
        for (serials, expected): ([[UInt8]], Verification.Outcome) in [([[2]], .failed), ([], .notChecked)] {
            let outdated = try await verdict(
                try authority.listDER(revoking: serials, at: now - 7_200, thisUpdate: now - 3_600, life: 60))
            #expect(outcome("revocation", outdated) == expected)
            #expect(outdated.isValid == serials.isEmpty)
        }
        // Another authority cannot revoke the certificate, and its list settles nothing.
        let other = try await verdict(
            try MessageAuthority().listDER(revoking: [[2]], at: now - 120, thisUpdate: now - 60))
        #expect(outcome("revocation", other) != .passed)
        // The list of one message is not used for the next one.
        #expect(outcome("revocation", try await judge(mail)) == .notChecked)
    }

    @Test("An old list in the message does not hide a later revocation on a list of the caller")
    func oldListInside() async throws {
        let (now, later) = (authority.now, authority.now + 86_400)
        let old = try authority.listDER(revoking: [], at: now, thisUpdate: now - 60)
        let mail = try changingSignature(of: try authority.sender().signed(in: scratch)) { fields in
            fields.insert(try SignedFields.lists([old]), at: fields.count - 1)
        }
        let revoking = try authority.list(revoking: [[2]], at: now + 3_600, thisUpdate: now + 7_200)
        let revoked = try await judge(mail, lists: [revoking], now: later)
        #expect(!revoked.isValid && outcome("revocation", revoked) == .failed)
        let current = try authority.list(revoking: [], at: now, thisUpdate: now + 7_200)
        #expect(try await judge(mail, lists: [current], now: later).isValid)
        // A list that is out of date can revoke, but settles nothing else.
        for (serials, expected): ([[UInt8]], Verification.Outcome) in [([[2]], .failed), ([], .passed)] {
            let expired = try authority.list(
                revoking: serials, at: now + 3_600, thisUpdate: now + 7_200, life: 60)
            let report = try await judge(mail, lists: [expired], at: later, now: later)
            #expect(outcome("revocation", report) == expected)
        }
        #expect(try await judge(mail, now: later).isValid)
    }

    @Test("An old list in the message does not prevent fetching the list that revokes the signer")
    func oldListInsideAndFetching() async throws {
        let (now, later) = (authority.now, authority.now + 86_400)
        let url = "http://pki.example/list.crl"
        let sender = try authority.sender { $0.revocationListURLs = [url] }
        let old = try authority.listDER(revoking: [], at: now, thisUpdate: now - 60)
        let mail = try changingSignature(of: try sender.signed(in: scratch)) { fields in
            fields.insert(try SignedFields.lists([old]), at: fields.count - 1)
        }
        let revoking = try authority.listDER(revoking: [[2]], at: now + 3_600, thisUpdate: now + 7_200)
        for answer in [FetchAnswer.arrived(revoking), .nothing("nothing is there")] {
            var requested: [String] = []
            let fetcher = MaterialFetcher { request in
                requested.append(request.url)
                return answer
            }
            let report = try await judge(mail, fetcher: fetcher, at: later, now: later)
            #expect(requested == [url])
            // If no list arrives, the one in the message settles the question.
            guard case .arrived = answer else {
                #expect(report.isValid)
                continue
            }
            #expect(!report.isValid && outcome("revocation", report) == .failed)
        }
    }

    @Test("A signer whose certificate is missing is looked up among other certificates")
    func missingCertificate() async throws {
        let sender = try authority.sender()
        let mail = try changingSignature(of: try sender.signed(in: scratch)) { fields in
            // certificates [0] IMPLICIT (RFC 5652, 5.1)
            fields.removeAll { $0.first == 0xA0 }
        }
        let missing = try await judge(mail)
        #expect(!missing.isValid && outcome("signature", missing) == .unsettled)
        #expect(try await judge(mail, certificates: [sender.certificate]).isValid)
        let stranger = try authority.sender(serial: [9])
        #expect(
            outcome("signature", try await judge(mail, certificates: [stranger.certificate])) == .unsettled)
    }

    @Test("An encrypted message needs a signature inside, and names what detects alterations")
    func encryption() async throws {
        let sender = try authority.sender()
        let signed = try sender.signed(in: scratch)
        for cipher in [ContentCipher.aes256CBC, .aes256GCM] {
            let inside = try await judge(try sender.encrypted(signed, cipher), keys: sender)
            #expect(inside.isValid && partOutcome("encryption", inside) == .passed)
            // Anyone can sign an encrypted message of another person.
            let outside = try await judge(
                try sender.signed(try sender.encrypted(MessageSender.body, cipher), in: scratch), keys: sender
            )
            #expect(!outside.isValid && partOutcome("signed", outside) == .failed)
            let unsigned = try await judge(try sender.encrypted(MessageSender.body, cipher), keys: sender)
            #expect(!unsigned.isValid)
            #expect(partOutcome("encryption", unsigned) == (cipher == .aes256GCM ? .passed : .failed))
        }
        let locked = try await judge(try sender.encrypted(signed, .aes256GCM))
        #expect(!locked.isValid && partOutcome("signed", locked) == .unsettled)
    }

    @Test(
        "A footer does not affect the verdict and is listed, but HTML next to an encrypted part is an error")
    func structure() async throws {
        let sender = try authority.sender()
        let signed = try sender.signed(in: scratch)
        let footer = Array("Content-Type: text/plain\r\n\r\nUnsubscribe.\r\n".utf8)
        let html = Array("Content-Type: text/html\r\n\r\n<img src=\"https://eve.example/\r\n".utf8)
        let list = try await judge(multipart([signed, footer]))
        #expect(list.isValid && list.unprotected.map(\.path) == ["2"])
        let encrypted = try sender.encrypted(signed, .aes256CBC)
        #expect(try await judge(multipart([encrypted, footer]), keys: sender).isValid)
        let efail = try await judge(multipart([html, encrypted, html]), keys: sender)
        #expect(!efail.isValid && efail.checks.first?.outcome == .failed && efail.parts[0].isValid)
        #expect(try await judge(multipart([html, signed])).isValid)
        let plain = try await judge(multipart([footer]))
        #expect(!plain.isValid && plain.checks.first?.outcome == .failed)
    }

    @Test(
        "Only plain text and signatures are accepted next to an encrypted part",
        arguments: [
            ("Content-Type: text/plain; charset=utf-8 (x)", false), ("Subject: x", true),
            ("Content-Type: text/plain\r\nContent-Disposition: inline; filename=footer.TXT", true),
            ("Content-Type: application/pgp-signature; name=\"signature.asc\"", true),
            ("Content-Type: text/html", false), ("Content-Type: text/html (x)", false),
            ("Content-Type: (x) text/html", false), ("Content-Type: text / html", false),
            ("Content-Type: text/html charset=utf-8", false), ("Content-Type : text/html", false),
            ("Content-Type: text/html, text/plain", false), ("X!: 1\r\nContent-Type: text/html", false),
            ("Content-Type: text/plain\r\nContent-Type: text/html", false),
            ("Content-Type:\ttext/html\0", false), ("Content-Type: image/x; name=a.html", false),
            ("Content-Type: text/plain; name=a.html", false), ("Content-Type: multipart/mixed", false),
            ("Content-Type: text/plain; name*0=a.txt; name*1=.html", false),
            ("Content-Type: text/plain\r\nContent-Disposition: inline; filename*=utf-8''a%2Ehtml", false),
            ("\u{FC}: 1\r\nContent-Type: text/html", false),
            ("Content-Type: multipart/digest; boundary=d", true),
        ])
    func partsNextToEncryption(_ header: String, _ isAccepted: Bool) async throws {
        let sender = try authority.sender()
        let encrypted = try sender.encrypted(try sender.signed(in: scratch), .aes256CBC)
        let other = Array("\(header)\r\n\r\n--d\r\n\r\nFrom: a\r\n--d--\r\n".utf8)
        let report = try await judge(multipart([other, encrypted]), keys: sender)
        #expect(report.isValid == isAccepted && report.parts[0].isValid)
        #expect(report.checks.first?.outcome == (isAccepted ? .passed : .failed))
    }

    @Test("A part that mail programs could show instead of the signed one is an error")
    func alternatives() async throws {
        let signed = try authority.sender().signed(in: scratch)
        let html = Array("Content-Type: text/html\r\n\r\n<p>other\r\n".utf8)
        let text = Array("Content-Type: text/plain\r\n\r\nother\r\n".utf8)
        for type in ["alternative", "related"] {
            for parts in [[signed, html], [html, signed], [signed, text]] {
                for mail in [
                    multipart(parts, type: type),
                    multipart([multipart(parts, boundary: "in", type: type), text]),
                    multipart([multipart(parts, boundary: "in"), text], type: type),
                ] {
                    let report = try await judge(mail)
                    #expect(!report.isValid && report.checks.first?.outcome == .failed)
                }
            }
            let hidden = Array("X: 1\rContent-Type: multipart/\(type); boundary=outer\r\n".utf8)
            #expect(try await !judge(hidden + multipart([signed, html])).isValid)
            #expect(try await judge(multipart([signed], type: type)).isValid)
            // A footer in two forms.
            let footer = multipart([text, html], boundary: "in", type: type)
            #expect(try await judge(multipart([signed, footer])).isValid)
        }
    }

    @Test("The verdict on a forwarded message does not affect the verdict on the message around it")
    func forwards() async throws {
        let (dana, eve) = (
            try authority.sender(), try authority.sender([.rfc822Name("eve@mail.example")], serial: [3])
        )
        let inner =
            Array("Content-Type: message/rfc822\r\n\r\n".utf8)
            + (try eve.signed(from: "eve@mail.example", in: scratch))
        let footer = Array("\r\nSee below.\r\n".utf8)
        let unsigned = try await judge(multipart([footer, inner]))
        #expect(!unsigned.isValid && unsigned.parts.map(\.part.path) == ["2.1"] && unsigned.parts[0].isValid)
        let signed = try await judge(
            try dana.signed(multipart([footer, inner], boundary: "in"), in: scratch))
        #expect(signed.isValid && signed.parts.map(\.isValid) == [true, true])
        let wrong = String(decoding: inner, as: UTF8.self).replacing("Hello", with: "Jello")
        let forged = try await judge(
            try dana.signed(multipart([footer, Array(wrong.utf8)], boundary: "in"), in: scratch))
        #expect(forged.isValid && forged.parts.map(\.isValid) == [true, false])
    }

    @Test("The protected From field is compared with the signer, and a different one outside is an error")
    func protectedFrom() async throws {
        let sender = try authority.sender()
        let payload = { (from: String) in
            Array("From: \(from)\r\nContent-Type: text/plain; hp=\"clear\"\r\n\r\nHi\r\n".utf8)
        }
        #expect(try await judge(try sender.signed(payload("dana@mail.example"), in: scratch)).isValid)
        let forged = try await judge(
            try sender.signed(payload("dana@mail.example"), from: "eve@mail.example", in: scratch))
        #expect(!forged.isValid && partOutcome("headers", forged) == .failed)
        #expect(outcome("sender", forged) == .passed)
        #expect(forged.from == "dana@mail.example")
        let inner = try await judge(try sender.signed(payload("eve@mail.example"), in: scratch))
        #expect(!inner.isValid && outcome("sender", inner) == .failed)
    }

    @Test("If only other fields are protected, From outside is compared with the signer")
    func protectedSubject() async throws {
        let sender = try authority.sender()
        let payload = Array(
            "Subject: x\r\nContent-Type: text/plain; protected-headers=\"v1\"\r\n\r\nHi\r\n".utf8)
        let report = try await judge(try sender.signed(payload, in: scratch))
        #expect(report.isValid && outcome("sender", report) == .passed)
        #expect(partOutcome("headers", report) == .passed)
        let forged = try await judge(try sender.signed(payload, from: "eve@mail.example", in: scratch))
        #expect(!forged.isValid && outcome("sender", forged) == .failed)
    }

    @Test("A From field with other addresses outside is an error, even if HP-Outer records it")
    func recordedFrom() async throws {
        let sender = try authority.sender()
        func verdict(_ outer: String, isEncrypted: Bool) async throws -> MessageReport {
            let record = "HP-Outer: From: \(outer.replacing("\r\n", with: "\r\nHP-Outer: "))\r\n"
            let payload =
                "From: dana@mail.example\r\n\(record)Content-Type: text/plain; hp=\"cipher\"\r\n\r\nHi\r\n"
            let signed = try sender.signed(Array(payload.utf8), from: outer, in: scratch)
            guard isEncrypted else { return try await judge(signed) }
            return try await judge(
                try sender.encrypted(signed, .aes256GCM, from: outer), keys: sender)
        }
        for isEncrypted in [false, true] {
            for outer in [
                "eve@mail.example", "dana@mail.example, eve@mail.example",
                "=?utf-8?Q?dana=40mail.example?=", "dana@mail.example\r\nFrom: eve@mail.example",
            ] {
                let report = try await verdict(outer, isEncrypted: isEncrypted)
                #expect(!report.isValid && partOutcome("headers", report) == .failed, "\(outer)")
            }
            #expect(try await verdict("Dana <dana@mail.example>", isEncrypted: isEncrypted).isValid)
            #expect(try await verdict("dana@mail.example", isEncrypted: isEncrypted).isValid)
        }
    }

    @Test("If no time is left for path searches, the chain is unsettled and the message is invalid")
    func outOfTime() async throws {
        let mail = try authority.sender().signed(in: scratch)
        var limits = PathLimits()
        limits.totalTime = .zero
        let report = try await judge(mail, limits: limits)
        #expect(!report.isValid && !report.hasOnlyExpired)
        #expect(outcome("chain", report) == .unsettled && outcome("sender", report) == .passed)
        #expect(report.parts.first?.signers.first?.validation == nil)
    }

    @Test("If the time ends after the first path search, revocation is unsettled unless it already failed")
    func outOfTimeLater() async throws {
        let now = authority.now
        let mail = try authority.sender().signed(in: scratch)
        let list = try authority.list(revoking: [[2]], at: now - 7_200, thisUpdate: now - 3_600)
        var limits = PathLimits()
        limits.totalTime = .nanoseconds(1)
        for (lists, expected): ([EncodedRevocationList], Verification.Outcome) in [
            ([], .unsettled), ([list], .failed),
        ] {
            let report = try await judge(mail, lists: lists, now: now + 3_600, limits: limits)
            #expect(!report.isValid && outcome("revocation", report) == expected)
        }
        #expect(try await judge(mail, now: now + 3_600).isValid)
    }

    @Test("A signer with an unknown digest is unsettled, and one with another type of content is invalid")
    func unusableSigners() async throws {
        let mail = try authority.sender().signed(in: scratch)
        let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
        for (identifier, isInSigner, expected) in [
            (sha256, true, Verification.Outcome.unsettled), (data, false, .failed),
        ] {
            let changed = try changingSignature(of: mail) { fields in
                // signerInfos or encapContentInfo (RFC 5652, 5.1)
                let place = isInSigner ? fields.count - 1 : 2
                let range = try #require(fields[place].firstRange(of: identifier))
                fields[place][range.upperBound - 1] = 0x7F
            }
            let report = try await judge(changed)
            #expect(!report.isValid && outcome("signature", report) == expected)
            #expect(outcome("chain", report) == .passed && partOutcome("signed", report) == expected)
        }
    }

    @Test("A protected From field that cannot be read must be the same outside")
    func unreadableFrom() async throws {
        let sender = try authority.sender()
        let payload = Array("From: nobody\r\nContent-Type: text/plain; hp=\"clear\"\r\n\r\nHi\r\n".utf8)
        for (outer, expected) in [("nobody", Verification.Outcome.passed), ("somebody", .failed)] {
            let report = try await judge(try sender.signed(payload, from: outer, in: scratch))
            #expect(!report.isValid && partOutcome("headers", report) == expected)
        }
    }
}
