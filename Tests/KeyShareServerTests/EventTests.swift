import Foundation
import Glibc
import KeyShareClient
import KeyShareProtocol
import KeyShareWire
import KeySharing
import Logging
import NIOCore
import NIOEmbedded
import SecretMemory
import Synchronization
import TestSupport
import Testing

@testable import KeyShareServer

@Suite("Events for subscribers", .timeLimit(.minutes(10)))
struct EventTests {
    /// Waits until `count` events have arrived.
    private func events(
        _ count: Int, after last: UInt64, _ watcher: ProviderClient
    ) async throws -> [ProviderEvent] {
        var events: [ProviderEvent] = []
        var last = last
        while events.count < count {
            let page = try await watcher.events(after: last)
            #expect(page.lost == 0)
            events += page.events
            last = page.last
        }
        return events
    }

    @Test("A subscriber gets events for all requests of other connections, but not for its own")
    func fetch() async throws {
        try await withServer { path, _ in
            let watcher = try await ProviderClient.connect(path: path, clientName: "watcher")
            let start = try await watcher.events(after: nil)
            #expect(start.events.isEmpty && start.lost == 0)
            let client = try await ProviderClient.connect(path: path, clientName: "somebody")
            let item = try #require(try await client.items(in: Item.root).first { $0.kind == .pkcs12 })
            try await client.startAccessing(item.identifier)
            let password = try await client.fetchPassword(for: item.identifier)
            let bytes = try await client.readAll(item.identifier)
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await client.startAccessing("nothing")
            }
            await client.close()
            let events = try await events(8, after: start.last, watcher)
            #expect(
                events.map(\.kind) == [
                    .opened, .request(0x01), .request(0x02), .request(0x05), .request(0x07), .request(0x06),
                    .request(0x05), .closed,
                ])
            #expect(
                events.map(\.subject) == [
                    "", "somebody", "root", item.identifier, item.identifier, item.identifier, "nothing", "",
                ])
            #expect(events.map(\.failure) == [0, 0, 0, 0, 0, 0, 4, 0])
            #expect(Set(events.map(\.connection)) == [2] && Set(events.map(\.processID)) == [getpid()])
            #expect(events[4].sent == UInt32(Wire.headerSize + 2 + password.count))
            #expect(events[5].sent == UInt32(Wire.headerSize + 8 + bytes.count))
            #expect(events.map(\.microseconds) == events.map(\.microseconds).sorted())
            #expect(abs(Double(events[0].microseconds) / 1e6 - Date().timeIntervalSince1970) < 60)
            await watcher.close()
        }
    }

    @Test("An observer of the server gets no events about the requests of a subscriber")
    func observer() async throws {
        let scratch = try ScratchFolder()
        let seen = Mutex<[ProviderEvent]>([])
        let server = try ProviderServer(
            path: scratch.path("provider.sock"), service: StandInProvider(count: 1),
            limits: .withoutDeadlines, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            observer: { event, _ in seen.withLock { $0.append(event) } })
        let running = Task { try await server.run() }
        let client = try await ProviderClient.connect(path: server.path, clientName: "test")
        _ = try await client.items(in: Item.root)
        _ = try await client.events(after: nil)
        _ = try await client.items(in: Item.root)
        await client.close()
        running.cancel()
        try await running.value
        let kinds = seen.withLock { $0.map(\.kind) }
        #expect(kinds == [.opened, .request(0x01), .request(0x02)])
    }

    @Test("A slow subscriber gets the latest events and the number of lost events")
    func lost() async throws {
        try await withServer { path, _ in
            let watcher = try await ProviderClient.connect(path: path)
            let start = try await watcher.events(after: nil)
            let client = try await ProviderClient.connect(path: path)
            let count = ProviderServer.Limits().events + 1_000
            for _ in 0..<count { try await client.stopAccessing("anything") }
            var (last, lost, seen) = (start.last, UInt64(0), 0)
            while last < start.last + UInt64(count) + 2 {
                let page = try await watcher.events(after: last)
                #expect(page.last == last + page.lost + UInt64(page.events.count))
                (last, lost, seen) = (page.last, lost + page.lost, seen + page.events.count)
            }
            // Opening the connection and its hello are also events.
            #expect(lost == 1_002 && seen == ProviderServer.Limits().events)
            await client.close()
            await watcher.close()
        }
    }

    @Test("Without subscribers, no events are recorded")
    func inactive() throws {
        var peer = ScriptedPeer()
        _ = try peer.ask(.stopAccessing(identifier: "x"))
        #expect(peer.session.records.isEmpty)
        peer.session.recordsRequests = true
        _ = try peer.ask(.item(identifier: "x"))
        #expect(peer.session.records.map(\.subject) == ["x"])
    }

    @Test("A subscriber that names a future event gets the next one, and none from before it subscribed")
    func numbers() throws {
        let loop = EmbeddedEventLoop()
        let feed = EventFeed(loop, limits: ProviderServer.Limits())
        let replies = Mutex<[ProviderEventPage]>([])
        func subscribe(_ connection: Int, after number: UInt64?) -> ProviderReply? {
            feed.subscribe(connection, after: number, wait: .seconds(10)) { reply in
                guard case .events(let page) = reply else { return }
                replies.withLock { $0.append(page) }
            }
        }
        let event = ProviderEvent(.opened, microseconds: 1, connection: 1, processID: 1, message: "")
        #expect(subscribe(1, after: 99) == nil)
        feed.append(event)
        loop.advanceTime(by: .milliseconds(25))
        #expect(replies.withLock(\.self) == [ProviderEventPage(events: [event], last: 1, lost: 0)])
        // The events are dropped when the last subscriber leaves.
        feed.remove(1)
        #expect(!feed.isActive)
        #expect(subscribe(2, after: 0) == nil)
        loop.advanceTime(by: .milliseconds(25))
        #expect(replies.withLock(\.last) == ProviderEventPage(events: [], last: 1, lost: 1))
        feed.remove(2)
    }

    @Test("At most sixteen connections can subscribe, and ending one makes room for another")
    func subscribers() async throws {
        try await withServer { path, _ in
            var clients: [ProviderClient] = []
            for _ in 0..<16 {
                let client = try await ProviderClient.connect(path: path)
                _ = try await client.events(after: nil)
                clients.append(client)
            }
            let another = try await ProviderClient.connect(path: path)
            await #expect(throws: ProviderFailure(.refused, "")) { try await another.events(after: nil) }
            await clients[0].close()
            // The provider notices the end of the connection with a delay.
            while (try? await another.events(after: nil)) == nil {}
            for client in clients + [another] { await client.close() }
        }
    }

    @Test("A request for events is answered when its time expires or when the server stops")
    func timeouts() async throws {
        try await withServer { path, running in
            let watcher = try await ProviderClient.connect(path: path)
            let start = try await watcher.events(after: nil)
            let page = try await watcher.events(after: start.last, wait: .milliseconds(1))
            #expect(page == ProviderEventPage(events: [], last: start.last, lost: 0))
            async let waiting = watcher.events(after: start.last)
            // The second request is rejected while the first one waits, which shows that it waits.
            while true {
                do {
                    _ = try await watcher.events(after: nil)
                } catch let failure as ProviderFailure where failure.code == .refused {
                    break
                }
            }
            running.cancel()
            #expect(try await waiting.events.isEmpty)
            await watcher.close()
        }
    }
}
