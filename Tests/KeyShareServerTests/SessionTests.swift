import KeyShareProtocol
import TestSupport
import KeyShareServer
import KeyShareWire
import Foundation
import KeySharing
import NIOCore
import OpenSSL
import Testing

@Suite("The protocol session", .timeLimit(.minutes(10)))
struct SessionTests {
    private let identifier = WireSamples.identifier
    private let item = WireSamples.items[0]

    // MARK: Hello

    @Test("The reply to the hello contains the common version and the requested services that exist")
    func hello() throws {
        var peer = ScriptedPeer(greeted: false)
        let wanted = ["other", PasswordService.name]
        let hello = Hello(minimumVersion: 0, maximumVersion: 1, clientName: "", services: wanted)
        let answers = try peer.ask(.hello(hello), id: 77)
        let welcome = Welcome(version: 1, serverName: "test", services: [PasswordService.name])
        #expect(answers == [.reply(.welcome(welcome), 77)])
        #expect(peer.session.hasSaidHello)
    }

    @Test(
        "A hello without a common version gets unsupportedVersion, and the connection closes",
        arguments: [(0, 0), (3, 9), (1, 0)])
    func versions(oldest: UInt16, newest: UInt16) throws {
        var peer = ScriptedPeer(greeted: false)
        let hello = Hello(minimumVersion: oldest, maximumVersion: newest, clientName: "", services: [])
        #expect(try peer.ask(.hello(hello), id: 3) == [.failure(.unsupportedVersion, 3), .close(.violation)])
    }

    @Test("A version 2 request is unknown in version 1, and is answered in version 2")
    func newerRequest() throws {
        var peer = ScriptedPeer()
        #expect(try peer.ask(.statistics) == [.failure(.unknownRequest, 1)])
        var newer = ScriptedPeer(greeted: false)
        let hello = Hello(minimumVersion: 1, maximumVersion: 7, clientName: "", services: [])
        let welcome = Welcome(version: 2, serverName: "test", services: [], features: ["statistics"])
        #expect(try newer.ask(.hello(hello)) == [.reply(.welcome(welcome), 1)])
        #expect(try newer.ask(.statistics) == [.reply(.statistics([]), 1)])
    }

    @Test("The longer hello of a later version is accepted")
    func longerHello() throws {
        var peer = ScriptedPeer(greeted: false)
        let hello = Hello(minimumVersion: 1, maximumVersion: 9, clientName: "", services: [])
        var bytes = try WireSamples.bytes(.hello(hello)) + [1, 2, 3]
        bytes[3] += 3
        let welcome = Welcome(version: 2, serverName: "test", services: [], features: ["statistics"])
        #expect(peer.give(bytes) == [.reply(.welcome(welcome), 1)])
    }

    @Test("Every request before the hello ends the connection")
    func helloFirst() throws {
        let requests = WireSamples.requests.map(\.request).filter { $0.messageType != .hello }
        for request in requests {
            var peer = ScriptedPeer(greeted: false)
            #expect(try peer.ask(request, id: 5) == [.failure(.malformed, 5), .close(.violation)])
        }
        var peer = ScriptedPeer(greeted: false)
        #expect(peer.give(WireSamples.frame(type: 0x55)) == [.failure(.malformed, 1), .close(.violation)])
    }

    @Test("A second hello ends the connection")
    func secondHello() throws {
        var peer = ScriptedPeer()
        let hello = Hello(minimumVersion: 1, maximumVersion: 1, clientName: "", services: [])
        #expect(try peer.ask(.hello(hello)) == [.failure(.malformed, 1), .close(.violation)])
        #expect(try peer.ask(.item(identifier: "x")) == [])
    }

    // MARK: Framing

    @Test("An unknown request gets unknownRequest, and the connection stays open")
    func unknownRequest() throws {
        var peer = ScriptedPeer()
        for type: UInt8 in [0x00, 0x0D, 0x7F, 0x81, 0xFF] {
            #expect(peer.give(WireSamples.frame(type: type, id: 9)) == [.failure(.unknownRequest, 9)])
        }
        #expect(try peer.ask(.stopAccessing(identifier: "x")) == [.reply(.stopped, 1)])
    }

    @Test(
        "A malformed frame gets one failure, and the connection ends",
        arguments: [
            [0, 0, 0, 4], [0, 0, 0x0F, 0xFD], [0xFF, 0xFF, 0xFF, 0xFF],
            WireSamples.frame(type: 3, id: 0), WireSamples.frame(type: 3, id: 0, body: [0, 1, 0xFF]),
            WireSamples.frame(type: 3, id: 0, body: [0, 0, 0]),
        ] as [[UInt8]])
    func brokenFrames(bytes: [UInt8]) throws {
        var peer = ScriptedPeer()
        #expect(peer.give(bytes + bytes) == [.failure(.malformed, 0), .close(.violation)])
        #expect(peer.give(bytes) == [])
        #expect(!peer.session.canReceive)
    }

    @Test("The replies do not depend on how the requests are split into reads")
    func pieces() throws {
        var whole: [UInt8] = []
        for id: UInt32 in 1...3 {
            whole += try WireSamples.bytes(.stopAccessing(identifier: "x"), id: id)
        }
        let expected: [ScriptedPeer.Answer] = [.reply(.stopped, 1), .reply(.stopped, 2), .reply(.stopped, 3)]
        var atOnce = ScriptedPeer()
        #expect(atOnce.give(whole) == expected)
        var oneByOne = ScriptedPeer()
        #expect(whole.flatMap { oneByOne.give([$0]) } == expected)
    }

    @Test("Random bytes have no effect other than closing the connection")
    func randomBytes() {
        var generator = Seed("11").generator()
        for _ in 0..<500 {
            var peer = ScriptedPeer(greeted: Bool.random(using: &generator))
            var answers: [ScriptedPeer.Answer] = []
            for _ in 0..<4 {
                let count = Int.random(in: 1...200, using: &generator)
                answers += peer.give((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
            }
            // At most a failure, and then the end of the connection.
            let isClosed = if case .close? = answers.last { true } else { false }
            #expect(answers.isEmpty || isClosed)
            for answer in answers.dropLast() {
                guard case .failure = answer else {
                    Issue.record("random bytes caused \(answer)")
                    break
                }
            }
        }
    }

    // MARK: Grants

    @Test("A password is returned only for a granted item, and not after access has stopped")
    func grants() throws {
        var peer = ScriptedPeer()
        let fetch = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: identifier)
        #expect(try peer.ask(fetch) == [.failure(.notAvailable, 1)])
        #expect(try peer.grant(item) == [.reply(.granted(size: 3_021), 2)])
        #expect(try peer.ask(fetch, id: 3) == [.password(identifier, 3)])
        let elsewhere = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: "other")
        #expect(try peer.ask(elsewhere, id: 4) == [.failure(.notAvailable, 4)])
        let otherService = ProviderRequest.fetchPassword(service: "other", identifier: identifier)
        #expect(try peer.ask(otherService, id: 5) == [.failure(.notAvailable, 5)])
        #expect(try peer.ask(.stopAccessing(identifier: identifier), id: 6) == [.reply(.stopped, 6)])
        #expect(try peer.ask(fetch, id: 7) == [.failure(.notAvailable, 7)])
    }

    @Test("Requests for a nonexistent item and for one that is not granted fail with identical text")
    func alike() throws {
        var peer = ScriptedPeer()
        let fetch = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: identifier)
        let notGranted = try peer.failureMessage(fetch)
        let absent = try peer.failureMessage(
            .fetchPassword(service: PasswordService.name, identifier: "no such item"))
        let unread = try peer.failureMessage(.read(identifier: identifier, offset: 0, length: 1))
        #expect(notGranted == absent)
        #expect(notGranted == unread)
    }

    @Test("A pending grant is not created if the client stops access first")
    func stopBeforeGranted() throws {
        var peer = ScriptedPeer()
        #expect(try peer.ask(.startAccessing(identifier: identifier)).count == 1)
        #expect(try peer.ask(.stopAccessing(identifier: identifier), id: 2) == [.reply(.stopped, 2)])
        #expect(peer.complete(.granted(item)) == [.failure(.notAvailable, 1)])
        let fetch = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: identifier)
        #expect(try peer.ask(fetch, id: 3) == [.failure(.notAvailable, 3)])
    }

    @Test("Stopping access to one item does not affect the pending grant of another")
    func stopAnother() throws {
        var peer = ScriptedPeer()
        #expect(try peer.ask(.startAccessing(identifier: identifier)).count == 1)
        #expect(try peer.ask(.stopAccessing(identifier: "x"), id: 2) == [.reply(.stopped, 2)])
        #expect(peer.complete(.granted(item)) == [.reply(.granted(size: item.size), 1)])
        let fetch = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: identifier)
        #expect(try peer.ask(fetch, id: 3) == [.password(identifier, 3)])
    }

    @Test("The outcome of a call is discarded after the connection has ended")
    func lateOutcome() throws {
        var peer = ScriptedPeer()
        #expect(try peer.ask(.item(identifier: "i")).count == 1)
        #expect(peer.give([0, 0, 0, 0]) == [.failure(.malformed, 0), .close(.violation)])
        #expect(peer.complete(.failed(ProviderFailure(.usage, ""))) == [])
    }

    @Test("A folder cannot be granted")
    func folder() throws {
        var peer = ScriptedPeer()
        #expect(try peer.grant(WireSamples.items[1]) == [.failure(.notAvailable, 2)])
    }

    @Test("A grant over the limit of a connection is rejected until another grant ends")
    func grantLimit() throws {
        var peer = ScriptedPeer { $0.grants = 2 }
        for identifier in ["a", "b", "b"] {
            var item = item
            item.identifier = identifier
            #expect(try peer.grant(item) == [.reply(.granted(size: 3_021), 2)])
        }
        var third = item
        third.identifier = "c"
        #expect(try peer.grant(third) == [.failure(.refused, 2)])
        #expect(try peer.ask(.stopAccessing(identifier: "a")) == [.reply(.stopped, 1)])
        #expect(try peer.grant(third) == [.reply(.granted(size: 3_021), 2)])
    }

    // MARK: Content

    @Test("Content is loaded once, and every chunk is read from it")
    func snapshot() throws {
        var peer = ScriptedPeer()
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, 4, id: 5).count == 1)
        #expect(try peer.read(identifier, 4, 4, id: 6) == [])
        let answers = peer.complete(.content([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
        #expect(answers == [.chunk(10, [0, 1, 2, 3], 5), .chunk(10, [4, 5, 6, 7], 6)])
        #expect(try peer.read(identifier, 8, 100, id: 7) == [.chunk(10, [8, 9], 7)])
        #expect(try peer.read(identifier, 10, 1, id: 8) == [.chunk(10, [], 8)])
        #expect(try peer.read(identifier, .max, 1, id: 9) == [.chunk(10, [], 9)])
        #expect(peer.session.heldBytes == 10)
        _ = try peer.ask(.stopAccessing(identifier: identifier))
        #expect(peer.session.heldBytes == 0)
        #expect(try peer.read(identifier, 0, 4) == [.failure(.notAvailable, 1)])
    }

    @Test("Reading zero bytes or more than a chunk fails with usage", arguments: [0, 61_441, UInt32.max])
    func readLength(length: UInt32) throws {
        var peer = ScriptedPeer()
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, length) == [.failure(.usage, 1)])
    }

    @Test("Content that arrives after access has stopped is discarded")
    func lateContent() throws {
        var peer = ScriptedPeer()
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, 4, id: 5).count == 1)
        let answers = Set(try peer.ask(.stopAccessing(identifier: identifier), id: 6))
        #expect(answers == [.failure(.notAvailable, 5), .reply(.stopped, 6)])
        #expect(peer.complete(.content([1, 2, 3])) == [])
        #expect(peer.session.heldBytes == 0)
    }

    @Test("Content that was loaded for an earlier grant does not fill a later grant of the item")
    func formerContent() throws {
        var peer = ScriptedPeer()
        // The grants are the calls 1 and 3, and the reads the calls 2 and 4.
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, 4, id: 5).count == 1)
        _ = try peer.ask(.stopAccessing(identifier: identifier), id: 6)
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, 4, id: 7).count == 1)
        #expect(peer.complete(.content([1]), token: 2) == [])
        #expect(peer.complete(.content([2]), token: 4) == [.chunk(1, [2], 7)])
    }

    @Test("Content that could not be loaded is loaded again by the next read")
    func failedContent() throws {
        var peer = ScriptedPeer()
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, 4, id: 5).count == 1)
        #expect(peer.complete(.failed(ProviderFailure(.serviceFailed, ""))) == [.failure(.serviceFailed, 5)])
        #expect(try peer.read(identifier, 0, 4, id: 6).count == 1)
        #expect(peer.complete(.content([1])) == [.chunk(1, [1], 6)])
    }

    @Test("Content over the limit of a connection is rejected and not kept")
    func contentLimit() throws {
        var peer = ScriptedPeer { $0.snapshotBytes = 10 }
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, 4, id: 5).count == 1)
        #expect(peer.complete(.content(Array(repeating: 0, count: 11))) == [.failure(.refused, 5)])
        #expect(peer.session.heldBytes == 0)
    }

    // MARK: Legacy

    @Test("Choosing a legacy row grants access to the export, which has no password service")
    func legacyExport() throws {
        var peer = ScriptedPeer()
        #expect(try peer.ask(.choose(row: "1", types: ["t"])).count == 1)
        var export = item
        export.identifier = "export-1"
        let answers = peer.complete(.chosen(LegacyExport(item: export, content: [1, 2, 3])))
        #expect(answers == [.reply(.chosen(export), 1)])
        #expect(try peer.read("export-1", 1, 9) == [.chunk(3, [2, 3], 1)])
        let fetch = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: "export-1")
        #expect(try peer.ask(fetch) == [.failure(.mixedMechanisms, 1)])
        _ = try peer.ask(.stopAccessing(identifier: "export-1"))
        #expect(peer.session.heldBytes == 0)
        #expect(try peer.ask(fetch) == [.failure(.notAvailable, 1)])
    }

    @Test("A legacy export may fill the limit of a connection, and one more byte is rejected")
    func legacyExportLimit() throws {
        for (count, isGranted) in [(10, true), (11, false)] {
            var peer = ScriptedPeer { $0.snapshotBytes = 10 }
            _ = try peer.ask(.choose(row: "1", types: ["t"]))
            let export = LegacyExport(item: item, content: [UInt8](repeating: 1, count: count))
            let answers = peer.complete(.chosen(export))
            #expect(answers == [isGranted ? .reply(.chosen(item), 1) : .failure(.refused, 1)])
            #expect(peer.session.heldBytes == (isGranted ? count : 0))
        }
    }

    @Test("A request for events waits for the requested time, but not longer than the server's limit")
    func eventWait() throws {
        for (asked, waits) in [(UInt16(1_000), TimeAmount.seconds(1)), (.max, .seconds(5))] {
            var peer = ScriptedPeer(greeted: false) { $0.eventWait = .seconds(5) }
            let hello = Hello(minimumVersion: 1, maximumVersion: 2, clientName: "", services: [])
            _ = try peer.ask(.hello(hello))
            let request = ProviderRequest.events(after: 0, wait: asked)
            peer.session.receive(ByteBuffer(bytes: try WireSamples.bytes(request)), at: peer.now)
            guard case .awaitEvents(_, let wait) = peer.session.next(at: peer.now) else {
                Issue.record("the session does not wait for events")
                continue
            }
            #expect(wait == waits)
        }
    }

    // MARK: Calls and back-pressure

    @Test("Requests that need the provider become calls with the same arguments")
    func work() throws {
        let expected: [(ProviderRequest, ProviderCall)] = [
            (.enumerate(container: "c", cursor: "x", limit: 3), .page(container: "c", cursor: "x", limit: 3)),
            (
                .enumerate(container: "c", cursor: nil, limit: 0),
                .page(container: "c", cursor: nil, limit: 256)
            ),
            (
                .enumerate(container: "c", cursor: nil, limit: .max),
                .page(container: "c", cursor: nil, limit: 256)
            ),
            (.item(identifier: "i"), .item(identifier: "i")),
            (.services(identifier: "i"), .services(identifier: "i")),
            (.startAccessing(identifier: "i"), .grant(identifier: "i")),
            (.present(types: ["t"], cursor: nil, limit: 1), .present(types: ["t"], cursor: nil, limit: 1)),
            (.choose(row: "r", types: ["t"]), .choose(row: "r", types: ["t"])),
            (.describe(cursor: "d", limit: 2), .facts(cursor: "d", limit: 2)),
            (
                .identities(container: "c", cursor: "d", limit: 2),
                .identities(container: "c", cursor: "d", limit: 2)
            ),
        ]
        for (request, work) in expected {
            var peer = ScriptedPeer()
            #expect(try peer.ask(request, id: 4) == [.perform(work, 4)])
            #expect(peer.complete(.failed(ProviderFailure(.usage, ""))) == [.failure(.usage, 4)])
        }
    }

    @Test("Replies are sent in the order in which the provider completes the calls")
    func outOfOrder() throws {
        var peer = ScriptedPeer()
        _ = try peer.ask(.item(identifier: "a"), id: 1)
        _ = try peer.ask(.item(identifier: "b"), id: 2)
        let failure = ProviderFailure(.notAvailable, "")
        #expect(peer.complete(.failed(failure), token: 2) == [.failure(.notAvailable, 2)])
        #expect(peer.complete(.failed(failure), token: 1) == [.failure(.notAvailable, 1)])
        #expect(peer.complete(.failed(failure), token: 1) == [])
    }

    @Test("If the provider's outcome has the wrong kind, the reply is internalError")
    func wrongOutcome() throws {
        var peer = ScriptedPeer()
        _ = try peer.ask(.startAccessing(identifier: "a"))
        #expect(peer.complete(.content([1])) == [.failure(.internalError, 1)])
    }

    @Test("No request is read or begun while too many are outstanding")
    func outstanding() throws {
        var peer = ScriptedPeer { $0.outstandingRequests = 2 }
        var bytes: [UInt8] = []
        for id: UInt32 in 1...3 {
            bytes += try WireSamples.bytes(.item(identifier: "i"), id: id)
        }
        #expect(peer.give(bytes).count == 2)
        #expect(!peer.session.canReceive)
        let next = peer.complete(.failed(ProviderFailure(.usage, "")), token: 1)
        #expect(next == [.failure(.usage, 1), .perform(.item(identifier: "i"), 3)])
        _ = peer.complete(.failed(ProviderFailure(.usage, "")), token: 2)
        #expect(peer.session.canReceive)
    }

    @Test("No request is read or answered while too many bytes wait to be sent")
    func unsent() throws {
        var peer = ScriptedPeer()
        peer.session.queued(65_536, at: peer.now)
        #expect(try peer.ask(.stopAccessing(identifier: "x")).count == 1)
        peer.session.queued(1, at: peer.now)
        #expect(!peer.session.canReceive)
        #expect(try peer.ask(.stopAccessing(identifier: "x"), id: 2) == [])
        peer.session.sent(1, at: peer.now)
        #expect(peer.session.canReceive)
        #expect(peer.give([]) == [.reply(.stopped, 2)])
    }

    // MARK: End of the connection

    @Test("A client that shuts down its sending side gets its replies, and then the connection ends")
    func halfClose() throws {
        var peer = ScriptedPeer()
        #expect(try peer.ask(.item(identifier: "i")).count == 1)
        peer.session.endInput()
        #expect(peer.give([]) == [])
        #expect(
            peer.complete(.failed(ProviderFailure(.usage, ""))) == [.failure(.usage, 1), .close(.peerClosed)])
    }

    @Test("The server sends no failure to a client that disconnects in the middle of a frame")
    func halfFrame() throws {
        var peer = ScriptedPeer()
        #expect(peer.give([0, 0, 0]) == [])
        peer.session.endInput()
        #expect(peer.give([]) == [.close(.peerClosed)])
    }

    @Test("When the server stops, outstanding requests are answered and no new ones are started")
    func drain() throws {
        var peer = ScriptedPeer()
        #expect(try peer.ask(.item(identifier: "i")).count == 1)
        #expect(peer.session.canReceive)
        peer.session.drain()
        #expect(!peer.session.canReceive)
        #expect(try peer.ask(.stopAccessing(identifier: "x"), id: 2) == [])
        #expect(
            peer.complete(.failed(ProviderFailure(.usage, ""))) == [.failure(.usage, 1), .close(.shutdown)])
        var idle = ScriptedPeer()
        idle.session.drain()
        #expect(idle.give([]) == [.close(.shutdown)])
    }
}
