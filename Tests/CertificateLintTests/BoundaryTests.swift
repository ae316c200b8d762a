import CertificateLint
import Foundation
import OpenSSL
import Testing

@Suite("Limits and exceptions of the rules", .timeLimit(.minutes(10)))
struct BoundaryTests {
    private static func codes(_ raw: RawCertificate) throws -> [String] {
        try CertificateLinter.findings(in: Certificate(der: raw.der), at: RawCertificate.date).map(\.code)
    }

    private static func codes(_ raw: RawList) throws -> [String] {
        let list = try CertificateRevocationList(der: raw.der)
        return CertificateLinter.findings(in: list, at: RawCertificate.date).map(\.code)
    }

    @Test(
        "A rule applies to the certificate of an end entity exactly within its limits and outside its exceptions",
        arguments: BoundaryCase<RawCertificate>.persons)
    func persons(_ each: BoundaryCase<RawCertificate>) throws {
        var raw = RawCertificate.person
        each.change(&raw)
        #expect(try Self.codes(raw).contains(each.code) == each.isFound)
    }

    @Test(
        "A rule applies to the certificate of an authority exactly within its limits and outside its exceptions",
        arguments: BoundaryCase<RawCertificate>.authorities)
    func authorities(_ each: BoundaryCase<RawCertificate>) throws {
        var raw = RawCertificate.authority
        each.change(&raw)
        #expect(try Self.codes(raw).contains(each.code) == each.isFound)
    }

    @Test(
        "A rule applies to a revocation list exactly within its limits and outside its exceptions",
        arguments: BoundaryCase<RawList>.all)
    func lists(_ each: BoundaryCase<RawList>) throws {
        var raw = RawList()
        each.change(&raw)
        #expect(try Self.codes(raw).contains(each.code) == each.isFound)
    }

    @Test(
        "A rule applies to an OCSP response exactly within its limits",
        arguments: BoundaryCase<RawResponse>.all)
    func responses(_ each: BoundaryCase<RawResponse>) throws {
        var raw = RawResponse()
        each.change(&raw)
        let found = CertificateLinter.findings(
            in: try StatusResponse(der: raw.der), at: RawCertificate.date)
        #expect(found.contains { $0.code == each.code } == each.isFound)
    }

    @Test("A certificate is valid during the whole last second of its validity")
    func lastSecond() throws {
        var raw = RawCertificate.person
        raw.notAfter = Raw.utc("250601000000Z")
        let certificate = try Certificate(der: raw.der)
        for (seconds, isExpired) in [(0.5, false), (1, true)] {
            let found = CertificateLinter.findings(in: certificate, at: RawCertificate.date + seconds)
            #expect(found.contains { $0.code == "expired" } == isExpired, "\(seconds) s")
        }
    }

    @Test("A certificate that ends together with its issuer's certificate has no finding about the end")
    func equalEnds() throws {
        let issuer = try Certificate(der: RawCertificate.authority.der)
        let found = CertificateLinter.findings(
            in: try Certificate(der: RawCertificate.person.der), at: RawCertificate.date, issuer: issuer)
        #expect(!found.contains { $0.code == "validity-beyond-issuer" })
    }

    @Test("A critical flag with any value other than zero makes an extension critical")
    func unusualFlag() throws {
        var raw = RawCertificate.person
        raw.extensions?.set("1.2.3.9", Raw.null, critical: true)
        var der = raw.der
        let end = try #require(der.firstRange(of: Raw.oid("1.2.3.9"))).upperBound
        der[end + 2] = 1
        let certificate = try Certificate(der: der)
        let found = CertificateLinter.findings(in: certificate, at: RawCertificate.date)
        #expect(found.contains { $0.code == "extension-unknown-critical" })
    }

    @Test("A certificate of exactly one mebibyte is examined, and a larger one is only partly examined")
    func largest() throws {
        var raw = RawCertificate.person
        let rest = raw.der.count
        func certificate(_ count: Int) throws -> Certificate {
            raw.extensions?.set("1.2.3.9", Raw.octets([UInt8](repeating: 0, count: count)))
            return try Certificate(der: raw.der)
        }
        let overhead = try certificate(1 << 19).der.count - rest - 1 << 19
        for (size, code) in [(1 << 20, nil), (1 << 20 + 1, "certificate-too-large")] as [(Int, String?)] {
            var count = size - rest - overhead
            count += size - (try certificate(count).der.count)
            let certificate = try certificate(count)
            #expect(certificate.der.count == size)
            let found = CertificateLinter.findings(in: certificate, at: RawCertificate.date).map(\.code)
            let expected = ["certificate-too-large", "certificate-not-der"].filter(found.contains)
            #expect(expected == [code].compactMap(\.self))
        }
    }

    @Test("The first 1,000 extensions are examined, and each rule returns at most 8 findings")
    func counts() throws {
        func certificate(_ criticals: Range<Int>) throws -> Certificate {
            var raw = RawCertificate.person
            let known = raw.extensions?.count ?? 0
            for index in known..<1_010 {
                let critical = criticals.contains(index) ? true : nil
                raw.extensions?.append(.init(oid: "1.2.3.\(index)", critical: critical, value: Raw.null))
            }
            return try Certificate(der: raw.der)
        }
        for (criticals, count) in [(999..<1_000, 1), (1_000..<1_001, 0), (20..<29, 8), (20..<27, 7)] {
            let found = CertificateLinter.findings(in: try certificate(criticals), at: RawCertificate.date)
            #expect(found.count { $0.code == "extension-unknown-critical" } == count, "\(criticals)")
        }
    }

    @Test("At most 8 findings about entries are returned, and the shown serial number has at most 24 octets")
    func entries() throws {
        var raw = RawList()
        let reason = Raw.Extension(oid: "2.5.29.21", value: [10, 1, 0])
        raw.entries = (1...9).map { .init(serial: [$0], extensions: [reason]) }
        #expect(try Self.codes(raw).count { $0 == "list-entry-reason-unspecified" } == 8)
        raw.entries = [.init(serial: [UInt8](repeating: 0x1A, count: 30))]
        let list = try CertificateRevocationList(der: raw.der)
        let found = CertificateLinter.findings(in: list, at: RawCertificate.date)
        let message = try #require(found.first { $0.code == "list-entry-serial" }?.message)
        #expect(message.contains(" " + String(repeating: "1A", count: 24) + ":"))
    }

    @Test("A finding shows no control characters, and at most 320 octets of an attribute")
    func visible() throws {
        var raw = RawCertificate.person
        raw.subject = Raw.name((type: "1.2.840.113549.1.9.1", tag: 22, value: Array("\u{1B}[2J".utf8)))
        let certificate = try Certificate(der: raw.der)
        let found = CertificateLinter.findings(in: certificate, at: RawCertificate.date)
        let message = try #require(found.first { $0.code == "name-email" }?.message)
        #expect(!message.contains("\u{1B}") && message.contains("[2J"))
        let long = [UInt8](repeating: 0x61, count: 400)
        raw.subject = Raw.name((type: "1.2.840.113549.1.9.1", tag: 22, value: long))
        let other = CertificateLinter.findings(
            in: try Certificate(der: raw.der), at: RawCertificate.date)
        let shown = try #require(other.first { $0.code == "name-email" }?.message)
        #expect(shown.count { $0 == "a" } < 340)
    }

    @Test("The name of a self-issued certificate has one finding, not one for each of its two copies")
    func selfIssued() throws {
        var raw = RawCertificate.person
        raw.subject = Raw.name(String(repeating: "a", count: 65))
        raw.issuer = raw.subject
        #expect(try Self.codes(raw).count { $0 == "name-too-long" } == 1)
        // The signature does not match, so the certificate is not self-signed.
        raw.extensions?.remove("2.5.29.35")
        #expect(try Self.codes(raw).contains("authority-key-identifier-missing"))
    }

    @Test("The authority key identifier of a self-signed certificate may be incomplete")
    func selfSigned() throws {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "Root")]), serialNumber: [7],
            notBefore: RawCertificate.date - 60, notAfter: RawCertificate.date + 60)
        template.authorityKeyIdentifier = .absent
        template.extensions = [.init(oid: "2.5.29.35", value: Raw.sequence())]
        let root = try CertificateIssuer(selfSigned: template, privateKey: try .generate(.p256)).certificate
        let found = CertificateLinter.findings(in: root, at: RawCertificate.date).map(\.code)
        #expect(!found.contains("authority-key-identifier-incomplete"))
    }

    @Test("An issuer has the right name and key identifier, and a self-issued certificate has none")
    func issuers() throws {
        var raw = RawCertificate.authority
        raw.subject = Raw.name("Test CA")
        let issuer = try Certificate(der: raw.der)
        raw.subject = Raw.name("Other CA")
        raw.extensions?.set("2.5.29.14", Raw.octets([1, 2, 3, 4]))
        let stranger = try Certificate(der: raw.der)
        let person = try Certificate(der: RawCertificate.person.der)
        #expect(CertificateLinter.issuer(of: person, among: [stranger]) == nil)
        var child = RawCertificate.person
        child.extensions?.set("2.5.29.35", Raw.sequence(Raw.tlv(0x80, [5, 6, 7, 8])))
        let certificate = try Certificate(der: child.der)
        #expect(CertificateLinter.issuer(of: certificate, among: [stranger, issuer]) == issuer)
        #expect(CertificateLinter.issuer(of: issuer, among: [stranger, issuer]) == nil)
        raw.subject = raw.issuer
        raw.extensions?.remove("2.5.29.35")
        let root = try Certificate(der: raw.der)
        raw.serial = [0x4B, 1, 2, 3, 4, 5, 6, 7]
        #expect(CertificateLinter.issuer(of: root, among: [try Certificate(der: raw.der)]) == nil)
    }

    @Test("The irregularities of a certificate are only the findings about its names and serial number")
    func irregularities() throws {
        var raw = RawCertificate.person
        raw.serial = [0]
        raw.notAfter = Raw.utc("240101000000Z")
        let certificate = try Certificate(der: raw.der)
        #expect(CertificateLinter.irregularities(in: certificate).map(\.code) == ["serial-not-positive"])
    }
}
