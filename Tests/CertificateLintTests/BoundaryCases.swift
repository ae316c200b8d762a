import Foundation

/// A change of an object, and whether the changed object has a finding: the limits and exceptions of the rules.
struct BoundaryCase<Object: Sendable>: Sendable, CustomStringConvertible {
    let code: String
    let isFound: Bool
    let note: String
    let change: @Sendable (inout Object) -> Void

    init(
        _ code: String, _ isFound: Bool, _ note: String, _ change: @escaping @Sendable (inout Object) -> Void
    ) {
        (self.code, self.isFound, self.note, self.change) = (code, isFound, note, change)
    }

    var description: String { "\(code): \(note)" }
}

extension BoundaryCase<RawCertificate> {
    static var persons: [Self] {
        fields + names + encodings + extensions + policies + mail + keys + identifiers
    }
    static var authorities: [Self] { authority + authorityConstraints + authorityPolicies }

    private static func attribute(_ type: String, _ tag: UInt8, _ value: [UInt8]) -> [UInt8] {
        Raw.name((type: type, tag: tag, value: value))
    }

    private static let fields: [Self] = [
        .init("serial-short", true, "7 octets") { $0.serial = [0x4A, 1, 2, 3, 4, 5, 6] },
        .init("version-outdated", false, "a certificate with extensions") { $0.version = nil },
        .init("signature-parameters", true, "SHA-384 with RSA and no parameters") {
            $0.outer = Raw.algorithm("1.2.840.113549.1.1.12")
        },
        .init("signature-parameters", false, "SHA-256 with RSA and NULL") {
            $0.outer = Raw.algorithm("1.2.840.113549.1.1.11", Raw.null)
        },
        .init("signature-parameters", true, "ECDSA with SHA-512 and NULL") {
            $0.outer = Raw.algorithm("1.2.840.10045.4.3.4", Raw.null)
        },
        .init("weak-signature-digest", true, "MD5") {
            $0.outer = Raw.algorithm("1.2.840.113549.1.1.4", Raw.null)
        },
        .init("weak-signature-digest", true, "the older identifier of SHA-1 with RSA") {
            $0.outer = Raw.algorithm("1.3.14.3.2.29", Raw.null)
        },
        .init("unique-identifiers", true, "an identifier of the subject") {
            $0.uniqueIdentifiers = Raw.tlv(0x82, [0, 1])
        },
        .init("validity-encoding", false, "a GeneralizedTime in 2050") {
            $0.notAfter = Raw.generalized("20500101000000Z")
        },
        .init("validity-encoding", false, "a malformed GeneralizedTime") {
            $0.notAfter = Raw.generalized("20270101000000.5Z")
        },
        .init("validity-time-format", true, "a fraction of a second") {
            $0.notAfter = Raw.generalized("20500101000000.5Z")
        },
        .init("validity-time-format", true, "no zone") { $0.notAfter = Raw.utc("2701010000000") },
        .init("validity-time-format", true, "a letter") { $0.notAfter = Raw.utc("27010100000aZ") },
        .init("validity-unreadable", true, "a start that does not exist") {
            $0.notBefore = Raw.utc("241301000000Z")
        },
        .init("validity-reversed", false, "an end that does not exist") {
            $0.notAfter = Raw.utc("271301000000Z")
        },
        .init("expired", false, "an end now") { $0.notAfter = Raw.utc("250601000000Z") },
        .init("expired", true, "an end one second ago") { $0.notAfter = Raw.utc("250531235959Z") },
        .init("not-yet-valid", false, "a start now") { $0.notBefore = Raw.utc("250601000000Z") },
        .init("not-yet-valid", true, "a start in one second") { $0.notBefore = Raw.utc("250601000001Z") },
        .init("subject-empty", false, "critical alternative names") {
            $0.subject = Raw.sequence()
            $0.extensions?.mark("2.5.29.17", critical: true)
        },
        .init("subject-key-identifier-absent", false, "a certificate that is not DER") {
            $0.extensions?.remove("2.5.29.14")
            $0.subject = [0x30, 0x81] + $0.subject.dropFirst()
        },
    ]

    private static let names: [Self] = [
        .init("name-country", false, "two letters") {
            $0.subject = attribute("2.5.4.6", 19, Array("us".utf8))
        },
        .init("name-country", true, "a digit") { $0.subject = attribute("2.5.4.6", 19, Array("U1".utf8)) },
        .init("name-country", true, "three letters") {
            $0.subject = attribute("2.5.4.6", 19, Array("USA".utf8))
        },
        .init("name-too-long", false, "64 characters") {
            $0.subject = Raw.name(String(repeating: "a", count: 64))
        },
        .init("name-too-long", false, "64 characters of two octets") {
            $0.subject = Raw.name(String(repeating: "ä", count: 64))
        },
        .init("name-too-long", true, "65 characters of two octets") {
            $0.subject = Raw.name(String(repeating: "ä", count: 65))
        },
        .init("name-too-long", false, "a BMPString of 64 characters") {
            $0.subject = attribute("2.5.4.3", 30, (0..<64).flatMap { _ in [0, 0x61] as [UInt8] })
        },
        .init("name-too-long", false, "a UniversalString of 64 characters") {
            $0.subject = attribute("2.5.4.3", 28, (0..<64).flatMap { _ in [0, 0, 0, 0x61] as [UInt8] })
        },
        .init("name-too-long", true, "an organization of 65 characters") {
            $0.subject = attribute("2.5.4.10", 12, [UInt8](repeating: 0x61, count: 65))
        },
        .init("name-too-long", true, "the issuer") {
            $0.issuer = Raw.name(String(repeating: "a", count: 65))
        },
        .init("name-characters", true, "an IA5String outside ASCII") {
            $0.subject = attribute("1.2.840.113549.1.9.1", 22, [0x61, 0x40, 0x80])
        },
        .init("name-characters", false, "a PrintableString with every kind of character") {
            $0.subject = attribute("2.5.4.3", 19, Array("aZ09 '()+,-./:=?".utf8))
        },
        .init("name-attribute-type", true, "a dnQualifier that is a UTF8String") {
            $0.subject = attribute("2.5.4.46", 12, Array("1".utf8))
        },
        .init("name-attribute-type", true, "a domainComponent that is a UTF8String") {
            $0.subject = attribute("0.9.2342.19200300.100.1.25", 12, Array("example".utf8))
        },
        .init("name-attribute-type", true, "an emailAddress of the issuer that is a UTF8String") {
            $0.issuer = attribute("1.2.840.113549.1.9.1", 12, Array("user@mail.example".utf8))
        },
        .init("name-attribute-type", false, "a domainComponent that is an IA5String") {
            $0.subject = attribute("0.9.2342.19200300.100.1.25", 22, Array("example".utf8))
        },
        .init("name-attribute-type", false, "a serialNumber that is a PrintableString") {
            $0.subject = attribute("2.5.4.5", 19, Array("1".utf8))
        },
        .init("alternative-name-dns", true, "a name of the issuer") {
            $0.extensions?.set("2.5.29.18", Raw.sequence(Raw.tlv(0x82, Array("-".utf8))))
        },
        .init("alternative-name-email", true, "an address of the issuer") {
            $0.extensions?.set("2.5.29.18", Raw.sequence(RawCertificate.address("user")))
        },
        .init("alternative-name-uri", true, "a URI of the issuer") {
            $0.extensions?.set("2.5.29.18", Raw.sequence(Raw.tlv(0x86, Array("none".utf8))))
        },
        .init("alternative-name-ip", true, "an IP address of the issuer") {
            $0.extensions?.set("2.5.29.18", Raw.sequence(Raw.tlv(0x87, [1, 2, 3])))
        },
        .init("alternative-names-critical", false, "an empty subject") {
            $0.subject = Raw.sequence()
            $0.extensions?.mark("2.5.29.17", critical: true)
        },
        .init("alternative-name-ip", false, "an IPv6 address") {
            $0.extensions?.set("2.5.29.17", Raw.sequence(Raw.tlv(0x87, [UInt8](repeating: 1, count: 16))))
        },
        .init("alternative-name-email", false, "an IP address for a domain") {
            $0.extensions?.set("2.5.29.17", Raw.sequence(RawCertificate.address("joe@[192.0.2.1]")))
        },
        .init("alternative-name-email", false, "an IPv6 address for a domain") {
            $0.extensions?.set("2.5.29.17", Raw.sequence(RawCertificate.address("joe@[IPv6:2001:db8::1]")))
        },
        .init("alternative-name-email", true, "an IP address of three numbers") {
            $0.extensions?.set("2.5.29.17", Raw.sequence(RawCertificate.address("joe@[192.0.2]")))
        },
        .init("alternative-name-email", true, "an IP address without brackets at the end") {
            $0.extensions?.set("2.5.29.17", Raw.sequence(RawCertificate.address("joe@[192.0.2.1")))
        },
        .init("alternative-name-characters", true, "an address with the octet 80") {
            $0.extensions?.set("2.5.29.17", Raw.sequence(Raw.tlv(0x81, [0x61, 0x40, 0x80])))
        },
    ]

    private static let encodings: [Self] = [
        .init("boolean-encoding", true, "a critical flag of 01") {
            $0.extensions?.append(.init(oid: "1.2.3.9", value: Raw.null, flag: 1))
        },
        .init("boolean-encoding", false, "a critical flag of 00") {
            $0.extensions?.append(.init(oid: "1.2.3.9", value: Raw.null, flag: 0))
        },
        .init("boolean-encoding", false, "cA is FF") {
            $0.extensions?.set("2.5.29.19", Raw.sequence(Raw.yes), critical: true)
        },
        .init("bit-string-encoding", true, "an unused bit that is one") {
            $0.extensions?.set("2.5.29.15", [3, 2, 7, 0x81], critical: true)
        },
        .init("bit-string-encoding", true, "a last octet of zero bits") {
            $0.extensions?.set("2.5.29.15", [3, 3, 7, 0x80, 0], critical: true)
        },
        .init("bit-string-encoding", false, "nine bits") {
            $0.extensions?.set("2.5.29.15", [3, 3, 7, 0x80, 0x80], critical: true)
        },
        .init("bit-string-encoding", false, "no bits") {
            $0.extensions?.set("2.5.29.15", [3, 1, 0], critical: true)
        },
        .init("bit-string-encoding", true, "the reasons of a distribution point", reasons([0, 0x40])),
        .init("bit-string-encoding", false, "the reasons of a distribution point", reasons([6, 0x40])),
        .init("authority-key-identifier-unpaired", true, "an issuer without a serial number") {
            $0.extensions?.set("2.5.29.35", Raw.sequence(authorityKey, authorityIssuer))
        },
        .init("authority-key-identifier-unpaired", false, "an issuer and a serial number") {
            let serial = Raw.tlv(0x82, [5])
            $0.extensions?.set("2.5.29.35", Raw.sequence(authorityKey, authorityIssuer, serial))
        },
        .init("extension-malformed", true, "OCSP no check without contents") {
            $0.extensions?.set("1.3.6.1.5.5.7.48.1.5", [])
        },
        .init("extension-malformed", false, "OCSP no check with NULL") {
            $0.extensions?.set("1.3.6.1.5.5.7.48.1.5", Raw.null)
        },
        .init("extension-malformed", true, "a private key usage period that begins with a year") {
            $0.extensions?.set("2.5.29.16", Raw.sequence(Raw.tlv(0x80, Array("2020".utf8))))
        },
        .init("extension-malformed", false, "a private key usage period") {
            $0.extensions?.set("2.5.29.16", Raw.sequence(Raw.tlv(0x80, Array("20200101000000Z".utf8))))
        },
    ]

    private static let authorityKey = Raw.tlv(0x80, [1, 2, 3, 4])
    private static let authorityIssuer = Raw.tlv(0xA1, Raw.tlv(0xA4, Raw.name("Root")))

    private static func reasons(_ bits: [UInt8]) -> @Sendable (inout RawCertificate) -> Void {
        let url = Raw.tlv(0x86, Array("http://pki.example/ca.crl".utf8))
        let point = Raw.sequence(Raw.tlv(0xA0, Raw.tlv(0xA0, url)), Raw.tlv(0x81, bits))
        return { $0.extensions?.set("2.5.29.31", Raw.sequence(point)) }
    }

    private static let extensions: [Self] = [
        .init("extension-default-encoded", true, "cA is false") {
            $0.extensions?.set("2.5.29.19", Raw.sequence(Raw.no))
        },
        .init("extension-unknown-critical", false, "an unknown extension that is not critical") {
            $0.extensions?.set("1.2.3.9", Raw.null)
        },
        .init("extension-malformed", true, "a freshest CRL that is an INTEGER") {
            $0.extensions?.set("2.5.29.46", Raw.integer([0]))
        },
        .init("extension-malformed", false, "a freshest CRL") {
            $0.extensions?.set("2.5.29.46", Raw.sequence(RawCertificate.point("http://pki.example/d.crl")))
        },
        .init("key-usage-only-without-agreement", true, "decipherOnly") {
            $0.extensions?.set("2.5.29.15", [3, 3, 7, 0x80, 0x80], critical: true)
        },
        .init("basic-constraints-not-critical", false, "an end entity") {
            $0.extensions?.set("2.5.29.19", Raw.sequence())
        },
        .init("extended-key-usage-any-critical", false, "not critical") {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("2.5.29.37.0")))
        },
        .init("information-access-critical", true, "subject information") {
            let place = Raw.tlv(0x86, Array("http://pki.example".utf8))
            $0.extensions?.set(
                "1.3.6.1.5.5.7.1.11", Raw.sequence(Raw.sequence(Raw.oid("1.3.6.1.5.5.7.48.5"), place)),
                critical: true)
        },
        .init("information-access-empty", true, "subject information") {
            $0.extensions?.set("1.3.6.1.5.5.7.1.11", Raw.sequence())
        },
        .init("information-access-uri", true, "a responder") {
            let place = Raw.tlv(0x86, Array("pki.example".utf8))
            $0.extensions?.set(
                "1.3.6.1.5.5.7.1.1", Raw.sequence(Raw.sequence(Raw.oid("1.3.6.1.5.5.7.48.1"), place)))
        },
        .init("distribution-point-without-place", false, "only an issuer") {
            let issuer = Raw.tlv(0xA2, Raw.tlv(0xA4, Raw.name("Other CA")))
            $0.extensions?.set("2.5.29.31", Raw.sequence(Raw.sequence(issuer)))
        },
    ]

    private static func notice(
        _ count: Int, _ character: String = "a"
    ) -> @Sendable (inout RawCertificate) -> Void {
        let text = Raw.tlv(12, Array(String(repeating: character, count: count).utf8))
        return {
            let policy = RawCertificate.policy("1.2.3.4", RawCertificate.notice(text))
            $0.extensions?.set("2.5.29.32", Raw.sequence(policy))
        }
    }

    private static let policies: [Self] = [
        .init("policy-notice-long", false, "200 characters", notice(200)),
        .init("policy-notice-long", false, "200 characters of two octets", notice(200, "ä")),
        .init("policy-notice-long", true, "201 characters of two octets", notice(201, "ä")),
        .init("policy-notice-encoding", false, "a UTF8String", notice(1)),
        .init("policy-notice-string-type", false, "a UTF8String", notice(1)),
        .init("policies-empty", false, "an OCTET STRING") { $0.extensions?.set("2.5.29.32", [4, 0]) },
    ]

    private static let mail: [Self] = [
        .init("mail-address-missing", false, "an address in the subject") {
            $0.extensions?.remove("2.5.29.17")
            $0.subject = attribute("1.2.840.113549.1.9.1", 22, Array("user@mail.example".utf8))
        },
        .init("mail-address-in-subject-only", false, "upper case") {
            $0.subject = attribute("1.2.840.113549.1.9.1", 22, Array("USER@mail.example".utf8))
        },
        .init("mail-key-usage", true, "an address without an extended key usage") {
            $0.extensions?.remove("2.5.29.37")
            $0.extensions?.set("2.5.29.15", [3, 2, 4, 0x10])
        },
        .init("mail-purpose-missing", false, "any purpose") {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("2.5.29.37.0")))
        },
        .init("mail-validity-long", false, "825 days") { $0.notAfter = Raw.utc("270405235959Z") },
        .init("mail-validity-long", true, "825 days and a second") {
            $0.notAfter = Raw.utc("270406000000Z")
        },
        .init("mail-validity-long", true, "1,185 days") { $0.notAfter = Raw.utc("280330235959Z") },
        .init("mail-validity-too-long", false, "1,185 days") { $0.notAfter = Raw.utc("280330235959Z") },
        .init("mail-validity-too-long", true, "1,185 days and a second") {
            $0.notAfter = Raw.utc("280331000000Z")
        },
        .init("mail-validity-long", false, "1,185 days and a second") {
            $0.notAfter = Raw.utc("280331000000Z")
        },
    ]

    private static let keys: [Self] = [
        .init("weak-rsa-key", true, "2,047 bits") {
            $0.key = Raw.rsa([0x45] + [UInt8](repeating: 0xC5, count: 255))
        },
        .init("weak-rsa-key", false, "2,048 bits") { $0.key = Raw.rsa(octets: 256) },
        .init("weak-rsa-key", false, "an RSA key that cannot be loaded") {
            $0.key = Raw.sequence(
                Raw.algorithm("1.2.840.113549.1.1.1", Raw.null), Raw.tlv(3, [0], Raw.octets([1])))
        },
        .init("rsa-key-size", false, "1,032 bits") { $0.key = Raw.rsa(octets: 129) },
        .init("rsa-key-size", false, "2,304 bits") { $0.key = Raw.rsa(octets: 288) },
        .init("rsa-exponent-large", false, "256 bits") {
            $0.key = Raw.rsa(
                [UInt8](repeating: 0xC5, count: 256), exponent: [UInt8](repeating: 0x41, count: 32))
        },
        .init("curve-not-approved", false, "P-384") { $0.key = Raw.ec("1.3.132.0.34", point: [4, 1]) },
        .init("public-key-malformed", false, "an unknown type") {
            $0.key = Raw.sequence(Raw.algorithm("1.2.3.9"), Raw.tlv(3, [0, 1]))
        },
        .init("public-key-parameters", true, "an explicit curve") {
            $0.key = Raw.sequence(
                Raw.algorithm("1.2.840.10045.2.1", Raw.sequence(Raw.integer([1]))), Raw.tlv(3, [0, 4, 1]))
        },
        .init("public-key-parameters", true, "Ed25519 with NULL") {
            $0.key = edwards("1.3.101.112", Raw.null)
        },
        .init("public-key-parameters", false, "Ed25519") { $0.key = edwards("1.3.101.112", []) },
        .init("key-usage-unfit-for-key", true, "an RSA key that agrees") {
            $0.key = Raw.rsa(octets: 256)
            $0.extensions?.set("2.5.29.15", [3, 2, 3, 8], critical: true)
        },
        .init("key-usage-unfit-for-key", true, "an Ed25519 key that agrees") {
            $0.key = edwards("1.3.101.112", [])
            $0.extensions?.set("2.5.29.15", [3, 2, 3, 8], critical: true)
        },
        .init("key-usage-unfit-for-key", true, "an X25519 key that signs") {
            $0.key = edwards("1.3.101.110", [])
        },
    ]

    private static func edwards(_ type: String, _ parameters: [UInt8]) -> [UInt8] {
        Raw.sequence(Raw.algorithm(type, parameters), Raw.tlv(3, [0], [UInt8](repeating: 9, count: 32)))
    }

    private static let fascn = Raw.tlv(
        0xA0, Raw.oid("2.16.840.1.101.3.6.6"),
        Raw.tlv(0xA0, Raw.octets(Raw.hex("D4F810DA0D80AC1CE721CD8360DA19141082227084F810A3F0"))))

    private static func policy(_ identifier: String) -> [UInt8] {
        Raw.sequence(RawCertificate.policy(identifier))
    }

    private static let identifiers: [Self] = [
        .init("piv-rsa-key-size", true, "a FASC-N without a policy for PIV") {
            $0.key = Raw.rsa(octets: 512)
            $0.extensions?.set("2.5.29.17", Raw.sequence(fascn))
        },
        .init("piv-uuid-missing", true, "a derived credential") {
            $0.extensions?.set("2.5.29.32", policy("2.16.840.1.101.3.2.1.3.40"))
        },
        .init("piv-uuid-missing", false, "a prefix in upper case") {
            let uuid = Raw.tlv(0x86, Array("URN:UUID:f81d4fae-7dec-11d0-a765-00a0c91e6bf6".utf8))
            $0.extensions?.set("2.5.29.17", Raw.sequence(fascn, uuid))
            $0.extensions?.set("2.5.29.32", policy("2.16.840.1.101.3.2.1.3.13"))
        },
        .init("piv-fascn-missing", true, "the test policy with the purpose of smart cards") {
            $0.extensions?.set("2.5.29.32", policy("2.16.840.1.101.3.2.1.48.11"))
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("1.3.6.1.4.1.311.20.2.2")))
        },
        .init("piv-fascn-missing", false, "the test policy without that purpose") {
            $0.extensions?.set("2.5.29.32", policy("2.16.840.1.101.3.2.1.48.11"))
        },
        .init("piv-card-authentication-purpose", true, "another purpose") {
            let purposes = Raw.sequence(Raw.oid("2.16.840.1.101.3.6.8"), Raw.oid("1.3.6.1.5.5.7.3.2"))
            $0.extensions?.set("2.5.29.37", purposes, critical: true)
        },
        .init("piv-card-authentication-purpose", false, "only that purpose, critical") {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("2.16.840.1.101.3.6.8")), critical: true)
        },
    ]

    private static func subtree(_ tag: UInt8, _ name: [UInt8]) -> [UInt8] {
        Raw.sequence(Raw.tlv(0xA0, Raw.sequence(Raw.tlv(tag, name))))
    }

    private static let authority: [Self] = [
        .init("path-length-without-authority", true, "the key signs only lists") {
            $0.extensions?.set("2.5.29.15", [3, 2, 1, 2], critical: true)
        },
        .init("path-length-without-authority", false, "no key usage") { $0.extensions?.remove("2.5.29.15") },
        .init("path-length-negative", true, "the octet 80") {
            $0.extensions?.set("2.5.29.19", Raw.sequence(Raw.yes, Raw.integer([0x80])), critical: true)
        },
        .init("path-length-negative", false, "the octet 7F") {
            $0.extensions?.set("2.5.29.19", Raw.sequence(Raw.yes, Raw.integer([0x7F])), critical: true)
        },
        .init("subject-key-identifier-missing", false, "a certificate that is not DER") {
            $0.extensions?.remove("2.5.29.14")
            $0.subject = [0x30, 0x81] + $0.subject.dropFirst()
        },
        .init("extension-malformed", true, "inhibitAnyPolicy is a SEQUENCE") {
            $0.extensions?.set("2.5.29.54", Raw.sequence(), critical: true)
        },
        .init("extension-malformed", true, "inhibitAnyPolicy is negative") {
            $0.extensions?.set("2.5.29.54", Raw.integer([0xFF]), critical: true)
        },
        .init("extension-malformed", true, "a negative policy constraint") {
            $0.extensions?.set("2.5.29.36", Raw.sequence(Raw.tlv(0x80, [0xFF])), critical: true)
        },
        .init("extension-malformed", true, "a policy constraint of a foreign element") {
            $0.extensions?.set("2.5.29.36", Raw.sequence(Raw.tlv(0x85, [0])), critical: true)
        },
        .init("extension-malformed", true, "a policy mapping with one policy") {
            let mapping = Raw.sequence(Raw.oid("1.2.3.4"))
            $0.extensions?.set("2.5.29.33", Raw.sequence(mapping), critical: true)
        },
        .init("extension-malformed", true, "name constraints that contain an INTEGER") {
            $0.extensions?.set("2.5.29.30", Raw.sequence(Raw.integer([1])), critical: true)
        },
        .init("extension-malformed", true, "a constraint on an IP address without mask") {
            $0.extensions?.set("2.5.29.30", subtree(0x87, [192, 0, 2, 0]), critical: true)
        },
        .init("extension-malformed", false, "a constraint on an IP address with a mask") {
            $0.extensions?.set("2.5.29.30", subtree(0x87, [192, 0, 2, 0, 255, 255, 255, 0]), critical: true)
        },
        .init("extension-malformed", true, "distribution points that contain an INTEGER") {
            $0.extensions?.set("2.5.29.31", Raw.sequence(Raw.integer([1])))
        },
        .init("extension-malformed", true, "access information that contains an INTEGER") {
            $0.extensions?.set("1.3.6.1.5.5.7.1.1", Raw.sequence(Raw.integer([1])))
        },
        .init("name-constraints-empty", true, "empty subtrees") {
            $0.extensions?.set("2.5.29.30", Raw.sequence(Raw.tlv(0xA0, [])), critical: true)
        },
        .init("mail-address-missing", false, "an authority for e-mail") {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("1.3.6.1.5.5.7.3.4")))
        },
        .init("mail-purpose-missing", false, "an authority with an address") {
            $0.extensions?.set("2.5.29.17", Raw.sequence(RawCertificate.address("ca@mail.example")))
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("1.3.6.1.5.5.7.3.2")))
        },
        .init("piv-key-usage", false, "an authority for PIV") {
            $0.extensions?.set("2.5.29.32", policy("2.16.840.1.101.3.2.1.3.13"))
        },
        .init("piv-fascn-missing", false, "an authority for PIV") {
            $0.extensions?.set("2.5.29.32", policy("2.16.840.1.101.3.2.1.3.13"))
        },
    ]

    private static func constraint(
        _ isFound: Bool, _ note: String, _ tag: UInt8, _ name: [UInt8]
    ) -> Self {
        .init("name-constraints-syntax", isFound, note) {
            $0.extensions?.set("2.5.29.30", subtree(tag, name), critical: true)
        }
    }

    private static let authorityConstraints: [Self] = [
        constraint(false, "every host name", 0x82, []),
        constraint(true, "a host name with a hyphen at the end", 0x82, Array("example-".utf8)),
        constraint(false, "the host of a URI", 0x86, Array("www.example".utf8)),
        constraint(false, "a domain of URIs", 0x86, Array(".example".utf8)),
        constraint(true, "a URI", 0x86, Array("http://www.example/".utf8)),
        constraint(true, "an empty host of a URI", 0x86, []),
        constraint(false, "every IPv4 address", 0x87, [UInt8](repeating: 0, count: 8)),
        constraint(false, "20 bits of an IPv4 address", 0x87, [10, 1, 0x10, 0, 255, 255, 0xF0, 0]),
        constraint(true, "a mask with a gap in an octet", 0x87, [10, 0, 0, 0, 255, 0xA0, 0, 0]),
        constraint(true, "a mask with a gap of an octet", 0x87, [10, 0, 0, 0, 255, 0, 255, 0]),
        constraint(true, "an address with bits outside the mask", 0x87, [10, 0, 0, 1, 255, 255, 255, 0]),
        constraint(
            false, "an IPv6 address", 0x87,
            [UInt8](repeating: 1, count: 16) + [UInt8](repeating: 255, count: 16)),
    ]

    private static let authorityPolicies: [Self] = [
        .init("policy-mapping-any", true, "anyPolicy of the issuer") {
            let mapping = Raw.sequence(Raw.oid("2.5.29.32.0"), Raw.oid("1.2.3.4"))
            $0.extensions?.set("2.5.29.33", Raw.sequence(mapping), critical: true)
        }
    ]
}
