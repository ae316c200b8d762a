import KeyShareProtocol
import TestSupport
import KeyShareClient
import KeyShareServer
import KeyShareWire
import KeySharing
import Logging
import OpenSSL
import Synchronization
import Testing

@Suite("Ending all grants", .timeLimit(.minutes(10)))
struct GrantPeriodTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path }

    init() throws {
        scratch = try ScratchFolder()
    }

    private let item = WireSamples.items[0]
    private var identifier: String { item.identifier }
    private var fetch: ProviderRequest {
        .fetchPassword(service: PasswordService.name, identifier: identifier)
    }

    @Test("After all grants end, password and content are unavailable until the item is granted again")
    func session() throws {
        var peer = ScriptedPeer()
        _ = try peer.grant(item)
        _ = try peer.read(identifier, 0, 4, id: 5)
        _ = peer.complete(.content([1, 2, 3]))
        peer.session.endGrants()
        #expect(peer.session.heldBytes == 0)
        #expect(try peer.ask(fetch, id: 6) == [.failure(.notAvailable, 6)])
        #expect(try peer.read(identifier, 0, 4, id: 7) == [.failure(.notAvailable, 7)])
        #expect(try peer.grant(item) == [.reply(.granted(size: 3_021), 2)])
        #expect(try peer.ask(fetch, id: 8) == [.password(identifier, 8)])
    }

    @Test("When all grants end, waiting reads fail, and pending grants are not created")
    func underway() throws {
        var peer = ScriptedPeer()
        _ = try peer.grant(item)
        #expect(try peer.read(identifier, 0, 4, id: 5).count == 1)
        peer.session.endGrants()
        #expect(peer.give([]) == [.failure(.notAvailable, 5)])
        #expect(peer.complete(.content([1, 2, 3])) == [])

        #expect(try peer.ask(.startAccessing(identifier: identifier), id: 6).count == 1)
        peer.session.endGrants()
        #expect(peer.complete(.granted(item)) == [.failure(.notAvailable, 6)])

        #expect(try peer.ask(.choose(row: "1", types: ["t"]), id: 7).count == 1)
        peer.session.endGrants()
        let export = LegacyExport(item: item, content: [1, 2, 3])
        #expect(peer.complete(.chosen(export)) == [.failure(.notAvailable, 7)])
        #expect(peer.session.heldBytes == 0 && peer.session.outstanding == 0)
    }

    @Test("A changed or unknown grant period ends the grants of all connections before the next reply")
    func server() async throws {
        let provider = StandInProvider(count: 2)
        let identifier = provider.items[1].identifier
        try await withServer(provider) { path, _ in
            let first = try await ProviderClient.connect(path: path, clientName: "first")
            let second = try await ProviderClient.connect(path: path, clientName: "second")
            for period in [1, nil, 2] as [UInt64?] {
                for client in [first, second] {
                    try await client.startAccessing(identifier)
                    _ = try await client.readAll(identifier)
                }
                provider.setPeriod(period)
                for client in [second, first] {
                    await #expect(throws: ProviderFailure(.notAvailable, "")) {
                        try await client.fetchPassword(for: identifier)
                    }
                    await #expect(throws: ProviderFailure(.notAvailable, "")) {
                        try await client.readAll(identifier)
                    }
                }
            }
            await first.close()
            await second.close()
        }
    }

    @Test("Content that finishes loading after the grant period has ended is not returned")
    func acrossTheEnd() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 2, gate: gate)
        let identifier = provider.items[1].identifier
        try await withServer(provider) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            try await client.startAccessing(identifier)
            let reading = Task { try await client.readAll(identifier) }
            await gate.arrival()
            provider.setPeriod(1)
            gate.open()
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await reading.value
            }
            await client.close()
        }
    }

    @Test("When all grants end, the content is dropped without waiting for a request")
    func memory() async throws {
        let provider = StandInProvider(count: 10)
        let identifier = provider.items[9].identifier
        let path = folder + "/provider.sock"
        let lines = RecordingLogHandler.Lines()
        var logger = Logger(label: "test") { _ in RecordingLogHandler(lines) }
        logger.logLevel = .info
        let server = try ProviderServer(
            path: path, service: provider, limits: .withoutDeadlines, logger: logger)
        server.endExpiredGrants()
        let running = Task { try await server.run() }
        let holder = try await ProviderClient.connect(path: path, clientName: "holder")
        try await holder.startAccessing(identifier)
        #expect(try await holder.readAll(identifier).count == 9)
        server.endExpiredGrants()
        provider.setPeriod(1)
        server.endExpiredGrants()
        // The loop handles the stop after the end of the grants.
        running.cancel()
        try await running.value
        server.endExpiredGrants()
        await holder.close()
        #expect(lines.all.filter { $0.contains("all grants end") }.count == 1)
    }
}
