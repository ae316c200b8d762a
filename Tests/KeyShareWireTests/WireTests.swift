import Foundation
import KeyShareProtocol
import KeySharing
import NIOCore
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareWire

@Suite("Encoding of messages", .timeLimit(.minutes(10)))
struct WireTests {
    @Test(
        "Every request is encoded to its frozen bytes and decoded from them", arguments: WireSamples.requests)
    func requestVectors(name: String, id: UInt32, request: ProviderRequest) throws {
        let vector = try #require(try WireSamples.vectors()[name], "\(name) has no vector")
        #expect(try WireSamples.bytes(request, id: id) == vector)
        var buffer = ByteBuffer(bytes: vector)
        let frame = try #require(try Frame.next(from: &buffer, limit: Wire.requestLimit))
        #expect(frame.requestID == id)
        #expect(try ProviderRequest(frame) == request)
        #expect(buffer.readableBytes == 0)
    }

    @Test("Every reply is encoded to its frozen bytes and decoded from them")
    func replyVectors() throws {
        let vectors = try WireSamples.vectors()
        for (name, id, reply) in WireSamples.replies {
            let vector = try #require(vectors[name], "\(name) has no vector")
            #expect(try WireSamples.bytes(reply, id: id) == vector, "\(name)")
            var buffer = ByteBuffer(bytes: vector)
            let frame = try #require(try Frame.next(from: &buffer, limit: Wire.replyLimit))
            #expect(frame.requestID == id)
            let read = try ProviderReply(frame)
            #expect(read == reply, "\(name)")
            if case .failure(let failure) = read {
                #expect(failure.reason == "reason \(failure.code.rawValue)")
            }
        }
    }

    @Test("Every message of version 2 is encoded to its frozen bytes and decoded from them")
    func version2Vectors() throws {
        let vectors = try WireSamples.vectors(of: 2)
        let (requests, replies) = WireSamples.version2
        let names = requests.map(\.name) + replies.map(\.name)
        #expect(Set(vectors.keys) == Set(names))
        for (name, id, request) in requests {
            let bytes = try WireSamples.bytes(request, id: id)
            #expect(bytes == vectors[name], "\(name): \(bytes.map { String(format: "%02x", $0) }.joined())")
            #expect(try ProviderRequest(try Self.frame(bytes)) == request)
        }
        for (name, id, reply) in replies {
            let bytes = try WireSamples.bytes(reply, id: id)
            #expect(bytes == vectors[name], "\(name): \(bytes.map { String(format: "%02x", $0) }.joined())")
            #expect(try ProviderReply(try Self.frame(bytes)) == reply)
        }
        // The number of bytes at the end of a message that are data of any length.
        let data = [
            "use": 3, "use-parameters": 2, "use-update": 2, "use-update-empty": 0, "used": 3, "used-empty": 0,
            "use-ended": 2, "use-concatenated": 3, "use-ticket": 3, "alias-use": 3,
        ]
        for (name, vector) in vectors where name != "hello" {
            let body = Array(vector[9...])
            for count in 0..<body.count {
                let isWhole = data[name].map { count >= body.count - $0 } ?? false
                #expect(decodes(vector[4], Array(body[..<count])) == isWhole, "\(name), \(count)")
            }
            let isOpenEnded = name.hasPrefix("welcome") || data[name] != nil
            #expect(decodes(vector[4], body + [0]) == isOpenEnded, "\(name) and a byte")
        }
    }

    @Test("The longest identifier of a request includes its algorithm, service and types")
    func longestIdentifiers() {
        let long = String(repeating: "x", count: 300)
        let use = TokenUse(
            objectID: "a", operation: .sign, algorithm: long, parameters: KeyOperationParameters(), data: [])
        let requests: [ProviderRequest] = [
            .use(use), .useBegin(use), .fetchPassword(service: long, identifier: "a"),
            .fetchPassword(service: "a", identifier: long), .choose(row: "a", types: ["b", long]),
            .choose(row: long, types: []), .present(types: [long], cursor: nil, limit: 0),
            .read(identifier: long, offset: 0, length: 1),
        ]
        for request in requests { #expect(request.longestIdentifier == 300, "\(request)") }
    }

    @Test("The texts of an event are cut before the character that does not fit")
    func eventTexts() {
        for (prefix, size) in [("", 256), ("a", 255)] {
            let text = prefix + String(repeating: "\u{E9}", count: 200)
            let event = ProviderEvent(
                .opened, microseconds: 0, connection: 1, processID: 1, subject: text, message: text)
            #expect(event.subject.utf8.count == size && event.message.utf8.count == size)
            #expect(text.hasPrefix(event.subject))
        }
    }

    @Test(
        "A request of version 2 is unknown in version 1, regardless of its body",
        arguments: 0x0D...0x16 as ClosedRange<UInt8>)
    func newerRequest(type: UInt8) throws {
        for body: [UInt8] in [[], [1, 2, 3]] {
            let frame = Frame(type: type, requestID: 1, body: ByteBuffer(bytes: body))
            #expect(throws: ProviderFailure(.unknownRequest, "")) { try ProviderRequest(frame, version: 1) }
        }
    }

    @Test("Unknown parameters make a request unknown, and parameters out of order make it malformed")
    func parameters() throws {
        func decode(_ parameters: [UInt8]) throws(ProviderFailure) -> ProviderRequest {
            let body: [UInt8] = [0, 1, 0x41, 1, 0, 1, 0x42] + parameters
            return try ProviderRequest(Frame(type: 0x0F, requestID: 1, body: ByteBuffer(bytes: body)))
        }
        let malformed = ProviderFailure(.malformed, "")
        #expect(throws: ProviderFailure(.unknownRequest, "")) { try decode([0, 1, 9, 0, 0]) }
        #expect(throws: ProviderFailure(.unknownRequest, "")) {
            try decode([0, 1, 5, 0, 3] + Array("MD5".utf8))
        }
        #expect(throws: malformed) { try decode([0, 2, 2, 0, 0, 2, 0, 0]) }
        #expect(throws: malformed) { try decode([0, 2, 3, 0, 0, 2, 0, 0]) }
        #expect(throws: malformed) { try decode([0, 1, 0, 0, 0]) }
        #expect(throws: malformed) { try decode([0, 1, 1, 0, 3, 1, 2, 3]) }
        #expect(throws: malformed) { try decode([0, 1, 4, 0, 3, 1, 2, 3]) }
        #expect(throws: malformed) { try decode([0, 1, 8, 0, 1, 7]) }
        #expect(throws: malformed) { try decode([0xFF, 0xFF, 6, 0, 0]) }
    }

    @Test("The message for an unknown type contains the type in hexadecimal digits")
    func typeInMessage() throws {
        for (type, name) in [(UInt8(0x19), "0x19"), (0x1B, "0x1B"), (0x00, "0x00")] {
            let frame = Frame(type: type, requestID: 1, body: ByteBuffer())
            let failure = #expect(throws: ProviderFailure.self) { try ProviderRequest(frame, version: 2) }
            #expect(failure?.reason == "unknown request type \(name)")
        }
    }

    @Test("A login with an unexpected passcode, or with one that is too long, is malformed")
    func logins() throws {
        func decode(_ body: [UInt8]) throws(ProviderFailure) -> ProviderRequest {
            try ProviderRequest(Frame(type: 0x16, requestID: 1, body: ByteBuffer(bytes: body)))
        }
        let malformed = ProviderFailure(.malformed, "")
        #expect(throws: malformed) { try decode([0, 0, 1, 0x31]) }
        #expect(throws: malformed) { try decode([1, 0, 1, 0x31]) }
        #expect(throws: malformed) { try decode([3, 0, 0]) }
        #expect(throws: malformed) { try decode([2, 0, 65] + [UInt8](repeating: 0x31, count: 65)) }
        #expect(throws: malformed) { try decode([2, 0, 2, 0x31]) }
        #expect(throws: Never.self) { try decode([2, 0, 64] + [UInt8](repeating: 0x31, count: 64)) }
    }

    @Test("A passcode is wiped from the receive buffer")
    func passcodeIsWiped() throws {
        let body = ByteBuffer(bytes: [2, 0, 6] + Array("123456".utf8))
        _ = try ProviderRequest(Frame(type: 0x16, requestID: 1, body: body))
        #expect(body == ByteBuffer(bytes: [2, 0, 6, 0, 0, 0, 0, 0, 0]))
    }

    @Test("A token error with an unknown code and refusal reason is decoded as a communication error")
    func unknownTokenFailure() throws {
        let body: [UInt8] = [0, 11, 0, 2] + Array("no".utf8) + [0x80, 0, 0, 1, 0x78]
        let reply = try ProviderReply(Frame(type: 0xFF, requestID: 1, body: ByteBuffer(bytes: body)))
        guard case .tokenFailure(let error) = reply else {
            Issue.record("\(reply)")
            return
        }
        #expect(error.code == .communicationError && error.obstacle == nil && error.reason == "no")
    }

    @Test(
        "An identifier has at most 256 bytes of UTF-8",
        arguments: [
            (String(repeating: "x", count: 256), true), (String(repeating: "x", count: 257), false),
            (String(repeating: "\u{E9}", count: 128), true),
            (String(repeating: "\u{E9}", count: 128) + "x", false),
        ])
    func longestIdentifier(text: String, isAccepted: Bool) throws {
        var body = ByteBuffer(integer: UInt16(text.utf8.count))
        body.writeString(text)
        var reader = FieldReader(body)
        if isAccepted {
            #expect(try reader.identifier("the identifier") == text)
        } else {
            #expect(throws: ProviderFailure(.malformed, "")) { _ = try reader.identifier("the identifier") }
        }
    }

    @Test("The largest input of a key use fits in a request, and its result fits in a reply")
    func longestUse() throws {
        let data = [UInt8](repeating: 7, count: Wire.useDataLimit)
        let name = String(repeating: "x", count: Wire.identifierLimit)
        let use = TokenUse(objectID: name, operation: .decrypt, algorithm: name, data: data)
        var buffer = ByteBuffer()
        try ProviderRequest.use(use).encode(id: 1, into: &buffer, limit: Wire.longRequestLimit)
        #expect(try Frame.next(from: &buffer, limit: Wire.longRequestLimit) != nil)
        #expect(throws: ProviderFailure(.refused, "")) {
            try ProviderRequest.use(use).encode(id: 1, into: &buffer)
        }
        #expect(try !WireSamples.bytes(.used(SecretBytes(data))).isEmpty)
    }

    private static func frame(_ bytes: [UInt8]) throws -> Frame {
        var buffer = ByteBuffer(bytes: bytes)
        return try #require(try Frame.next(from: &buffer, limit: Wire.replyLimit))
    }

    @Test("Every golden frame decodes to a message, and every message type has a golden frame")
    func vectorsAreComplete() throws {
        let vectors = try WireSamples.vectors()
        let names = WireSamples.requests.map(\.name) + WireSamples.replies.map(\.name)
        #expect(Set(names) == Set(vectors.keys))
        let types = Wire.MessageType.allCases.filter { $0.firstVersion == 1 }
        let old = types.map(\.rawValue)
        #expect(Set(vectors.values.map { $0[4] }) == Set(old))
        let newer = try WireSamples.vectors(of: 2).values.map { $0[4] }
        #expect(Set(old + newer) == Set(Wire.MessageType.allCases.map(\.rawValue)))
    }

    @Test("An incomplete frame is not decoded, and its bytes remain in the buffer")
    func truncatedFrames() throws {
        for (name, vector) in try WireSamples.vectors() {
            for count in 0..<vector.count {
                var buffer = ByteBuffer(bytes: vector[..<count])
                #expect(try Frame.next(from: &buffer, limit: Wire.replyLimit) == nil, "\(name), \(count)")
                #expect(buffer.readableBytes == count)
            }
        }
    }

    @Test("A body that ends early or has extra bytes is malformed")
    func truncatedBodies() throws {
        // These accept bytes after their last field: hello and welcome for the fields of later versions.
        let openEnded: Set<UInt8> = [
            Wire.MessageType.hello.rawValue, Wire.MessageType.welcome.rawValue,
            Wire.MessageType.chunk.rawValue,
        ]
        for (name, vector) in try WireSamples.vectors() {
            let body = Array(vector[9...])
            for count in 0..<body.count {
                let isChunkOfItsOwn = vector[4] == Wire.MessageType.chunk.rawValue && count >= 8
                #expect(isChunkOfItsOwn == decodes(vector[4], Array(body[..<count])), "\(name), \(count)")
            }
            #expect(openEnded.contains(vector[4]) == decodes(vector[4], body + [0]), "\(name) and a byte")
        }
    }

    @Test("Mutated messages are decoded, or rejected as malformed or unknown")
    func mutations() throws {
        var generator = Seed("7").generator()
        var vectors = try WireSamples.vectors().sorted { $0.key < $1.key }.map(\.value)
        vectors += try WireSamples.vectors(of: 2).sorted { $0.key < $1.key }.map(\.value)
        var refused = 0
        for _ in 0..<5_000 {
            var bytes = try #require(vectors.randomElement(using: &generator))
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                switch Int.random(in: 0..<3, using: &generator) {
                case 0:
                    bytes[Int.random(in: bytes.indices, using: &generator)] ^= UInt8.random(
                        in: 1...255, using: &generator)
                case 1 where bytes.count > 1:
                    bytes.remove(at: Int.random(in: bytes.indices, using: &generator))
                default:
                    bytes.insert(
                        UInt8.random(in: 0...255, using: &generator),
                        at: Int.random(in: 0...bytes.count, using: &generator))
                }
            }
            var buffer = ByteBuffer(bytes: bytes)
            do throws(ProviderFailure) {
                while let frame = try Frame.next(from: &buffer, limit: Wire.replyLimit) {
                    if frame.type < 0x80 {
                        _ = try ProviderRequest(frame)
                    } else {
                        _ = try ProviderReply(frame)
                    }
                }
            } catch {
                refused += 1
                #expect([.malformed, .unknownRequest].contains(error.code))
            }
        }
        #expect(refused == 2_310)
    }

    @Test(
        "A length outside the range of frames is rejected before the frame is complete",
        arguments: [0, 4, 4_093, 65_536, UInt32.max])
    func lengths(length: UInt32) {
        var buffer = ByteBuffer(integer: length)
        #expect(throws: ProviderFailure(.malformed, "")) {
            try Frame.next(from: &buffer, limit: Wire.requestLimit)
        }
    }

    @Test("The longest permitted frame is encoded and decoded, and one byte more is rejected")
    func longestFrame() throws {
        let room = Wire.requestLimit - 9 - 2
        let longest = String(repeating: "x", count: room)
        let bytes = try WireSamples.bytes(.item(identifier: longest))
        #expect(bytes.count == Wire.requestLimit)
        var buffer = ByteBuffer(bytes: bytes)
        #expect(try Frame.next(from: &buffer, limit: Wire.requestLimit) != nil)
        var untouched = ByteBuffer(string: "before")
        #expect(throws: ProviderFailure(.refused, "")) {
            try ProviderRequest.item(identifier: longest + "x").encode(id: 1, into: &untouched)
        }
        #expect(untouched == ByteBuffer(string: "before"))
    }

    @Test("Text, a password or a list that exceeds its length field is rejected")
    func longFields() {
        var buffer = ByteBuffer()
        let replies: [ProviderReply] = [
            .services([String(repeating: "x", count: 65_536)]),
            .services(Array(repeating: "", count: 65_536)),
            .password(SecretBytes([UInt8](repeating: 7, count: 65_536))),
        ]
        for reply in replies {
            #expect(throws: ProviderFailure(.refused, "")) { try reply.encode(id: 1, into: &buffer) }
            #expect(buffer.readableBytes == 0)
        }
    }

    @Test("A reply with an unknown trait of an identity is malformed")
    func unknownTrait() throws {
        var bytes = try WireSamples.bytes(
            .facts(IdentityFactsPage(facts: WireSamples.facts, nextCursor: nil)))
        #expect(decodes(0x8B, Array(bytes[9...])))
        // The last identity's traits, which precede the flag of the cursor.
        bytes[bytes.count - 2] |= 0x10
        #expect(!decodes(0x8B, Array(bytes[9...])))
    }

    @Test("An event with a string of 256 bytes is decoded, and one byte more is malformed")
    func longEventText() throws {
        for length in [256, 257] {
            var events = Array(
                repeating: ProviderEvent(.closed, microseconds: 1, connection: 1, processID: 1), count: 2)
            events[0].subject = String(repeating: "x", count: length)
            events[1].message = events[0].subject
            for event in events {
                let page = ProviderEventPage(events: [event], last: 1, lost: 0)
                let bytes = try WireSamples.bytes(.events(page))
                #expect(decodes(bytes[4], Array(bytes[9...])) == (length == 256))
            }
        }
    }

    @Test("A list that cannot have as many values as it states is rejected before its values are read")
    func statedCount() throws {
        // The count is the first field of a page.
        var bytes = try WireSamples.bytes(.page(ItemPage(items: WireSamples.items, nextCursor: nil)))
        bytes.replaceSubrange(9..<11, with: [0xFF, 0xFF])
        let frame = Frame(type: bytes[4], requestID: 1, body: ByteBuffer(bytes: bytes[9...]))
        do throws(ProviderFailure) {
            _ = try ProviderReply(frame)
            Issue.record("a count of 65,535 was accepted")
        } catch {
            #expect(error.code == .malformed)
            #expect(error.reason == "the message ends inside the items")
        }
    }

    @Test("A reply with the longest chunk fits in a frame")
    func longestChunk() throws {
        let chunk = ContentChunk(total: 1 << 20, bytes: Array(repeating: 7, count: Wire.chunkLimit)[...])
        #expect(try WireSamples.bytes(.chunk(chunk)).count <= Wire.replyLimit)
    }

    @Test("A failure with an unknown code is decoded as an internal error")
    func unknownFailure() throws {
        let bytes = WireSamples.frame(type: 0xFF, body: [0x12, 0x34, 0, 2] + Array("no".utf8))
        var buffer = ByteBuffer(bytes: bytes)
        let frame = try #require(try Frame.next(from: &buffer, limit: Wire.replyLimit))
        let reply = try ProviderReply(frame)
        #expect(reply == .failure(ProviderFailure(.internalError, "")))
    }

    @Test("Times outside the range of the encoding are replaced by the nearest time in the range")
    func extremeDates() throws {
        for time in [Double.infinity, -Double.infinity, 1e300] {
            var item = WireSamples.items[0]
            item.created = Date(timeIntervalSince1970: time)
            #expect(try !WireSamples.bytes(.item(item)).isEmpty)
        }
    }

    private func decodes(_ type: UInt8, _ body: [UInt8]) -> Bool {
        let frame = Frame(type: type, requestID: 1, body: ByteBuffer(bytes: body))
        do throws(ProviderFailure) {
            if type < 0x80 { _ = try ProviderRequest(frame) } else { _ = try ProviderReply(frame) }
            return true
        } catch {
            #expect(error.code == .malformed)
            return false
        }
    }
}
