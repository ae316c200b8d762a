import Foundation
import OpenSSL

/// A certificate that can be wrong in every field. Its signature does not verify.
struct RawCertificate {
    var version: UInt8? = 2
    var serial: [UInt8] = [0x4A, 1, 2, 3, 4, 5, 6, 7]
    var inner = Raw.ecdsaSHA256
    var outer = Raw.ecdsaSHA256
    var issuer = Raw.name("Test CA")
    var notBefore = Raw.utc("250101000000Z")
    var notAfter = Raw.utc("270101000000Z")
    var subject = Raw.name("Test Person")
    var key = Raw.p256
    var uniqueIdentifiers: [UInt8] = []
    var extensions: [Raw.Extension]?

    var der: [UInt8] {
        let signed = Raw.sequence(
            version.map { Raw.tlv(0xA0, Raw.integer([$0])) } ?? [], Raw.integer(serial), inner, issuer,
            Raw.sequence(notBefore, notAfter), subject, key, uniqueIdentifiers,
            Raw.wrapped(extensions, 0xA3))
        return Raw.sequence(signed, outer, Raw.tlv(3, [0, 0x30, 0]))
    }

    /// 2025-06-01, in the middle of the validity.
    static let date = Date(timeIntervalSince1970: 1_748_736_000)

    /// A certificate for signed e-mail.
    static var person: RawCertificate {
        var certificate = RawCertificate()
        certificate.extensions = [
            .init(oid: "2.5.29.35", value: Raw.sequence(Raw.tlv(0x80, [1, 2, 3, 4]))),
            .init(oid: "2.5.29.14", value: Raw.octets([5, 6, 7, 8])),
            .init(oid: "2.5.29.15", critical: true, value: [3, 2, 7, 0x80]),
            .init(oid: "2.5.29.17", value: Raw.sequence(address("user@mail.example"))),
            .init(oid: "2.5.29.37", value: Raw.sequence(Raw.oid("1.3.6.1.5.5.7.3.4"))),
            .init(oid: "2.5.29.32", value: Raw.sequence(policy())),
            .init(oid: "2.5.29.31", value: Raw.sequence(point("http://pki.example/ca.crl"))),
            .init(
                oid: "1.3.6.1.5.5.7.1.1",
                value: Raw.sequence(
                    Raw.sequence(
                        Raw.oid("1.3.6.1.5.5.7.48.1"), Raw.tlv(0x86, Array("http://pki.example".utf8))))),
        ]
        return certificate
    }

    /// A certificate for PIV authentication.
    static var piv: RawCertificate {
        var certificate = person
        let number = Raw.hex("D4F810DA0D80AC1CE721CD8360DA19141082227084F810A3F0")
        certificate.extensions?.set(
            "2.5.29.17",
            Raw.sequence(
                Raw.tlv(0xA0, Raw.oid("2.16.840.1.101.3.6.6"), Raw.tlv(0xA0, Raw.octets(number))),
                Raw.tlv(0x86, Array("urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6".utf8))))
        certificate.extensions?.set("2.5.29.37", Raw.sequence(Raw.oid("1.3.6.1.5.5.7.3.2")))
        certificate.extensions?.set("2.5.29.32", Raw.sequence(policy("2.16.840.1.101.3.2.1.3.13")))
        return certificate
    }

    /// An authority below another one, with every extension of authorities.
    static var authority: RawCertificate {
        var certificate = RawCertificate(subject: Raw.name("Test Email CA"))
        certificate.extensions = [
            .init(oid: "2.5.29.35", value: Raw.sequence(Raw.tlv(0x80, [1, 2, 3, 4]))),
            .init(oid: "2.5.29.14", value: Raw.octets([5, 6, 7, 8])),
            .init(oid: "2.5.29.19", critical: true, value: Raw.sequence(Raw.yes, Raw.integer([0]))),
            .init(oid: "2.5.29.15", critical: true, value: [3, 2, 1, 6]),
            .init(oid: "2.5.29.32", value: Raw.sequence(policy())),
            .init(
                oid: "2.5.29.30", critical: true,
                value: Raw.sequence(Raw.tlv(0xA0, Raw.sequence(Raw.tlv(0x82, Array("example".utf8)))))),
            .init(
                oid: "2.5.29.33", critical: true,
                value: Raw.sequence(Raw.sequence(Raw.oid("1.2.3.4"), Raw.oid("1.2.3.5")))),
            .init(oid: "2.5.29.36", critical: true, value: Raw.sequence(Raw.tlv(0x80, [0]))),
            .init(oid: "2.5.29.54", critical: true, value: Raw.integer([0])),
        ]
        return certificate
    }

    static func address(_ text: String) -> [UInt8] { Raw.tlv(0x81, Array(text.utf8)) }

    static func policy(_ identifier: String = "1.2.3.4", _ qualifiers: [UInt8]...) -> [UInt8] {
        Raw.sequence(
            Raw.oid(identifier), qualifiers.isEmpty ? [] : Raw.sequence(qualifiers.flatMap(\.self)))
    }

    static func notice(_ contents: [UInt8]) -> [UInt8] {
        Raw.sequence(Raw.oid("1.3.6.1.5.5.7.2.2"), Raw.sequence(contents))
    }

    static func point(_ url: String) -> [UInt8] {
        Raw.sequence(Raw.tlv(0xA0, Raw.tlv(0xA0, Raw.tlv(0x86, Array(url.utf8)))))
    }
}

/// A revocation list that can be wrong in every field. Its signature does not verify.
struct RawList {
    struct Entry {
        var serial: [UInt8] = [0x11]
        var extensions: [Raw.Extension]?
    }

    var version: UInt8? = 1
    var inner = Raw.ecdsaSHA256
    var outer = Raw.ecdsaSHA256
    var issuer = Raw.name("Test CA")
    var thisUpdate = Raw.utc("250101000000Z")
    var nextUpdate = Raw.utc("270101000000Z")
    /// Nil leaves the list of entries out.
    var entries: [Entry]? = [Entry(extensions: [.init(oid: "2.5.29.21", value: [10, 1, 1])])]
    var extensions: [Raw.Extension]? = [
        .init(oid: "2.5.29.35", value: Raw.sequence(Raw.tlv(0x80, [1, 2, 3, 4]))),
        .init(oid: "2.5.29.20", value: Raw.integer([9])),
    ]

    var der: [UInt8] {
        let items = entries.map { entries in
            Raw.sequence(
                entries.flatMap {
                    Raw.sequence(
                        Raw.integer($0.serial), Raw.utc("250101000000Z"),
                        $0.extensions.map { Raw.sequence($0.flatMap(\.der)) } ?? [])
                })
        }
        let signed = Raw.sequence(
            version.map { Raw.integer([$0]) } ?? [], inner, issuer, thisUpdate, nextUpdate, items ?? [],
            Raw.wrapped(extensions, 0xA0))
        return Raw.sequence(signed, outer, Raw.tlv(3, [0, 0x30, 0]))
    }

    /// Gives the only entry this reason.
    mutating func reason(_ number: UInt8, critical: Bool? = nil) {
        entries = [Entry(extensions: [.init(oid: "2.5.29.21", critical: critical, value: [10, 1, number])])]
    }
}

/// An OCSP response that can be wrong in every field. Its signature does not verify.
struct RawResponse {
    var status: UInt8 = 0
    var algorithm = Raw.ecdsaSHA256
    var producedAt = Raw.generalized("20250101000000Z")
    var thisUpdate = Raw.generalized("20250101000000Z")
    var nextUpdate = Raw.tlv(0xA0, Raw.generalized("20270101000000Z"))
    var count = 1

    var der: [UInt8] {
        guard status == 0 else { return Raw.sequence([10, 1, status]) }
        let hash = [UInt8](repeating: 7, count: 20)
        let identifier = Raw.sequence(
            Raw.algorithm("1.3.14.3.2.26", Raw.null), Raw.octets(hash), Raw.octets(hash), Raw.integer([0x11]))
        let single = Raw.sequence(identifier, [0x80, 0], thisUpdate, nextUpdate)
        let data = Raw.sequence(
            Raw.tlv(0xA2, Raw.octets(hash)), producedAt,
            Raw.sequence([[UInt8]](repeating: single, count: count).flatMap(\.self)))
        let basic = Raw.sequence(data, algorithm, Raw.tlv(3, [0, 0x30, 0]))
        return Raw.sequence(
            [10, 1, 0], Raw.tlv(0xA0, Raw.sequence(Raw.oid("1.3.6.1.5.5.7.48.1.1"), Raw.octets(basic))))
    }
}
