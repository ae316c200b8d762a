import Foundation
import KeyShareWire
import KeySharing
import NIOCore
import OpenSSL
import SecretMemory
import TestSupport
import Testing

@Suite("The encoding of messages")
struct WireTests {
    @Test("Every request has its frozen bytes, and is decoded from them", arguments: WireSamples.requests)
    func requestVectors(name: String, id: UInt32, request: ProviderRequest) throws {
        let vector = try #require(try WireSamples.vectors()[name], "\(name) has no vector")
        #expect(try WireSamples.bytes(request, id: id) == vector)
        var buffer = ByteBuffer(bytes: vector)
        let frame = try #require(try Frame.next(from: &buffer, limit: Wire.requestLimit))
        #expect(frame.requestID == id)
        #expect(try ProviderRequest(frame) == request)
        #expect(buffer.readableBytes == 0)
    }

    @Test("Every reply has its frozen bytes, and is decoded from them")
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

    @Test("Every vector stands for a message, and every type of message has a vector")
    func vectorsAreComplete() throws {
        let vectors = try WireSamples.vectors()
        let names = WireSamples.requests.map(\.name) + WireSamples.replies.map(\.name)
        #expect(Set(names) == Set(vectors.keys))
        #expect(Set(vectors.values.map { $0[4] }) == Set(Wire.MessageType.allCases.map(\.rawValue)))
    }

    @Test("An incomplete frame is waited for, and its bytes stay")
    func truncatedFrames() throws {
        for (name, vector) in try WireSamples.vectors() {
            for count in 0..<vector.count {
                var buffer = ByteBuffer(bytes: vector[..<count])
                #expect(try Frame.next(from: &buffer, limit: Wire.replyLimit) == nil, "\(name), \(count)")
                #expect(buffer.readableBytes == count)
            }
        }
    }

    @Test("A body that ends early or has more bytes is malformed")
    func truncatedBodies() throws {
        // These accept bytes behind their fields: hello and welcome for the fields of later versions.
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

    @Test("Mutated messages are decoded or refused as malformed or unknown")
    func mutations() throws {
        var generator = Seed("7").generator()
        let vectors = try WireSamples.vectors().sorted { $0.key < $1.key }.map(\.value)
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
        #expect(refused == 2_330)
    }

    @Test(
        "A length that no frame may have is refused before anything waits for it",
        arguments: [0, 4, 4_093, 65_536, UInt32.max])
    func lengths(length: UInt32) {
        var buffer = ByteBuffer(integer: length)
        #expect(throws: ProviderFailure(.malformed, "")) {
            try Frame.next(from: &buffer, limit: Wire.requestLimit)
        }
    }

    @Test("The longest permitted frame is encoded and decoded, and one byte more is refused")
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

    @Test("A text, a password or a list longer than its length field can say is refused")
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

    @Test("An unknown trait of an identity is malformed")
    func unknownTrait() throws {
        var bytes = try WireSamples.bytes(
            .facts(IdentityFactsPage(facts: WireSamples.facts, nextCursor: nil)))
        #expect(decodes(0x8B, Array(bytes[9...])))
        // The last identity's traits, before the flag of the cursor.
        bytes[bytes.count - 2] |= 0x10
        #expect(!decodes(0x8B, Array(bytes[9...])))
    }

    @Test("A reply with the longest chunk fits a frame")
    func longestChunk() throws {
        let chunk = ContentChunk(total: 1 << 20, bytes: Array(repeating: 7, count: Wire.chunkLimit)[...])
        #expect(try WireSamples.bytes(.chunk(chunk)).count <= Wire.replyLimit)
    }

    @Test("A failure with an unknown code is an internal error")
    func unknownFailure() throws {
        let bytes = WireSamples.frame(type: 0xFF, body: [0x12, 0x34, 0, 2] + Array("no".utf8))
        var buffer = ByteBuffer(bytes: bytes)
        let frame = try #require(try Frame.next(from: &buffer, limit: Wire.replyLimit))
        let reply = try ProviderReply(frame)
        #expect(reply == .failure(ProviderFailure(.internalError, "")))
    }

    @Test("Times outside the range of the encoding become the nearest time in it")
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

extension WireSamples {
    /// The frozen bytes, by the name of the sample.
    static func vectors() throws -> [String: [UInt8]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Vectors/version-1.txt")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        var vectors: [String: [UInt8]] = [:]
        for line in lines where !line.hasPrefix("#") {
            let parts = line.split(separator: " ")
            try #require(parts.count == 2, "a vector is a name and hex")
            let digits = Array(parts[1])
            vectors[String(parts[0])] = try stride(from: 0, to: digits.count, by: 2).map {
                try #require(UInt8(String(digits[$0..<$0 + 2]), radix: 16))
            }
        }
        return vectors
    }
}
