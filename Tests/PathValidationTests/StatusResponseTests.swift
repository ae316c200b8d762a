import Foundation
import KeySharing
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("OCSP responses", .timeLimit(.minutes(10)))
struct StatusResponseTests {
    private static func response(
        _ status: CertificateStatus, of leaf: Certificate, issuedBy issuer: Certificate,
        signedBy responder: CertificateIssuer, digest: String = "SHA1",
        thisUpdate: Date = TestAuthority.start, nextUpdate: Date = TestAuthority.end
    ) throws -> StatusResponse {
        let request = try StatusClient.request([leaf.serialNumber], of: issuer.der, digest: digest)
        let der = try responder.statusResponse(
            to: try OCSPRequest(der: request), thisUpdate: thisUpdate, nextUpdate: nextUpdate
        ) { _ in status }
        return try StatusResponse(der: der)
    }

    private let root: TestAuthority
    private let authority: TestAuthority
    private let leaf: Certificate

    init() throws {
        root = try TestAuthority.root("Root")
        authority = try root.authority("Authority")
        leaf = try authority.leaf()
    }

    private func check(
        _ responses: [StatusResponse], lists: [EncodedRevocationList] = []
    ) -> Verification.Check {
        Trial(
            trusted: [root.certificate], untrusted: [authority.certificate], lists: lists,
            responses: responses
        ).validate(leaf).verification.check(.revocation)
    }

    private func search(
        _ lists: [EncodedRevocationList], signers: [TestAuthority] = []
    ) -> RevocationSearch {
        var material = RevocationMaterial()
        material.lists = lists
        material.listSigners = signers.map(\.certificate)
        return RevocationSearch(
            material, path: [leaf, authority.certificate, root.certificate], at: TestAuthority.now,
            securityLevel: nil, VerificationObjects())
    }

    private func response(
        _ status: CertificateStatus, by responder: CertificateIssuer? = nil, digest: String = "SHA1",
        thisUpdate: Date = TestAuthority.start, nextUpdate: Date = TestAuthority.end
    ) throws -> StatusResponse {
        try Self.response(
            status, of: leaf, issuedBy: authority.certificate, signedBy: responder ?? authority.issuer,
            digest: digest, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
    }

    @Test(
        "A response determines the revocation status, whatever digest its certificate ID uses",
        arguments: ["SHA1", "SHA256"])
    func good(digest: String) throws {
        #expect(check([try response(.good, digest: digest)]).outcome == .passed)
        #expect(
            check([try response(.revoked(TestAuthority.start, reason: 1), digest: digest)]).outcome == .failed
        )
    }

    @Test("Any status of a certificate in a response can revoke it", arguments: [false, true])
    func severalStatuses(isRevokedFirst: Bool) throws {
        let request = try StatusClient.request(
            [leaf.serialNumber, leaf.serialNumber], of: authority.certificate.der)
        var count = 0
        let der = try authority.issuer.statusResponse(
            to: try OCSPRequest(der: request), thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
        ) { _ in
            count += 1
            return count == (isRevokedFirst ? 1 : 2) ? .revoked(TestAuthority.start, reason: 1) : .good
        }
        #expect(check([try StatusResponse(der: der)]).outcome == .failed)
        #expect(count == 2)
    }

    @Test(
        "The revocation status is unsettled if the response has the status unknown or is about another certificate"
    )
    func open() throws {
        #expect(check([try response(.unknown)]).outcome == .unsettled)
        let other = try Self.response(
            .good, of: authority.leaf(serial: [10]), issuedBy: authority.certificate,
            signedBy: authority.issuer)
        #expect(check([other]).outcome == .unsettled)
        // The same serial number under another issuer.
        let foreign = try Self.response(
            .good, of: leaf, issuedBy: root.certificate, signedBy: authority.issuer)
        #expect(check([foreign]).outcome == .unsettled)
        let finding = foreign.finding(
            on: leaf, issuedBy: authority.certificate, at: TestAuthority.now, securityLevel: nil,
            VerificationObjects())
        #expect(finding == .unrelated)
    }

    @Test(
        "The sources of a verdict are the responses with a status, and two sources of a revocation are one problem"
    )
    func sources() throws {
        func validate(_ responses: [StatusResponse], _ lists: [EncodedRevocationList]) -> Verification {
            Trial(
                trusted: [root.certificate], untrusted: [authority.certificate], lists: lists,
                responses: responses
            ).validate(leaf).verification
        }
        #expect(try validate([response(.good)], []).links.first?.revocation.count == 1)
        #expect(try validate([response(.unknown)], []).links.first?.revocation.isEmpty == true)
        let revoked = try response(.revoked(TestAuthority.start, reason: 4))
        let source = validate([revoked], []).links.first?.revocation.first?.revocation
        #expect(source?.reason == 4 && source?.date == TestAuthority.start)
        let list = try authority.list([TestAuthority.entry([9])])
        // X509_V_ERR_CERT_REVOKED.
        for lists in [[], [list]] {
            #expect(validate([revoked], lists).problems.count { $0.code == 23 } == 1)
        }
        // An anchor needs no status.
        let trial = Trial(trusted: [root.certificate], responses: [revoked])
        #expect(trial.validate(root.certificate).verification.check(.revocation).outcome == .passed)
    }

    @Test("A responder's certificate is valid in its last second, and must reach the security level")
    func responderLimits() throws {
        let key = try PrivateKey.generate(.p256)
        func responder(_ notAfter: Date) throws -> CertificateIssuer {
            let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
                $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
                $0.notAfter = notAfter
            }
            return CertificateIssuer(
                certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        }
        func isUsable(_ notAfter: Date, at date: Date = TestAuthority.now, level: Int? = nil) throws -> Bool {
            let finding = try response(.good, by: responder(notAfter)).finding(
                on: leaf, issuedBy: authority.certificate, at: date, securityLevel: level,
                VerificationObjects())
            if case .status = finding { return true }
            return false
        }
        let now = TestAuthority.now
        #expect(try isUsable(now) && isUsable(now, at: now + 0.5))
        #expect(try !isUsable(now - 1))
        // A key on P-256 has a strength of 128 bits, which is level 3.
        for level in 0...5 {
            #expect(try isUsable(TestAuthority.end, level: level) == (level <= 3), "\(level)")
        }
    }

    @Test("A response without nextUpdate is valid for one day")
    func openEnd() throws {
        let scratch = try ScratchFolder()
        try scratch.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \\
              -out authority.pem -subj /CN=Authority -days 30
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout leaf.key -out leaf.csr -subj /CN=User
            openssl x509 -req -in leaf.csr -CA authority.pem -CAkey key.pem -set_serial 9 -days 30 -out leaf.pem
            printf 'V\\t491231235959Z\\t\\t09\\tunknown\\t/CN=User\\n' >index.txt
            openssl ocsp -index index.txt -CA authority.pem -rsigner authority.pem -rkey key.pem \\
              -issuer authority.pem -serial 9 -respout response.der -noverify
            """)
        let (leaf, authority) = try (
            #require(Certificate.pem(scratch.read("leaf.pem")).first),
            #require(Certificate.pem(scratch.read("authority.pem")).first)
        )
        let response = try StatusResponse(der: scratch.read("response.der"))
        func finding(at date: Date) -> StatusResponse.Finding {
            response.finding(
                on: leaf, issuedBy: authority, at: date, securityLevel: nil, VerificationObjects())
        }
        guard case .status(.good, let thisUpdate, nil) = finding(at: authority.notBefore + 3_600) else {
            Issue.record("\(finding(at: authority.notBefore + 3_600))")
            return
        }
        guard case .status = finding(at: thisUpdate + 86_400),
            case .unusable = finding(at: thisUpdate + 86_401)
        else {
            Issue.record("not one day")
            return
        }
    }

    @Test("A response whose nextUpdate is not a time is not used", arguments: [false, true])
    func invalidEnd(isChanged: Bool) throws {
        let scratch = try ScratchFolder()
        try scratch.shell(
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out authority.pem -subj /CN=Authority -days 30
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout leaf.key -out leaf.csr -subj /CN=User
            openssl x509 -req -in leaf.csr -CA authority.pem -CAkey key.pem -set_serial 9 -days 30 -out leaf.pem
            printf 'V\\t491231235959Z\\t\\t09\\tunknown\\t/CN=User\\n' >index.txt
            openssl ocsp -index index.txt -CA authority.pem -rsigner authority.pem -rkey key.pem -resp_no_certs \\
              -rmd sha256 -issuer authority.pem -serial 9 -respout response.der -noverify -ndays 2
            """)
        let (leaf, authority) = try (
            #require(Certificate.pem(scratch.read("leaf.pem")).first),
            #require(Certificate.pem(scratch.read("authority.pem")).first)
        )
        var bytes = try scratch.read("response.der")
        if isChanged {
            // The month of nextUpdate becomes 13, and the authority signs the response again.
            let time = try #require(bytes.firstRange(of: [0xA0, 0x11, 0x18, 0x0F]))
            bytes.replaceSubrange(time.upperBound + 4..<time.upperBound + 6, with: Array("13".utf8))
            // Before the signature of 256 bytes are the contents, the algorithm (15 bytes) and the header of the BIT
            // STRING (5 bytes). The OCTET STRING and the response in it have headers of 4 bytes each.
            let octets = try #require(bytes.firstRange(of: [0x04, 0x82]))
            _ = try scratch.write(Array(bytes[(octets.lowerBound + 8)..<(bytes.count - 276)]), as: "contents")
            try scratch.shell("openssl dgst -sha256 -sign key.pem -out signature contents")
            bytes.replaceSubrange((bytes.count - 256)..., with: try scratch.read("signature"))
        }
        let finding = try StatusResponse(der: bytes).finding(
            on: leaf, issuedBy: authority, at: authority.notBefore + 3_600, securityLevel: nil,
            VerificationObjects())
        switch finding {
        case .status(.good, _, _): #expect(!isChanged)
        case .unusable(let reason): #expect(isChanged && reason == "its nextUpdate time is invalid")
        default: Issue.record("\(finding)")
        }
    }

    @Test("A response is valid only from thisUpdate to nextUpdate")
    func freshness() throws {
        let now = TestAuthority.now
        #expect(check([try response(.good, nextUpdate: now - 1)]).outcome == .unsettled)
        #expect(check([try response(.good, thisUpdate: now + 1)]).outcome == .unsettled)
        #expect(check([try response(.good, thisUpdate: now, nextUpdate: now)]).outcome == .passed)
    }

    @Test(
        "A response is valid if it is signed by the issuer or by a responder that the issuer certified for OCSP"
    )
    func responders() throws {
        let key = try PrivateKey.generate(.p256)
        func responder(
            under issuer: TestAuthority, _ usages: [String]
        ) throws -> CertificateIssuer {
            let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
                $0.extendedKeyUsage = usages
            }
            return CertificateIssuer(certificate: try issuer.issuer.issue(template, to: key), privateKey: key)
        }
        let usage = "1.3.6.1.5.5.7.3.9"
        let delegated = try responder(under: authority, [usage])
        #expect(check([try response(.good, by: delegated)]).outcome == .passed)
        for stranger in [
            try responder(under: authority, ["1.3.6.1.5.5.7.3.4"]), try responder(under: authority, []),
            try responder(under: root, [usage]), try TestAuthority.root("Authority").issuer,
        ] {
            let result = check([try response(.good, by: stranger)])
            #expect(result.outcome == .unsettled)
            #expect(result.explanation.contains("was not signed by the issuer"))
        }
    }

    @Test("The key usage of a responder, but not that of the issuer, must allow signatures")
    func responderKeyUsage() throws {
        let key = try PrivateKey.generate(.p256)
        func responder(_ usage: KeyUsage?) throws -> CertificateIssuer {
            let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
                $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
                $0.keyUsage = usage
            }
            return CertificateIssuer(
                certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        }
        let suitable: [KeyUsage?] = [
            nil, .digitalSignature, .nonRepudiation, [.digitalSignature, .keyAgreement],
        ]
        for usage in suitable {
            #expect(check([try response(.good, by: responder(usage))]).outcome == .passed, "\(usage as Any)")
        }
        for usage in [.keyEncipherment, [.keyCertSign, .cRLSign]] as [KeyUsage] {
            let result = check([try response(.good, by: responder(usage))])
            #expect(result.outcome == .unsettled, "\(usage)")
            #expect(result.explanation.contains("the key usage of its responder lacks digitalSignature"))
        }
        #expect(authority.certificate.keyUsage == [.keyCertSign, .cRLSign])
        #expect(check([try response(.good)]).outcome == .passed)
    }

    @Test(
        "A response from a revoked responder is ignored, unless the responder's certificate has the no-check extension"
    )
    func revokedResponder() throws {
        let key = try PrivateKey.generate(.p256)
        func responder(_ extensions: [CertificateExtension]) throws -> CertificateIssuer {
            let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
                $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
                $0.extensions = extensions
            }
            return CertificateIssuer(
                certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        }
        let revoking = try authority.list([TestAuthority.entry([7])])
        let revoked = CertificateStatus.revoked(TestAuthority.start, reason: 1)
        let plain = try response(revoked, by: responder([]))
        let unasked = try response(revoked, by: responder([EncodedExtension.noCheck]))
        // The list covers the leaf, so only a response that counts can revoke it.
        #expect(check([plain], lists: [revoking]).outcome == .passed)
        #expect(check([plain], lists: [try authority.list()]).outcome == .failed)
        #expect(check([unasked], lists: [revoking]).outcome == .failed)
        let finding = plain.finding(
            on: leaf, issuedBy: authority.certificate, at: TestAuthority.now, securityLevel: nil,
            lists: search([revoking]), VerificationObjects())
        guard case .unusable(let reason) = finding else {
            Issue.record("\(finding)")
            return
        }
        #expect(reason.contains("responder's certificate is revoked"))
    }

    @Test(
        "Lists that are out of date, delta lists and lists of a new key can revoke a responder, and nothing hides that"
    )
    func listsOfResponder() throws {
        let key = try PrivateKey.generate(.p256)
        let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
        }
        let responder = CertificateIssuer(
            certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        let good = try response(.good, by: responder)
        let renewed = try root.authority("Authority", serial: [4])
        func isUsable(_ lists: [EncodedRevocationList]) -> Bool {
            let finding = good.finding(
                on: leaf, issuedBy: authority.certificate, at: TestAuthority.now, securityLevel: nil,
                lists: search(lists, signers: [renewed]), VerificationObjects())
            if case .status(.good, _, _) = finding { return true }
            return false
        }
        let current = try authority.list()
        func newer(
            _ entries: [CertificateRevocationList.Entry], by issuer: TestAuthority? = nil,
            age: TimeInterval = 3_600,
            _ extensions: [CertificateExtension] = []
        ) throws -> EncodedRevocationList {
            let date = TestAuthority.now - age
            return try (issuer ?? authority).list(
                entries, thisUpdate: date, nextUpdate: date + 60, extensions)
        }
        let entry = [TestAuthority.entry([7])]
        #expect(isUsable([current]))
        // Neither of two lists with the same date and number is newer.
        let simultaneous = try authority.list(entry)
        #expect(!isUsable([current, simultaneous]) && !isUsable([simultaneous, current]))
        let expired = try newer(entry)
        #expect(!isUsable([current, expired]))
        #expect(!isUsable([expired, try newer([], age: 60)]))
        #expect(!isUsable([current, try newer(entry, by: renewed)]))
        #expect(!isUsable([current, try newer(entry, [EncodedExtension.delta])]))
        #expect(isUsable([current, try newer(entry, age: -60)]))
        let forged = try newer([], by: TestAuthority.root("Authority"), age: 30)
        #expect(!isUsable([forged, try authority.list(entry)]))
        let held = try newer([.init(serialNumber: [7], date: TestAuthority.start, reason: 6)])
        let release = CertificateRevocationList.Entry(serialNumber: [7], date: TestAuthority.start, reason: 8)
        #expect(isUsable([current, held, try newer([release], age: 60, [EncodedExtension.delta])]))
        // A list with an unknown critical extension lifts nothing.
        let unknown = CertificateExtension(oid: "1.2.3.4", isCritical: true, value: [5, 0])
        #expect(!isUsable([held, try newer([], age: 60, [unknown])]))
        #expect(isUsable([held, try newer([], age: 60)]))
        #expect(!isUsable([current, expired, try newer([release], age: 60, [EncodedExtension.delta])]))
        // A delta list that is out of date lifts nothing.
        #expect(!isUsable([current, held, try newer([release], age: 120, [EncodedExtension.delta])]))
    }

    @Test("If an unusable list may revoke a responder, its response can only revoke a certificate")
    func unusableListOfResponder() throws {
        let key = try PrivateKey.generate(.p256)
        func responder(_ extensions: [CertificateExtension] = []) throws -> CertificateIssuer {
            let template = try TestAuthority.template("Responder", serial: [7], isAuthority: false) {
                $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.9"]
                $0.extensions = extensions
            }
            return CertificateIssuer(
                certificate: try authority.issuer.issue(template, to: key), privateKey: key)
        }
        /// A list with an entry without a date.
        func unusable(
            by issuer: TestAuthority? = nil, thisUpdate: String = "241203120000Z",
            _ extensions: [[UInt8]] = []
        ) throws -> EncodedRevocationList {
            let entries = [DERText.sequence([0x02, 0x01, 0x07])]
            let form = ListForm(
                thisUpdate: DERText.time(thisUpdate),
                rest: ListForm.rest(entries: entries, extensions: extensions))
            return try EncodedRevocationList(der: form.der(by: issuer ?? authority))
        }
        let good = try response(.good, by: responder())
        let current = try authority.list()
        #expect(check([good], lists: [try unusable()]).outcome == .failed)
        #expect(check([good], lists: [current, try unusable()]).outcome == .failed)
        let newer = try authority.list(thisUpdate: TestAuthority.now - 60)
        #expect(check([good], lists: [try unusable(), newer]).outcome == .passed)
        #expect(check([good], lists: [try unusable(by: .root("Authority"))]).outcome == .passed)
        // The responder's certificate did not exist yet.
        #expect(check([good], lists: [try unusable(thisUpdate: "200101000000Z")]).outcome == .passed)
        let authorities = try unusable([DERText.scope([0x82, 0x01, 0xFF])])
        #expect(check([good], lists: [authorities]).outcome == .passed)
        let exempt = try response(.good, by: responder([EncodedExtension.noCheck]))
        #expect(check([exempt], lists: [try unusable()]).outcome == .passed)
        let revoked = try response(.revoked(TestAuthority.start, reason: 1), by: responder())
        let finding = revoked.finding(
            on: leaf, issuedBy: authority.certificate, at: TestAuthority.now, securityLevel: nil,
            lists: search([try unusable()]), VerificationObjects())
        guard case .status(.revoked, _, _) = finding else {
            Issue.record("\(finding)")
            return
        }
    }

    @Test("An expired response can revoke a certificate for good, and settles nothing else")
    func expiredRevocation() throws {
        let good = try response(.good)
        func expired(_ status: CertificateStatus) throws -> StatusResponse {
            try response(status, nextUpdate: TestAuthority.now - 1)
        }
        #expect(check([try expired(.good)]).outcome == .unsettled)
        for reason in [nil, 1] {
            let revoked = try expired(.revoked(TestAuthority.start, reason: reason))
            #expect(check([good, revoked]).outcome == .failed)
        }
        let held = try expired(.revoked(TestAuthority.start, reason: 6))
        #expect(check([good, held]).outcome == .passed)
        #expect(check([held]).outcome == .unsettled)
    }

    @Test("A response that was issued after the certificate expired does not show that it is not revoked")
    func forgotten() throws {
        let leaf = try authority.leaf { $0.notAfter = TestAuthority.start + 60 }
        for (age, outcome) in [(TimeInterval(0), Verification.Outcome.passed), (3_600, .unsettled)] {
            let response = try Self.response(
                .good, of: leaf, issuedBy: authority.certificate, signedBy: authority.issuer,
                thisUpdate: TestAuthority.start + age)
            var trial = Trial(
                trusted: [root.certificate], untrusted: [authority.certificate], responses: [response])
            trial.configure = { $0.allowsExpired = true }
            #expect(trial.validate(leaf).verification.check(.revocation).outcome == outcome)
        }
    }

    @Test("A good response does not override a revocation in a list, but replaces a missing or outdated list")
    func combinesWithLists() throws {
        let good = try response(.good)
        #expect(
            check([good], lists: [try authority.list([TestAuthority.entry([9])])]).outcome == .failed)
        #expect(check([good], lists: [try root.list()]).outcome == .passed)
        #expect(
            check([good], lists: [try authority.list(nextUpdate: TestAuthority.now - 1)]).outcome == .passed)
        let revoked = try response(.revoked(TestAuthority.start, reason: nil))
        #expect(check([revoked], lists: [try authority.list()]).outcome == .failed)
        // A forged list, which OpenSSL would select because it is newer, must not hide the authentic one.
        let form = ListForm(thisUpdate: DERText.time("241203120000Z"))
        let forged = try EncodedRevocationList(der: form.der(by: .root("Authority")))
        let lists = [forged, try authority.list([TestAuthority.entry([9])])]
        #expect(check([good], lists: lists).outcome == .failed)
        // The forger can add a certificate with the authority's name, and a scope that no other list has.
        let forger = try TestAuthority.root("Authority")
        let scope = DERText.scope([0x81, 0x01, 0xFF])
        let scoped = ListForm(thisUpdate: form.thisUpdate, rest: ListForm.rest(extensions: [scope]))
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate, forger.certificate],
            lists: [try EncodedRevocationList(der: scoped.der(by: forger)), lists[1]], responses: [good])
        #expect(trial.validate(leaf).verification.check(.revocation).outcome == .failed)
        // OpenSSL prefers a current list to one that is out of date, even if only the forger's certificate matches it.
        var other = trial
        other.lists = [
            try forger.list(thisUpdate: TestAuthority.now - 60),
            try authority.list([TestAuthority.entry([9])], nextUpdate: TestAuthority.now - 1),
        ]
        #expect(other.validate(leaf).verification.check(.revocation).outcome == .failed)
    }

    @Test(
        "An error response does not determine the revocation status, and a damaged response is rejected or ignored"
    )
    func refusals() throws {
        let refusal = try StatusResponse(der: OCSPFailure.tryLater.response())
        #expect(refusal.refusal != nil)
        #expect(check([refusal]).outcome == .unsettled)
        #expect(throws: CertificateError.self) { try StatusResponse(der: [0x30, 0x00]) }
        let der = try response(.good).der
        for index in stride(from: 0, to: der.count, by: 3) {
            var mutant = der
            mutant[index] ^= 0x41
            guard let parsed = try? StatusResponse(der: mutant) else { continue }
            // The certificates are outside the signed part, so changes to them do not matter.
            if check([parsed]).outcome == .passed { #expect(index > 150, "octet \(index)") }
        }
    }
}
