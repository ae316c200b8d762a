package import KeyShareWire
import SecretMemory
import Foundation
package import KeySharing
import NIOCore
import OpenSSL

/// One of every message, by the names under which `Vectors/version-1.txt` holds its bytes.
package enum WireSamples {
    /// The identifier of an item, as long as a real one.
    package static let identifier = String(repeating: "AB", count: 32)

    /// The requests, with the names of their vectors and their ids.
    package static let requests: [(name: String, id: UInt32, request: ProviderRequest)] = [
        (
            "hello", 1,
            .hello(
                Hello(
                    minimumVersion: 1, maximumVersion: 1, clientName: "consumer",
                    services: [PasswordService.name]))
        ),
        (
            "hello-range", .max,
            .hello(Hello(minimumVersion: 0, maximumVersion: .max, clientName: "", services: []))
        ),
        ("enumerate-first", 2, .enumerate(container: "root", cursor: nil, limit: 0)),
        ("enumerate-next", 3, .enumerate(container: "PIV", cursor: "c/12", limit: 256)),
        ("item", 4, .item(identifier: identifier)),
        ("services", 5, .services(identifier: identifier)),
        ("start-accessing", 6, .startAccessing(identifier: identifier)),
        ("read", 7, .read(identifier: identifier, offset: 1 << 33, length: 61_440)),
        ("fetch-password", 8, .fetchPassword(service: PasswordService.name, identifier: identifier)),
        ("stop-accessing", 9, .stopAccessing(identifier: identifier)),
        ("present", 10, .present(types: ["purebred.select.all", "com.rsa.pkcs-12"], cursor: nil, limit: 0)),
        ("present-next", 11, .present(types: [], cursor: "7", limit: 1)),
        ("choose", 12, .choose(row: "tmp.zip", types: ["purebred.zip.all"])),
        ("describe", 13, .describe(cursor: nil, limit: 100)),
    ]

    /// A file, a folder and an archive.
    package static let items = [
        Item(
            identifier: identifier, filename: "piv_048F.p12", kind: .pkcs12,
            contentType: "purebred2025.rsa.pkcs-12", parent: "root", size: 3_021,
            created: Date(timeIntervalSince1970: 1_733_184_000)),
        Item(
            identifier: "PIV", filename: "PIV", kind: .folder,
            contentType: "purebred2025.select.authentication", parent: "root", size: nil,
            created: Date(timeIntervalSince1970: -0.001)),
        Item(
            identifier: "PIV.zip", filename: "PIV.zip", kind: .zip,
            contentType: "purebred2025.zip.authentication", parent: "root", size: 1 << 40,
            created: Date(timeIntervalSince1970: 1_733_184_000.123)),
    ]

    /// The facts about two identities, with every trait set in one of them.
    package static let facts = [
        IdentitySummary(
            label: identifier, serialNumber: "048F", notBefore: Date(timeIntervalSince1970: 1_446_508_800),
            facts: CertificateFacts(
                keyUsage: KeyUsage(rawValue: 0x0101), hasRFC822Name: true, hasUTF8OtherName: true)),
        IdentitySummary(
            label: "é", serialNumber: "00", notBefore: Date(timeIntervalSince1970: 0),
            facts: CertificateFacts(keyUsage: nil, isEllipticCurve: true, hasOtherOtherName: true)),
    ]

    /// The replies, with the names of their vectors and their ids.
    package static let replies: [(name: String, id: UInt32, reply: ProviderReply)] =
        [
            (
                "welcome", 1,
                .welcome(
                    Welcome(version: 1, serverName: "keyshare-provider", services: [PasswordService.name]))
            ),
            ("page", 2, .page(ItemPage(items: items, nextCursor: "c/3"))),
            ("page-empty", 3, .page(ItemPage(items: [], nextCursor: nil))),
            ("item-reply", 4, .item(items[0])),
            ("services-reply", 5, .services([PasswordService.name, "other"])),
            ("granted", 6, .granted(size: 3_021)),
            ("granted-unknown", 6, .granted(size: nil)),
            ("chunk", 7, .chunk(ContentChunk(total: 6, bytes: [0x30, 0x82, 0xFF]))),
            ("chunk-empty", 7, .chunk(ContentChunk(total: 6, bytes: []))),
            ("password", 8, .password(SecretBytes(utf8: "p\"ä\\"))),
            ("stopped", 9, .stopped),
            ("rows", 10, .rows(ItemPage(items: [items[0]], nextCursor: nil))),
            ("chosen", 12, .chosen(items[2])),
            ("facts", 13, .facts(IdentityFactsPage(facts: facts, nextCursor: "2"))),
        ]
        + zip(ProviderFailure.Code.allCases, failureNames).map { code, name in
            let reason = "reason \(code.rawValue)"
            return (name, UInt32(code.rawValue) - 1, ProviderReply.failure(ProviderFailure(code, reason)))
        }

    /// The names of the failures' vectors, in the order of their codes.
    package static let failureNames = [
        "malformed", "unsupported-version", "unknown-request", "not-available", "refused",
        "mixed-mechanisms", "usage", "service-failed", "server-busy", "internal-error",
    ]

    /// The frame of a request.
    package static func bytes(_ request: ProviderRequest, id: UInt32 = 1) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try request.encode(id: id, into: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// The frame of a reply.
    package static func bytes(_ reply: ProviderReply, id: UInt32 = 1) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try reply.encode(id: id, into: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// A frame made by hand, of whatever type and body.
    package static func frame(type: UInt8, id: UInt32 = 1, body: [UInt8] = []) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.writeInteger(UInt32(body.count + 5))
        buffer.writeInteger(type)
        buffer.writeInteger(id)
        buffer.writeBytes(body)
        return Array(buffer.readableBytesView)
    }
}
