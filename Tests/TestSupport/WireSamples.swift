internal import KeyShareProtocol
package import KeyShareWire
import SecretMemory
import Foundation
package import KeySharing
import NIOCore
import OpenSSL
package import PersistentToken

/// One sample of every message, with the name under which `Vectors/version-1.txt` stores its bytes.
package enum WireSamples {
    /// An item's identifier that is as long as a real one.
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
        ("identities", 14, .identities(container: "PIV", cursor: "12:5", limit: 256)),
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

    /// The facts about two identities. Every trait is set in one of them.
    package static let facts = [
        IdentitySummary(
            label: identifier, serialNumber: "048F", notBefore: Date(timeIntervalSince1970: 1_446_508_800),
            facts: CertificateFacts(
                keyUsage: KeyUsage(rawValue: 0x0101), hasRFC822Name: true, hasUTF8OtherName: true)),
        IdentitySummary(
            label: "é", serialNumber: "00", notBefore: Date(timeIntervalSince1970: 0),
            facts: CertificateFacts(keyUsage: nil, isEllipticCurve: true, hasOtherOtherName: true)),
    ]

    /// Three identities: one with every detail, one without the optional details, and one without any details.
    package static let detailedFacts = [
        IdentitySummary(
            label: identifier, serialNumber: "048F", notBefore: facts[0].notBefore, facts: facts[0].facts,
            details: IdentityDetails(
                subject: "CN=EXAMPLE.ÉVA.1234567890,C=US", commonName: "EXAMPLE.ÉVA.1234567890",
                email: "eva@mail.example", edipi: "1234567890",
                notAfter: Date(timeIntervalSince1970: 1_541_203_200))),
        IdentitySummary(
            label: "é", serialNumber: "00", notBefore: facts[1].notBefore, facts: facts[1].facts,
            details: IdentityDetails(
                subject: "", commonName: nil, email: nil, edipi: nil,
                notAfter: Date(timeIntervalSince1970: -1))),
        facts[1],
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
            (
                "identities-reply", 14,
                .identities(IdentityFactsPage(facts: detailedFacts, nextCursor: "12:7"))
            ),
        ]
        + zip(ProviderFailure.Code.allCases, failureNames).map { code, name in
            let reason = "reason \(code.rawValue)"
            return (name, UInt32(code.rawValue) - 1, ProviderReply.failure(ProviderFailure(code, reason)))
        }

    /// The requests and replies that version 2 added or changed, with the names of their vectors in
    /// `Vectors/version-2.txt` and their ids.
    package static let version2:
        (
            requests: [(name: String, id: UInt32, request: ProviderRequest)],
            replies: [(name: String, id: UInt32, reply: ProviderReply)]
        ) = (
            [
                (
                    "hello", 1,
                    .hello(
                        Hello(
                            minimumVersion: 1, maximumVersion: 2, clientName: "consumer",
                            services: [PasswordService.name]))
                ), ("statistics", 14, .statistics),
                ("tokens-first", 15, .tokens(cursor: nil, limit: 0)),
                ("tokens-next", 16, .tokens(cursor: "7:256", limit: 256)),
                (
                    "use", 17,
                    .use(
                        TokenUse(
                            objectID: identifier, .ecdsaSignatureX962(.message, .sha256),
                            data: Array("abc".utf8)))
                ),
                (
                    "use-parameters", 18,
                    .use(
                        TokenUse(
                            objectID: identifier, operation: .keyExchange,
                            algorithm: "algid:keyexchange:ECDH:KDFX963:SHA256",
                            parameters: KeyOperationParameters(
                                requestedSize: 40, sharedInfo: [1, 2], associatedData: [3], saltLength: 20,
                                maskDigest: .sha1, label: [4, 5]), data: [4, 0xFF]))
                ),
                (
                    "use-begin", 19,
                    .useBegin(
                        TokenUse(
                            objectID: identifier, .rsaSignaturePSS(.message, .sha384),
                            parameters: KeyOperationParameters(saltLength: 0)))
                ), ("use-update", 20, .useUpdate(handle: 1 << 31, data: [0, 0xFF])),
                ("use-update-empty", 20, .useUpdate(handle: 1, data: [])),
                ("use-end", 21, .useEnd(handle: 1)), ("use-cancel", 22, .useCancel(handle: 2)),
                ("token-status", 23, .tokenStatus),
                ("events", 15, .events(after: 7, wait: 10_000)),
                ("events-now", 16, .events(after: nil, wait: 0)),
                ("token-objects", 24, .tokenObjects(cursor: "7:2", limit: 0)),
                (
                    "use-concatenated", 25,
                    .use(
                        TokenUse(
                            objectID: identifier, .ecdsaSignatureX962(.message, .sha256),
                            parameters: KeyOperationParameters(isSignatureConcatenated: true),
                            data: Array("abc".utf8)))
                ),
                ("token-login-state", 26, .tokenLogin(.state)),
                ("token-login-presence", 27, .tokenLogin(.presence)),
                (
                    "token-login", 28,
                    .tokenLogin(.passcode(TokenLogin.Passcode(SecretBytes(utf8: "123456"))))
                ),
                (
                    "use-ticket", 29,
                    .use(
                        TokenUse(
                            objectID: identifier, .ecdsaSignatureX962(.message, .sha256),
                            parameters: KeyOperationParameters(ticket: ticket), data: Array("abc".utf8)))
                ),
            ] + aliasRequests,
            [
                (
                    "welcome", 1,
                    .welcome(
                        Welcome(
                            version: 2, serverName: "keyshare-provider", services: [PasswordService.name],
                            requestLimit: 4_096, features: ["statistics"]))
                ),
                (
                    "statistics-reply", 14,
                    .statistics([
                        ProviderFigure("memory-bytes", 1 << 25), ProviderFigure("connections", 3),
                    ])
                ), ("statistics-empty", 14, .statistics([])),
                (
                    "welcome-token", 1,
                    .welcome(
                        Welcome(
                            version: 2, serverName: "keyshare-provider", services: [PasswordService.name],
                            requestLimit: Wire.longRequestLimit,
                            features: [Wire.Feature.statistics, Wire.Feature.token]))
                ),
                (
                    "tokens-reply", 15,
                    .tokens(TokenPage(entries: tokens, changeCount: 7, nextCursor: "7:256"))
                ),
                ("tokens-empty", 16, .tokens(TokenPage(entries: [], changeCount: 0, nextCursor: nil))),
                ("used", 17, .used(SecretBytes([0x30, 0, 0xFF]))), ("used-empty", 18, .used(SecretBytes([]))),
                ("use-begun", 19, .useBegun(handle: 1)), ("use-updated", 20, .useUpdated(total: 1 << 33)),
                ("use-ended", 21, .useEnded(SecretBytes([0x30, 1]))), ("use-canceled", 22, .useCanceled),
                (
                    "token-status-reply", 23,
                    .tokenStatus(
                        TokenStatus(
                            changeCount: 7, tokenCount: 3, isUnlocked: true, hasPasscode: true, lockCount: 2,
                            openKeys: 1, deviceSerial: "0123456789ABCDEF"))
                ),
                (
                    "events-reply", 15,
                    .events(
                        ProviderEventPage(
                            events: [
                                ProviderEvent(
                                    .request(Wire.MessageType.fetchPassword.rawValue),
                                    microseconds: 1_772_323_200_000_001, duration: 250, connection: 3,
                                    processID: 4_711, subject: "PIV.zip", received: 64, sent: 43),
                                ProviderEvent(
                                    .closed, microseconds: 1_772_323_200_000_999, connection: 3,
                                    processID: 4_711, failure: 4, message: "the peer closed"),
                            ], last: 9, lost: 0))
                ), ("events-empty", 16, .events(ProviderEventPage(events: [], last: 1 << 40, lost: 5))),
                (
                    "token-objects-reply", 24,
                    .tokenObjects(
                        TokenObjectPage(
                            changeCount: 7, holder: "1234567890", objects: tokenObjects, nextCursor: "7:256"))
                ),
                (
                    "token-objects-empty", 25,
                    .tokenObjects(TokenObjectPage(changeCount: 0, holder: "", objects: [], nextCursor: nil))
                ),
                (
                    "token-login-reply", 28,
                    .tokenLogin(TokenLoginState(mode: .pin, asksAlways: true, ticket: ticket))
                ), ("token-login-none", 26, .tokenLogin(TokenLoginState(mode: .presence))),
                (
                    "token-objects-always", 26,
                    .tokenObjects(
                        TokenObjectPage(
                            changeCount: 7, holder: "", objects: [alwaysAsking], nextCursor: nil))
                ),
            ] + aliasReplies
                + zip(TokenError.Code.allCases, tokenFailureNames).map { code, name in
                    let obstacle: TokenRefusalReason? = code == .authenticationNeeded ? .deviceLocked : nil
                    return (
                        name, 17,
                        ProviderReply.tokenFailure(
                            TokenError(code, "reason \(-code.rawValue)", obstacle: obstacle))
                    )
                }
        )

    /// A token with a signature key, and a token with a key for all operations that was deleted.
    package static let tokens = [
        TokenEntry(
            tokenID: TokenIdentifier.token(identifier), objectID: identifier,
            label: "EXAMPLE.\u{C9}VA.1234567890",
            certificate: [0x30, 0x82, 0xFF], keyFamily: .rsa, keyBits: 2_048,
            properties: TokenKeyProperties(canSign: true, canDecrypt: false, canPerformKeyExchange: false),
            hasKey: true, rule: .cryptoTokenKit),
        TokenEntry(
            tokenID: TokenIdentifier.token(identifier), objectID: identifier, label: "", certificate: [],
            keyFamily: .ec, keyBits: 384,
            properties: TokenKeyProperties(canSign: true, canDecrypt: true, canPerformKeyExchange: true),
            hasKey: false, rule: .rfc5280),
    ]

    /// Two PKCS #11 objects of a token: one with an RSA key, and one of an authority with an elliptic-curve key.
    package static let tokenObjects = [
        TokenObject(
            objectID: identifier, label: "signature EXAMPLE.\u{C9}VA.1234567890", keyID: [1, 2],
            certificate: [0x30, 0x82, 0xFF], subject: [0x30, 1], issuer: [0x30, 2], serialNumber: [2, 1, 5],
            publicKeyInfo: [0x30, 3], checkValue: [0x0A, 0x0B, 0x0C], notBefore: 1_772_323_200_000,
            notAfter: -1, key: .rsa(modulus: [0xFF, 1], exponent: [1, 0, 1]), keyBits: 2_048,
            properties: TokenKeyProperties(canSign: true, canDecrypt: false, canPerformKeyExchange: false),
            hasKey: true, isAuthority: false),
        TokenObject(
            objectID: identifier, label: "", keyID: [], certificate: [], subject: [], issuer: [],
            serialNumber: [], publicKeyInfo: [], checkValue: [], notBefore: 0, notAfter: 0,
            key: .ec(parameters: [6, 1, 0x2A], point: [4, 1, 4]), keyBits: 384,
            properties: TokenKeyProperties(canSign: false, canDecrypt: true, canPerformKeyExchange: true),
            hasKey: false, isAuthority: true),
    ]

    /// A PKCS #11 object with a key that requires a login for each use.
    package static let alwaysAsking: TokenObject = {
        var object = tokenObjects[1]
        object.asksAlways = true
        return object
    }()

    /// The ticket of a login.
    package static let ticket: [UInt8] = Array(0..<16)

    /// The names of the vectors of a token's failures, in the order of their codes.
    private static let tokenFailureNames = [
        "token-not-implemented", "token-communication-error", "token-corrupted-data",
        "token-canceled-by-user",
        "token-authentication-failed", "token-object-not-found", "token-token-not-found",
        "token-bad-parameter",
        "token-authentication-needed",
    ]

    /// The names of the vectors of provider failures, in the order of their codes.
    package static let failureNames = [
        "malformed", "unsupported-version", "unknown-request", "not-available", "refused",
        "mixed-mechanisms", "usage", "service-failed", "server-busy", "internal-error",
    ]

    /// Encodes a request as a frame.
    package static func bytes(_ request: ProviderRequest, id: UInt32 = 1) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try request.encode(id: id, into: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// Encodes a reply as a frame.
    package static func bytes(_ reply: ProviderReply, id: UInt32 = 1) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try reply.encode(id: id, into: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// Creates a frame with any type and body.
    package static func frame(type: UInt8, id: UInt32 = 1, body: [UInt8] = []) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.writeInteger(UInt32(body.count + 5))
        buffer.writeInteger(type)
        buffer.writeInteger(id)
        buffer.writeBytes(body)
        return Array(buffer.readableBytesView)
    }
}
