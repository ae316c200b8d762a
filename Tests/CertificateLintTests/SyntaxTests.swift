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
        "A URI has a scheme that begins with a letter, and a complete host if it needs one",
        arguments: [
            ("http://host.example/a", true), ("1http://host.example/", false), ("http:", false),
            ("ht_tp://host.example/", false), ("http:///a", false), ("https:///a", false),
            ("ldap:///cn=a", true), ("http://[2001:db8::1]/", true), ("http://host/a", false),
            ("https://host/a", false), ("urn:a:b", true), ("http://host.example/a b", false), (":a", false),
        ] as [(String, Bool)])
    func addressesOfResources(uri: String, isValid: Bool) throws {
        #expect(try Self.isFound("alternative-name-uri", 0x86, uri) != isValid)
    }
}
