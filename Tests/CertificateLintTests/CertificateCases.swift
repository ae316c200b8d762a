/// Certificates that break one rule each.
struct CertificateCase: Sendable, CustomStringConvertible {
    let code: String
    /// A certificate without this finding.
    let base: @Sendable () -> RawCertificate
    /// The change that leads to the finding.
    let change: @Sendable (inout RawCertificate) -> Void

    init(
        _ code: String, _ base: @escaping @Sendable () -> RawCertificate = { .person },
        _ change: @escaping @Sendable (inout RawCertificate) -> Void
    ) {
        self.code = code
        self.base = base
        self.change = change
    }

    var description: String { code }

    static let all: [CertificateCase] = fields + extensions + names + policies + credentials + keys

    private static let person: @Sendable () -> RawCertificate = { .person }
    private static let piv: @Sendable () -> RawCertificate = { .piv }
    private static let authority: @Sendable () -> RawCertificate = { .authority }

    private static let fields: [CertificateCase] = [
        .init("certificate-not-der") { $0.subject = [0x30, 0x81] + $0.subject.dropFirst() },
        .init("certificate-too-large") {
            $0.extensions?.set("1.2.3.9", Raw.octets([UInt8](repeating: 0, count: 1 << 20)))
        },
        .init("version-not-3") { $0.version = nil },
        .init("version-outdated") {
            $0.version = nil
            $0.extensions = nil
        },
        .init("serial-short") { $0.serial = [0x4A] },
        .init("serial-not-positive") { $0.serial = [0] },
        .init("serial-too-long") { $0.serial = [UInt8](repeating: 0x4A, count: 21) },
        .init("signature-algorithms-differ") { $0.inner = Raw.algorithm("1.2.840.10045.4.3.3") },
        .init("signature-parameters") {
            $0.inner = Raw.algorithm("1.2.840.10045.4.3.2", Raw.null)
            $0.outer = $0.inner
        },
        .init("weak-signature-digest") {
            $0.inner = Raw.algorithm("1.2.840.10045.4.1")
            $0.outer = $0.inner
        },
        .init("unique-identifiers") { $0.uniqueIdentifiers = Raw.tlv(0x81, [0, 1]) },
        .init("extensions-empty") { $0.extensions = [] },
        .init("validity-encoding") { $0.notAfter = Raw.generalized("20270101000000Z") },
        .init("validity-time-format") { $0.notAfter = Raw.utc("2701010000Z") },
        .init("validity-unreadable") { $0.notAfter = Raw.utc("271301000000Z") },
        .init("validity-reversed") { $0.notAfter = Raw.utc("240101000000Z") },
        .init("expired") { $0.notAfter = Raw.utc("250201000000Z") },
        .init("not-yet-valid") { $0.notBefore = Raw.utc("260201000000Z") },
        .init("issuer-empty") { $0.issuer = Raw.sequence() },
        .init("subject-empty-authority", authority) { $0.subject = Raw.sequence() },
        .init("subject-empty") { $0.subject = Raw.sequence() },
        .init("name-country") { $0.subject = Raw.name((type: "2.5.4.6", tag: 12, value: Array("US".utf8))) },
        .init("name-too-long") { $0.subject = Raw.name(String(repeating: "a", count: 65)) },
        .init("name-empty-value") { $0.subject = Raw.name("") },
        .init("name-email") {
            $0.subject = Raw.name((type: "1.2.840.113549.1.9.1", tag: 22, value: Array("...".utf8)))
        },
        .init("name-attribute-type") {
            $0.subject = Raw.name((type: "2.5.4.5", tag: 12, value: Array("1".utf8)))
        },
        .init("name-string-type") { $0.subject = Raw.name((type: "2.5.4.3", tag: 30, value: [0, 0x41])) },
        .init("name-characters") {
            $0.subject = Raw.name((type: "2.5.4.3", tag: 19, value: Array("a@b".utf8)))
        },
    ]

    private static let extensions: [CertificateCase] = [
        .init("extension-duplicate") {
            let identifier = Raw.octets([5, 6, 7, 8])
            $0.extensions?.append(.init(oid: "2.5.29.14", value: identifier))
        },
        .init("extension-malformed") { $0.extensions?.set("2.5.29.15", [4, 0], critical: true) },
        .init("extension-unknown-critical") { $0.extensions?.set("1.2.3.9", Raw.null, critical: true) },
        .init("extension-default-encoded") { $0.extensions?.mark("2.5.29.14", critical: false) },
        .init("boolean-encoding") {
            $0.extensions?.set("2.5.29.19", Raw.sequence([1, 1, 1]), critical: true)
        },
        .init("bit-string-encoding") { $0.extensions?.set("2.5.29.15", [3, 2, 0, 0x80], critical: true) },
        .init("subject-directory-attributes-empty") { $0.extensions?.set("2.5.29.9", Raw.sequence()) },
        .init("subject-directory-attributes-critical") {
            $0.extensions?.set("2.5.29.9", Raw.sequence(), critical: true)
        },
        .init("authority-key-identifier-missing") { $0.extensions?.remove("2.5.29.35") },
        .init("authority-key-identifier-incomplete") { $0.extensions?.set("2.5.29.35", Raw.sequence()) },
        .init("authority-key-identifier-unpaired") {
            let serial = Raw.tlv(0x82, [5])
            $0.extensions?.set("2.5.29.35", Raw.sequence(Raw.tlv(0x80, [1, 2, 3, 4]), serial))
        },
        .init("authority-key-identifier-critical") { $0.extensions?.mark("2.5.29.35", critical: true) },
        .init("subject-key-identifier-missing", authority) { $0.extensions?.remove("2.5.29.14") },
        .init("subject-key-identifier-absent") { $0.extensions?.remove("2.5.29.14") },
        .init("subject-key-identifier-critical") { $0.extensions?.mark("2.5.29.14", critical: true) },
        .init("key-usage-missing", authority) { $0.extensions?.remove("2.5.29.15") },
        .init("key-usage-not-critical") { $0.extensions?.mark("2.5.29.15", critical: nil) },
        .init("key-usage-empty") { $0.extensions?.set("2.5.29.15", [3, 1, 0], critical: true) },
        .init("key-usage-signs-without-authority") { $0.extensions?.set("2.5.29.15", [3, 2, 2, 4]) },
        .init("key-usage-authority-signs-nothing", authority) {
            $0.extensions?.set("2.5.29.15", [3, 2, 1, 2])
        },
        .init("key-usage-only-without-agreement") { $0.extensions?.set("2.5.29.15", [3, 2, 0, 0x81]) },
        .init("key-usage-unfit-for-key") { $0.extensions?.set("2.5.29.15", [3, 2, 5, 0x20]) },
        .init("basic-constraints-not-critical", authority) {
            $0.extensions?.mark("2.5.29.19", critical: nil)
        },
        .init("path-length-without-authority") {
            $0.extensions?.set("2.5.29.19", Raw.sequence(Raw.integer([0])))
        },
        .init("path-length-negative", authority) {
            $0.extensions?.set("2.5.29.19", Raw.sequence(Raw.yes, Raw.integer([0xFF])), critical: true)
        },
        .init("extended-key-usage-empty") { $0.extensions?.set("2.5.29.37", Raw.sequence()) },
        .init("extended-key-usage-any") {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("2.5.29.37.0")))
        },
        .init("extended-key-usage-any-critical") {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("2.5.29.37.0")), critical: true)
        },
        .init("extended-key-usage-duplicate") {
            let purpose = Raw.oid("1.3.6.1.5.5.7.3.4")
            $0.extensions?.set("2.5.29.37", Raw.sequence(purpose, purpose))
        },
    ]

    private static func alternativeName(_ code: String, _ tag: UInt8, _ value: [UInt8]) -> CertificateCase {
        .init(code) { $0.extensions?.set("2.5.29.17", Raw.sequence(Raw.tlv(tag, value))) }
    }

    private static let names: [CertificateCase] = [
        .init("alternative-names-empty") { $0.extensions?.set("2.5.29.17", Raw.sequence()) },
        .init("alternative-names-critical") { $0.extensions?.mark("2.5.29.17", critical: true) },
        alternativeName("alternative-name-email", 0x81, Array("nobody".utf8)),
        alternativeName("alternative-name-email", 0x81, Array("a..b@mail.example".utf8)),
        alternativeName("alternative-name-dns", 0x82, Array("-host.example".utf8)),
        alternativeName("alternative-name-dns", 0x82, Array("*.host.example".utf8)),
        alternativeName("alternative-name-uri", 0x86, Array("no-scheme".utf8)),
        alternativeName("alternative-name-uri", 0x86, Array("http://host.example/a b".utf8)),
        alternativeName("alternative-name-uri", 0x86, Array("http://host/a".utf8)),
        alternativeName("alternative-name-ip", 0x87, [127, 0, 0]),
        alternativeName("alternative-name-characters", 0x82, [0x61, 0xE4]),
        otherName(
            "alternative-name-smtp-utf8", "1.3.6.1.5.5.7.8.9", Raw.tlv(12, Array("user@mail.example".utf8))),
        .init("issuer-alternative-names-empty") { $0.extensions?.set("2.5.29.18", Raw.sequence()) },
        .init("issuer-alternative-names-critical") {
            $0.extensions?.set(
                "2.5.29.18", Raw.sequence(RawCertificate.address("a@b.example")), critical: true)
        },
        .init("name-constraints-end-entity") {
            $0.extensions?.set("2.5.29.30", RawCertificate.authority.value("2.5.29.30"), critical: true)
        },
        .init("name-constraints-not-critical", authority) { $0.extensions?.mark("2.5.29.30", critical: nil) },
        .init("name-constraints-empty", authority) {
            $0.extensions?.set("2.5.29.30", Raw.sequence(), critical: true)
        },
        .init("name-constraints-distance", authority) {
            let subtree = Raw.sequence(Raw.tlv(0x82, Array("example".utf8)), Raw.tlv(0x80, [1]))
            $0.extensions?.set("2.5.29.30", Raw.sequence(Raw.tlv(0xA0, subtree)), critical: true)
        },
        .init("name-constraints-syntax", authority) {
            let subtree = Raw.sequence(Raw.tlv(0x82, Array(".example".utf8)))
            $0.extensions?.set("2.5.29.30", Raw.sequence(Raw.tlv(0xA0, subtree)), critical: true)
        },
    ]

    private static func notice(_ code: String, _ contents: [UInt8]) -> CertificateCase {
        .init(code) {
            let policy = RawCertificate.policy("1.2.3.4", RawCertificate.notice(contents))
            $0.extensions?.set("2.5.29.32", Raw.sequence(policy))
        }
    }

    private static let policies: [CertificateCase] = [
        .init("policies-empty") { $0.extensions?.set("2.5.29.32", Raw.sequence()) },
        .init("policy-duplicate") {
            $0.extensions?.set("2.5.29.32", Raw.sequence(RawCertificate.policy(), RawCertificate.policy()))
        },
        .init("policy-qualifiers-empty") {
            let policy = Raw.sequence(Raw.oid("1.2.3.4"), Raw.sequence())
            $0.extensions?.set("2.5.29.32", Raw.sequence(policy))
        },
        .init("policy-qualifier-critical") {
            let policy = RawCertificate.policy("1.2.3.4", Raw.sequence(Raw.oid("1.2.3.9"), Raw.null))
            $0.extensions?.set("2.5.29.32", Raw.sequence(policy), critical: true)
        },
        notice("policy-notice-encoding", Raw.tlv(22, Array("text".utf8))),
        notice("policy-notice-string-type", Raw.tlv(26, Array("text".utf8))),
        notice("policy-notice-string-type", Raw.tlv(30, [0, 0x61])),
        notice("policy-notice-long", Raw.tlv(12, [UInt8](repeating: 0x61, count: 201))),
        notice(
            "policy-notice-reference",
            Raw.sequence(Raw.tlv(12, Array("org".utf8)), Raw.sequence(Raw.integer([1])))),
        .init("policy-mapping-any", authority) {
            let mapping = Raw.sequence(Raw.oid("1.2.3.4"), Raw.oid("2.5.29.32.0"))
            $0.extensions?.set("2.5.29.33", Raw.sequence(mapping), critical: true)
        },
        .init("policy-mappings-not-critical", authority) { $0.extensions?.mark("2.5.29.33", critical: nil) },
        .init("policy-constraints-empty", authority) {
            $0.extensions?.set("2.5.29.36", Raw.sequence(), critical: true)
        },
        .init("policy-constraints-not-critical", authority) {
            $0.extensions?.mark("2.5.29.36", critical: nil)
        },
        .init("inhibit-any-policy-not-critical", authority) {
            $0.extensions?.mark("2.5.29.54", critical: nil)
        },
        .init("policy-extension-end-entity") {
            $0.extensions?.set("2.5.29.54", Raw.integer([0]), critical: true)
        },
        .init("distribution-points-critical") { $0.extensions?.mark("2.5.29.31", critical: true) },
        .init("distribution-points-empty") { $0.extensions?.set("2.5.29.31", Raw.sequence()) },
        .init("distribution-point-without-place") {
            $0.extensions?.set("2.5.29.31", Raw.sequence(Raw.sequence(Raw.tlv(0x81, [1, 2]))))
        },
        .init("distribution-point-uri") {
            $0.extensions?.set("2.5.29.31", Raw.sequence(RawCertificate.point("file://\\\\host\\ca.crl")))
        },
        .init("freshest-crl-critical") {
            let point = RawCertificate.point("http://pki.example/delta.crl")
            $0.extensions?.set("2.5.29.46", Raw.sequence(point), critical: true)
        },
        .init("information-access-critical") { $0.extensions?.mark("1.3.6.1.5.5.7.1.1", critical: true) },
        .init("information-access-empty") { $0.extensions?.set("1.3.6.1.5.5.7.1.1", Raw.sequence()) },
        .init("information-access-uri") {
            let place = Raw.tlv(0x86, Array("pki.example".utf8))
            $0.extensions?.set(
                "1.3.6.1.5.5.7.1.1", Raw.sequence(Raw.sequence(Raw.oid("1.3.6.1.5.5.7.48.2"), place)))
        },
    ]

    private static let credentials: [CertificateCase] = [
        .init("mail-key-usage") { $0.extensions?.set("2.5.29.15", [3, 2, 4, 0x10]) },
        .init("mail-address-missing") { $0.extensions?.remove("2.5.29.17") },
        .init("mail-address-in-subject-only") {
            $0.subject = Raw.name(
                (type: "1.2.840.113549.1.9.1", tag: 22, value: Array("other@mail.example".utf8)))
        },
        .init("mail-purpose-missing") {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("1.3.6.1.5.5.7.3.2")))
        },
        .init("mail-validity-long") { $0.notAfter = Raw.utc("280101000000Z") },
        .init("mail-validity-too-long") { $0.notAfter = Raw.utc("290101000000Z") },
        .init("piv-key-usage", piv) { $0.extensions?.set("2.5.29.15", [3, 2, 6, 0xC0], critical: true) },
        .init("piv-fascn-missing", piv) {
            let uuid = Raw.tlv(0x86, Array("urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6".utf8))
            $0.extensions?.set("2.5.29.17", Raw.sequence(uuid))
        },
        .init("piv-uuid-missing", piv) {
            $0.extensions?.set("2.5.29.17", Raw.sequence(RawCertificate.address("user@mail.example")))
        },
        .init("derived-piv-fascn", piv) {
            $0.extensions?.set(
                "2.5.29.32", Raw.sequence(RawCertificate.policy("2.16.840.1.101.3.2.1.48.109")))
        },
        .init("piv-rsa-key-size", piv) { $0.key = Raw.rsa(octets: 512) },
        .init("piv-card-authentication-purpose", piv) {
            $0.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("2.16.840.1.101.3.6.8")))
        },
        otherName("fascn-damaged", "2.16.840.1.101.3.6.6", Raw.octets([1, 2, 3])),
        .init("fascn-of-another-person", piv) { $0.subject = Raw.name("DOE.JANE.5557779001") },
        otherName("upn-malformed", "1.3.6.1.4.1.311.20.2.3", Raw.octets([1])),
        .init("upn-of-another-person") {
            $0.subject = Raw.name("DOE.JANE.5557779001")
            $0.extensions?.set("2.5.29.17", Raw.sequence(principal("5557779002@mil")))
        },
        .init("upn-of-another-affiliation", piv) {
            let names = $0.value("2.5.29.17").dropFirst(2)
            $0.extensions?.set("2.5.29.17", Raw.sequence(Array(names), principal("1381224291999999@mil")))
        },
        alternativeName("uuid-malformed", 0x86, Array("urn:uuid:none".utf8)),
        .init("sid-damaged") { $0.extensions?.set("1.3.6.1.4.1.311.25.2", Raw.null) },
        .init("sid-of-another-account") {
            let account = Raw.tlv(0xA0, Raw.octets(Array("S-1-5-21-1-2-3-1001".utf8)))
            let name = Raw.tlv(0xA0, Raw.oid("1.3.6.1.4.1.311.25.2.1"), account)
            $0.extensions?.set("1.3.6.1.4.1.311.25.2", Raw.sequence(name))
            let uri = "tag:microsoft.com,2022-09-14:sid:S-1-5-21-1-2-3-1002"
            $0.extensions?.set("2.5.29.17", Raw.sequence(Raw.tlv(0x86, Array(uri.utf8))))
        },
    ]

    private static func otherName(_ code: String, _ type: String, _ value: [UInt8]) -> CertificateCase {
        .init(code) {
            let name = Raw.tlv(0xA0, Raw.oid(type), Raw.tlv(0xA0, value))
            $0.extensions?.set("2.5.29.17", Raw.sequence(name))
        }
    }

    private static func principal(_ name: String) -> [UInt8] {
        Raw.tlv(0xA0, Raw.oid("1.3.6.1.4.1.311.20.2.3"), Raw.tlv(0xA0, Raw.tlv(12, Array(name.utf8))))
    }

    private static let rsa: @Sendable () -> RawCertificate = {
        var certificate = RawCertificate.person
        certificate.key = Raw.rsa(octets: 256)
        return certificate
    }

    private static let keys: [CertificateCase] = [
        .init("public-key-malformed") {
            $0.key = Raw.ec("1.2.840.10045.3.1.7", point: [4] + [UInt8](repeating: 1, count: 64))
        },
        .init("public-key-parameters", rsa) {
            $0.key = Raw.rsa([UInt8](repeating: 0xC5, count: 256), parameters: [])
        },
        .init("weak-rsa-key", rsa) { $0.key = Raw.rsa(octets: 128) },
        .init("rsa-key-size", rsa) { $0.key = Raw.rsa(octets: 257) },
        .init("weak-rsa-exponent", rsa) {
            $0.key = Raw.rsa([UInt8](repeating: 0xC5, count: 256), exponent: [3])
        },
        .init("rsa-exponent-large", rsa) {
            $0.key = Raw.rsa(
                [UInt8](repeating: 0xC5, count: 256), exponent: [UInt8](repeating: 0x41, count: 33))
        },
        .init("rsa-modulus-even", rsa) { $0.key = Raw.rsa([UInt8](repeating: 0xC4, count: 256)) },
        .init("curve-not-approved") { $0.key = Raw.ec("1.3.132.0.35", point: [4, 1]) },
        .init("key-type-obsolete") {
            $0.key = Raw.sequence(Raw.algorithm("1.2.840.10040.4.1"), Raw.tlv(3, [0], Raw.integer([1])))
        },
    ]
}

extension RawCertificate {
    /// The contents of an extension; empty if it is absent.
    func value(_ oid: String) -> [UInt8] { extensions?.first { $0.oid == oid }?.value ?? [] }
}
