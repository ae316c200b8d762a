import CertificateLint
import Foundation
import OpenSSL
import Testing

@Suite("Syntax of alternative names", .timeLimit(.minutes(10)))
struct SyntaxTests {
    private static func isFound(_ code: String, _ tag: UInt8, _ name: String) throws -> Bool {
        var raw = RawCertificate.person
        raw.extensions?.set("2.5.29.17", Raw.sequence(Raw.tlv(tag, Array(name.utf8))))
        let certificate = try Certificate(der: raw.der)
        return CertificateLinter.findings(in: certificate, at: RawCertificate.date).contains {
            $0.code == code
        }
    }

    private static func letters(_ count: Int) -> String { String(repeating: "a", count: count) }

    /// Host names of three labels of 63 characters, and a last label.
    private static func host(_ last: Int) -> String {
        [63, 63, 63, last].map(letters).joined(separator: ".")
    }

    @Test(
        "An e-mail address has a local part of 1 to 64 octets in atoms or quotes",
        arguments: [
            ("user@mail.example", true), ("\(letters(64))@mail.example", true),
            ("\(letters(65))@mail.example", false), ("@mail.example", false), ("mail.example", false),
            ("a..b@mail.example", false), (".a@mail.example", false), ("a b@mail.example", false),
            ("a(b)@mail.example", false), ("a+b_{c}@mail.example", true), ("\"@mail.example", false),
            ("\"a b\"@mail.example", true), ("\"a\u{1}b\"@mail.example", false), ("user@", false),
        ] as [(String, Bool)])
    func addresses(address: String, isValid: Bool) throws {
        #expect(try Self.isFound("alternative-name-email", 0x81, address) != isValid)
    }

    @Test(
        "A host name has at most 253 octets, in labels of 1 to 63 octets without a hyphen at either end",
        arguments: [
            ("host.example", true), (host(61), true), (host(62), false), ("\(letters(63)).example", true),
            ("\(letters(64)).example", false), ("a..example", false), ("-a.example", false),
            ("a-.example", false), ("a-b.example", true), ("a_b.example", false), ("", false),
        ] as [(String, Bool)])
    func hosts(host: String, isValid: Bool) throws {
        #expect(try Self.isFound("alternative-name-dns", 0x82, host) != isValid)
    }

    @Test(
        "A URI has a scheme that begins with a letter, a complete host if it needs one, and valid escapes and ports",
        arguments: [
            ("http://host.example/a", true), ("1http://host.example/", false), ("http:", false),
            ("ht_tp://host.example/", false), ("http:///a", false), ("https:///a", false),
            ("ldap:///cn=a", true), ("http://[2001:db8::1]/", true), ("http://host/a", false),
            ("https://host/a", false), ("urn:a:b", true), ("http://host.example/a b", false), (":a", false),
            ("http://host.example/%2F", true), ("http://host.example/%zz", false),
            ("http://host.example/%2", false), ("urn:a:%", false), ("http://host.example:80/", true),
            ("http://host.example:", true), ("http://host.example:8x/", false),
            ("http://a:b@host.example:80/", true), ("http://[2001:db8::1]:80/", true),
            ("http://[2001:db8::1]80/", false),
        ] as [(String, Bool)])
    func addressesOfResources(uri: String, isValid: Bool) throws {
        #expect(try Self.isFound("alternative-name-uri", 0x86, uri) != isValid)
    }

    @Test(
        "A SmtpUTF8Mailbox is a UTF8String whose local part is not ASCII, and whose host is",
        arguments: [
            ("\u{E4}@mail.example", 12, true), ("\u{E4}@xn--bcher-kva.example", 12, true),
            ("\u{E4}@[192.0.2.1]", 12, true), ("user@mail.example", 12, false),
            ("user@mail.example", 22, false), ("\u{E4}@b\u{FC}cher.example", 12, false),
            ("\u{E4}", 12, false), ("\u{E4}@", 12, false),
        ] as [(String, UInt8, Bool)])
    func internationalAddresses(address: String, tag: UInt8, isValid: Bool) throws {
        var raw = RawCertificate.person
        let value = Raw.tlv(0xA0, Raw.tlv(tag, Array(address.utf8)))
        let name = Raw.tlv(0xA0, Raw.oid("1.3.6.1.5.5.7.8.9"), value)
        raw.extensions?.set("2.5.29.17", Raw.sequence(name))
        let found = CertificateLinter.findings(in: try Certificate(der: raw.der), at: RawCertificate.date)
        #expect(found.contains { $0.code == "alternative-name-smtp-utf8" } != isValid)
    }

    @Test("An alternative name of the issuer with more than 4,096 octets is not examined")
    func longNamesOfIssuer() throws {
        for (count, isExamined) in [(4_096, true), (4_097, false)] {
            var raw = RawCertificate.person
            let name = RawCertificate.address(Self.letters(count))
            raw.extensions?.set("2.5.29.18", Raw.sequence(name))
            let found = CertificateLinter.findings(
                in: try Certificate(der: raw.der), at: RawCertificate.date)
            #expect(found.contains { $0.code == "alternative-name-email" } == isExamined, "\(count)")
        }
    }
}
