import Foundation

extension BoundaryCase<RawList> {
    static var all: [Self] { fields + numbers + issuers + entries }

    private static let delta = "2.5.29.27"
    private static let number = "2.5.29.20"
    private static let scope = "2.5.29.28"

    private static let fields: [Self] = [
        .init("list-version", true, "only an entry has extensions") {
            $0.version = nil
            $0.extensions = nil
        },
        .init("list-version-outdated", false, "only an entry has extensions") {
            $0.version = nil
            $0.extensions = nil
        },
        .init("list-version-outdated", false, "a list that is not DER") {
            $0.issuer = [0x30, 0x81] + $0.issuer.dropFirst()
        },
        .init("list-authority-key-identifier-missing", false, "version 1") {
            $0.version = nil
            $0.extensions?.remove("2.5.29.35")
        },
        .init("list-number-missing", false, "version 1") {
            $0.version = nil
            $0.extensions?.remove(number)
        },
        .init("list-number-missing", false, "no revoked certificates") { $0.entries = nil },
        .init("list-next-update-reversed", false, "equal times") { $0.nextUpdate = $0.thisUpdate },
        .init("list-expired", false, "an end now") { $0.nextUpdate = Raw.utc("250601000000Z") },
        .init("list-not-yet-valid", false, "a start now") { $0.thisUpdate = Raw.utc("250601000000Z") },
        .init("list-time-format", true, "no zone") { $0.nextUpdate = Raw.utc("2701010000000") },
        .init("list-time-format", true, "a letter") { $0.nextUpdate = Raw.utc("27010100000aZ") },
        .init("list-extension-unknown-critical", false, "not critical") {
            $0.extensions?.set("1.2.3.9", Raw.null)
        },
        .init("list-boolean-encoding", true, "an entry's extension") {
            $0.entries = [.init(extensions: [.init(oid: "1.2.3.9", value: Raw.null, flag: 2)])]
        },
        .init("list-boolean-encoding", false, "a flag of FF") {
            $0.extensions?.set("1.2.3.9", Raw.null, critical: true)
        },
        .init("list-extension-malformed", true, "a scope that is an INTEGER") {
            $0.extensions?.set(scope, Raw.integer([1]), critical: true)
        },
        .init("list-scope-contradictory", false, "one kind of certificate") {
            $0.extensions?.set(scope, Raw.sequence(Raw.tlv(0x81, [0xFF])), critical: true)
        },
        .init("list-scope-contradictory", true, "attribute certificates and authorities") {
            let kinds = Raw.sequence(Raw.tlv(0x82, [0xFF]), Raw.tlv(0x85, [0xFF]))
            $0.extensions?.set(scope, kinds, critical: true)
        },
    ]

    private static func numbers(_ own: [UInt8], base: [UInt8]) -> @Sendable (inout RawList) -> Void {
        {
            $0.extensions?.set(number, Raw.integer(own))
            $0.extensions?.set(delta, Raw.integer(base), critical: true)
        }
    }

    private static let numbers: [Self] = [
        .init("list-number-too-long", false, "20 octets") {
            $0.extensions?.set(number, Raw.integer([UInt8](repeating: 1, count: 20)))
        },
        .init("list-number-negative", false, "a leading zero octet") {
            $0.extensions?.set(number, Raw.integer([0, 0x80]))
        },
        .init("list-delta-base-newer", false, "8 before 9", numbers([9], base: [8])),
        .init("list-delta-base-newer", true, "256 after 9", numbers([9], base: [1, 0])),
        .init("list-delta-base-newer", false, "137 before 138", numbers([0, 0x8A], base: [0, 0x89])),
        .init("list-delta-base-newer", false, "137 before 256", numbers([1, 0], base: [0, 0x89])),
        .init("list-delta-base-newer", true, "zero and zero", numbers([0], base: [0])),
    ]

    private static func reason(_ value: [UInt8]) -> @Sendable (inout RawList) -> Void {
        { $0.entries = [.init(extensions: [.init(oid: "2.5.29.21", value: value)])] }
    }

    private static func serial(_ octets: [UInt8]) -> @Sendable (inout RawList) -> Void {
        { $0.entries = [.init(serial: octets)] }
    }

    /// Gives the only entry a certificate issuer, and the list an issuing distribution point.
    private static func issuer(
        _ names: [UInt8], scope contents: [UInt8] = Raw.tlv(0x84, [0xFF])
    ) -> @Sendable (inout RawList) -> Void {
        {
            let issuer = Raw.Extension(oid: "2.5.29.29", critical: true, value: Raw.sequence(names))
            $0.entries = [.init(extensions: [issuer])]
            $0.extensions?.set(scope, Raw.sequence(contents), critical: true)
        }
    }

    private static let directoryName = Raw.tlv(0xA4, Raw.name("Other CA"))
    private static let hostName = Raw.tlv(0x82, Array("ca.example".utf8))

    private static let issuers: [Self] = [
        .init("list-entry-issuer-direct", false, "an indirect list", issuer(directoryName)),
        .init(
            "list-entry-issuer-direct", true, "a scope without the flag of an indirect list",
            issuer(directoryName, scope: Raw.tlv(0x81, [0xFF]))),
        .init("list-entry-extension-malformed", false, "a directory name", issuer(directoryName)),
        .init("list-entry-extension-malformed", true, "an issuer that is a host name", issuer(hostName)),
        .init("list-entry-extension-malformed", true, "an issuer without names", issuer([])),
        .init("list-entry-extension-malformed", true, "an invalidity date without seconds") {
            let date = Raw.Extension(oid: "2.5.29.24", value: Raw.generalized("202501010000Z"))
            $0.entries = [.init(extensions: [date])]
        },
        .init("list-entry-extension-malformed", false, "an invalidity date") {
            let date = Raw.Extension(oid: "2.5.29.24", value: Raw.generalized("20250101000000Z"))
            $0.entries = [.init(extensions: [date])]
        },
    ]

    private static let entries: [Self] = [
        .init("list-entry-reason-unknown", false, "10", reason([10, 1, 10])),
        .init("list-entry-reason-unknown", true, "11", reason([10, 1, 11])),
        .init("list-entry-reason-unknown", true, "two octets", reason([10, 2, 1, 1])),
        .init("list-entry-reason-unknown", false, "an INTEGER", reason([2, 1, 7])),
        .init("list-entry-reason-remove", false, "a delta list") {
            $0.reason(8)
            $0.extensions?.set(delta, Raw.integer([8]), critical: true)
        },
        .init("list-entry-unknown-critical", false, "not critical") {
            $0.entries = [.init(extensions: [.init(oid: "1.2.3.9", value: Raw.null)])]
        },
        .init("list-entry-serial", false, "20 octets", serial([UInt8](repeating: 1, count: 20))),
        .init("list-entry-serial", true, "21 octets", serial([UInt8](repeating: 1, count: 21))),
        .init("list-entry-serial", true, "a negative number", serial([0x80])),
        .init("list-entry-serial", false, "a leading zero octet", serial([0, 0x80])),
        .init("list-entry-duplicate", false, "an indirect list") {
            let names = Raw.sequence(Raw.tlv(0xA4, Raw.name("Other CA")))
            let issuer = Raw.Extension(oid: "2.5.29.29", critical: true, value: names)
            $0.entries = [.init(), .init(extensions: [issuer])]
        },
    ]
}

extension BoundaryCase<RawResponse> {
    static var all: [Self] { responses }

    private static let responses: [Self] = [
        .init("response-next-update-reversed", false, "equal times") {
            $0.nextUpdate = Raw.tlv(0xA0, Raw.generalized("20250101000000Z"))
        },
        .init("response-produced-early", true, "one second early") {
            $0.producedAt = Raw.generalized("20241231235959Z")
        },
        .init("response-produced-early", false, "equal times") {
            $0.producedAt = Raw.generalized("20250101000000Z")
        },
        .init("response-expired", false, "an end now") {
            $0.nextUpdate = Raw.tlv(0xA0, Raw.generalized("20250601000000Z"))
        },
    ]
}
