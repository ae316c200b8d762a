/// Revocation lists that break one rule each.
struct ListCase: Sendable, CustomStringConvertible {
    let code: String
    let change: @Sendable (inout RawList) -> Void

    init(_ code: String, _ change: @escaping @Sendable (inout RawList) -> Void) {
        self.code = code
        self.change = change
    }

    var description: String { code }

    private static let delta = "2.5.29.27"
    private static let scope = "2.5.29.28"

    static let all: [ListCase] = [
        .init("list-not-der") { $0.issuer = [0x30, 0x81] + $0.issuer.dropFirst() },
        .init("list-version") { $0.version = nil },
        .init("list-version-outdated") {
            $0.version = nil
            $0.extensions = nil
            $0.entries = nil
        },
        .init("list-signature-algorithms-differ") { $0.inner = Raw.algorithm("1.2.840.10045.4.3.3") },
        .init("list-weak-signature-digest") {
            $0.inner = Raw.algorithm("1.2.840.113549.1.1.4", Raw.null)
            $0.outer = $0.inner
        },
        .init("list-issuer-empty") { $0.issuer = Raw.sequence() },
        .init("list-time-encoding") { $0.nextUpdate = Raw.generalized("20270101000000Z") },
        .init("list-time-format") { $0.nextUpdate = Raw.utc("2701010000Z") },
        .init("list-next-update-missing") { $0.nextUpdate = [] },
        .init("list-next-update-reversed") { $0.nextUpdate = Raw.utc("240101000000Z") },
        .init("list-expired") { $0.nextUpdate = Raw.utc("250201000000Z") },
        .init("list-not-yet-valid") { $0.thisUpdate = Raw.utc("260201000000Z") },
        .init("list-extension-duplicate") {
            $0.extensions?.append(.init(oid: "2.5.29.20", value: Raw.integer([9])))
        },
        .init("list-extension-malformed") { $0.extensions?.set("2.5.29.20", Raw.octets([9])) },
        .init("list-boolean-encoding") {
            $0.extensions?.append(.init(oid: "1.2.3.9", value: Raw.null, flag: 1))
        },
        .init("list-extension-unknown-critical") { $0.extensions?.set("1.2.3.9", Raw.null, critical: true) },
        .init("list-authority-key-identifier-missing") { $0.extensions?.remove("2.5.29.35") },
        .init("list-number-missing") { $0.extensions?.remove("2.5.29.20") },
        .init("list-number-too-long") {
            $0.extensions?.set("2.5.29.20", Raw.integer([UInt8](repeating: 1, count: 21)))
        },
        .init("list-number-negative") { $0.extensions?.set("2.5.29.20", Raw.integer([0xFD])) },
        .init("list-number-critical") { $0.extensions?.mark("2.5.29.20", critical: true) },
        .init("list-delta-not-critical") { $0.extensions?.set(delta, Raw.integer([8])) },
        .init("list-delta-base-newer") { $0.extensions?.set(delta, Raw.integer([9]), critical: true) },
        .init("list-delta-freshest") {
            $0.extensions?.set(delta, Raw.integer([8]), critical: true)
            $0.extensions?.set("2.5.29.46", Raw.sequence(RawCertificate.point("http://pki.example/d.crl")))
        },
        .init("list-scope-not-critical") { $0.extensions?.set(scope, Raw.sequence(Raw.tlv(0x81, [0xFF]))) },
        .init("list-scope-empty") { $0.extensions?.set(scope, Raw.sequence(), critical: true) },
        .init("list-scope-contradictory") {
            let kinds = Raw.sequence(Raw.tlv(0x81, [0xFF]), Raw.tlv(0x82, [0xFF]))
            $0.extensions?.set(scope, kinds, critical: true)
        },
        .init("list-entries-empty") { $0.entries = [] },
        .init("list-entry-extension-malformed") {
            $0.entries = [.init(extensions: [.init(oid: "2.5.29.21", value: Raw.null)])]
        },
        .init("list-entry-reason-unspecified") { $0.reason(0) },
        .init("list-entry-reason-unknown") { $0.reason(7) },
        .init("list-entry-reason-remove") { $0.reason(8) },
        .init("list-entry-reason-critical") { $0.reason(1, critical: true) },
        .init("list-entry-issuer-direct") {
            let names = Raw.sequence(Raw.tlv(0xA4, Raw.name("Other CA")))
            $0.entries = [.init(extensions: [.init(oid: "2.5.29.29", critical: true, value: names)])]
        },
        .init("list-entry-issuer-not-critical") {
            let names = Raw.sequence(Raw.tlv(0xA4, Raw.name("Other CA")))
            $0.entries = [.init(extensions: [.init(oid: "2.5.29.29", value: names)])]
        },
        .init("list-entry-unknown-critical") {
            $0.entries = [.init(extensions: [.init(oid: "1.2.3.9", critical: true, value: Raw.null)])]
        },
        .init("list-entry-serial") { $0.entries = [.init(serial: [0])] },
        .init("list-entry-duplicate") { $0.entries = [.init(), .init()] },
    ]
}
