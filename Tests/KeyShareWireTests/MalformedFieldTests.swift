import Foundation
import KeyShareProtocol
import KeySharing
import NIOCore
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareWire

@Suite("Fields outside the protocol", .timeLimit(.minutes(10)))
struct MalformedFieldTests {
    private static func frame(_ bytes: [UInt8]) throws -> Frame {
        var buffer = ByteBuffer(bytes: bytes)
        return try #require(try Frame.next(from: &buffer, limit: Wire.replyLimit))
    }

    private static func decoded(_ reply: ProviderReply) throws -> ProviderReply {
        try ProviderReply(try frame(WireSamples.bytes(reply)))
    }

    private static let malformed = ProviderFailure(.malformed, "")

    @Test("A reply with an unknown property of a token, an object or the device is malformed")
    func properties() throws {
        let tokens = TokenPage(entries: [WireSamples.tokens[0]], changeCount: 1, nextCursor: nil)
        let objects = TokenObjectPage(
            changeCount: 1, holder: "", objects: [WireSamples.tokenObjects[0]], nextCursor: nil)
        let status = TokenStatus(
            changeCount: 1, tokenCount: 1, isUnlocked: true, hasPasscode: true, lockCount: 0, openKeys: 0,
            deviceSerial: "")
        // The properties precede the cursor's flag, or follow the change count and the number of tokens.
        for (reply, fromEnd, offset) in [
            (ProviderReply.tokens(tokens), true, 2), (.tokenObjects(objects), true, 2),
            (.tokenStatus(status), false, Wire.headerSize + 12),
            (.tokenLogin(TokenLoginState(mode: .pin)), false, Wire.headerSize + 1),
        ] {
            var bytes = try WireSamples.bytes(reply)
            #expect(try ProviderReply(try Self.frame(bytes)) == reply)
            bytes[fromEnd ? bytes.count - offset : offset] |= 0x80
            let changed = try Self.frame(bytes)
            #expect(throws: Self.malformed) { try ProviderReply(changed) }
        }
    }

    @Test("A reply with an unknown kind of key of a token or an object is malformed")
    func kindsOfKey() throws {
        let tokens = TokenPage(entries: [WireSamples.tokens[0]], changeCount: 1, nextCursor: nil)
        let objects = TokenObjectPage(
            changeCount: 1, holder: "", objects: [WireSamples.tokenObjects[0]], nextCursor: nil)
        // The kind is followed by the size of the key, in an object the modulus and the exponent with their
        // lengths, the properties, and the cursor's flag.
        for (reply, offset) in [(ProviderReply.tokens(tokens), 5), (.tokenObjects(objects), 14)] {
            var bytes = try WireSamples.bytes(reply)
            let place = bytes.count - offset
            #expect(bytes[place] == 1)
            bytes[place] = 2
            let known = try Self.frame(bytes)
            #expect(throws: Never.self) { try ProviderReply(known) }
            for kind: UInt8 in [0, 3, 0xFF] {
                bytes[place] = kind
                let changed = try Self.frame(bytes)
                #expect(throws: Self.malformed) { try ProviderReply(changed) }
            }
        }
    }

    @Test("A field of bytes has at most 65,535 bytes")
    func longFields() throws {
        var buffer = ByteBuffer()
        try buffer.writeField(octets: [UInt8](repeating: 7, count: 65_535))
        #expect(buffer.readableBytes == 65_537)
        #expect(throws: ProviderFailure(.refused, "")) {
            try buffer.writeField(octets: [UInt8](repeating: 7, count: 65_536))
        }
        #expect(buffer.readableBytes == 65_537)
    }

    @Test("A login has a ticket of 16 bytes or none, and a passcode of at most 64 bytes")
    func logins() throws {
        for count in [0, 15, 16, 17] {
            let state = TokenLoginState(
                mode: .pin, asksAlways: false, hasPasscode: true, triesLeft: 3,
                ticket: [UInt8](repeating: 7, count: count))
            if count % 16 == 0 {
                #expect(try Self.decoded(.tokenLogin(state)) == .tokenLogin(state))
            } else {
                #expect(throws: Self.malformed) { try Self.decoded(.tokenLogin(state)) }
            }
        }
        for count in [64, 65] {
            let passcode = SecretBytes([UInt8](repeating: 7, count: count))
            let request = ProviderRequest.tokenLogin(.passcode(TokenLogin.Passcode(passcode)))
            if count == 64 {
                #expect(throws: Never.self) { try WireSamples.bytes(request) }
            } else {
                #expect(throws: ProviderFailure(.refused, "")) { try WireSamples.bytes(request) }
            }
        }
    }

    @Test("A row about aliases has one value for each column")
    func rows() throws {
        for row in [[], ["x"], ["x", "y", "z"]] {
            let page = AliasPage(changeCount: 1, columns: ["a", "b"], rows: [row], nextCursor: nil)
            #expect(throws: Self.malformed) { try Self.decoded(.aliases(page)) }
        }
    }

    @Test("A parameter that is a number has exactly its bytes")
    func parameters() throws {
        let start: [UInt8] = [0, 1, 0x61, TokenOperation.sign.rawValue, 0, 1, 0x62, 0, 1]
        for (parameter, size) in [
            (TokenParameter.requestedSize, 4), (.saltLength, 2), (.signatureForm, 1), (.ticket, 16),
        ] {
            for excess in [-1, 0, 1] {
                let value = [UInt8](repeating: 1, count: size + excess)
                let body = start + [parameter.rawValue, 0, UInt8(value.count)] + value
                let bytes = WireSamples.frame(type: Wire.MessageType.useBegin.rawValue, body: body)
                let frame = try Self.frame(bytes)
                guard excess == 0 else {
                    #expect(throws: Self.malformed, "\(parameter)") { try ProviderRequest(frame) }
                    continue
                }
                #expect(throws: Never.self) { try ProviderRequest(frame) }
            }
        }
    }

    @Test("The reason of a failure has at most 512 characters")
    func reasons() throws {
        let long = String(repeating: "x", count: 2_000)
        guard case .failure(let failure) = try Self.decoded(.failure(ProviderFailure(.refused, long))),
            case .tokenFailure(let error) = try Self.decoded(.tokenFailure(TokenError(.badParameter, long)))
        else {
            Issue.record("the failures have other types")
            return
        }
        #expect(failure.reason == long.prefix(512) && error.reason == long.prefix(512))
    }

    @Test("A date that does not fit in its field is encoded as the nearest one")
    func dates() throws {
        for (seconds, nearest) in [(1e300, Int64.max), (-1e300, .min), (1.5, 1_500)] {
            var item = WireSamples.items[0]
            item.created = Date(timeIntervalSince1970: seconds)
            guard case .item(let read) = try Self.decoded(.item(item)) else {
                Issue.record("the reply has another type")
                continue
            }
            #expect(read.created.timeIntervalSince1970 == Double(nearest) / 1_000)
        }
    }
}
