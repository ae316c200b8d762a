import Foundation
import KeyShareClient
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import TestSupport
import Testing

@Suite("Exports", .timeLimit(.minutes(10)))
struct CallTests {
    /// Creates connections that each have access to `identifier`.
    private func clients(_ count: Int, _ path: String, _ identifier: String) async throws -> [ProviderClient]
    {
        var clients: [ProviderClient] = []
        for _ in 0..<count {
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            try await client.startAccessing(identifier)
            clients.append(client)
        }
        return clients
    }

    /// Runs a server that exports one item at a time for a process, and holds the export at a gate.
    ///
    /// - Parameters:
    ///   - waiting: The number of exports that a process may have, including the running one.
    ///   - body: Receives the gate, the provider, the identifier of an exported item, and the path of the socket.
    private func withOneExport(
        _ waiting: Int,
        _ body: (Gate, StandInProvider, String, String) async throws -> Void
    ) async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 4, gate: gate)
        let identifier = provider.items[3].identifier
        try await withServer(
            provider,
            limits: {
                $0.exports.underWayPerProcess = 1
                $0.exports.perProcess = waiting
            }
        ) { path, _ in
            try await body(gate, provider, identifier, path)
        }
    }

    @Test("A waiting export never begins after its connection ends, and does not count toward any limit")
    func abandonedConnections() async throws {
        try await withOneExport(17) { gate, provider, row, path in
            for _ in 0..<20 {
                let peer = try RawPeer(path: path)
                try await peer.greet()
                for id: UInt32 in 1...16 { try await peer.send(.choose(row: row, types: []), id: id) }
                // The reply to a seventeenth request would have to wait; the connection ends immediately instead.
                await gate.arrival()
            }
            // If abandoned exports still counted, there would be no room for this one.
            let client = try await ProviderClient.connect(path: path, clientName: "honest")
            try await client.startAccessing(row)
            async let content = client.readAll(row)
            gate.open()
            #expect(try await content == [7, 7, 7])
            #expect(provider.exports == 0)
            await client.close()
        }
    }

    @Test("An export over the limit fails with serverBusy immediately; lookups and passwords still work")
    func busy() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 4, gate: gate)
        let identifier = provider.items[3].identifier
        try await withServer(provider, limits: { $0.exports.perProcess = 2 }) { path, _ in
            let clients = try await clients(3, path, identifier)
            let reading = clients[..<2].map { client in Task { try await client.readAll(identifier) } }
            await gate.arrival()
            try #require(await waitUntil { provider.startedExports >= 2 })
            await #expect(throws: ProviderFailure(.serverBusy, "")) {
                try await clients[2].readAll(identifier)
            }
            #expect(try await clients[2].items(in: Item.root).count == 4)
            #expect(try await clients[2].fetchPassword(for: identifier) == StandInProvider.password)
            gate.open()
            for task in reading { #expect(try await task.value == [7, 7, 7]) }
            #expect(try await clients[2].readAll(identifier) == [7, 7, 7])
            for client in clients { await client.close() }
        }
    }

    @Test("Requests for one item share one export, which runs until the last client has disconnected")
    func shared() async throws {
        let gate = Gate()
        var provider = StandInProvider(count: 4, gate: gate)
        provider.sharesContent = true
        let identifier = provider.items[3].identifier
        let read = ProviderRequest.read(identifier: identifier, offset: 0, length: 10)
        try await withServer(
            provider,
            limits: {
                $0.exports.perProcess = 2
                // Look-ups end in the order of their requests.
                $0.lookups.underWayPerProcess = 1
            }
        ) { [provider] path, _ in
            var peers: [RawPeer] = []
            for _ in 0..<20 {
                let peer = try RawPeer(path: path)
                try await peer.greet()
                try await peer.send(.startAccessing(identifier: identifier), id: 2)
                _ = try await peer.frame()
                try await peer.send(read, id: 3)
                try await peer.send(.item(identifier: identifier), id: 4)
                #expect(try await peer.frame()?.id == 4)
                peers.append(peer)
            }
            // The first clients disconnect, and the rest still get the shared export.
            peers.removeFirst(10)
            gate.open()
            for peer in peers {
                let chunk = ContentChunk(total: 3, bytes: [7, 7, 7])
                #expect(try await peer.frame()?.reply == .chunk(chunk))
            }
            #expect(provider.startedExports == 1)
        }
    }

    @Test("A password change ends running exports, and the next request starts a new one")
    func sharedAcrossPeriods() async throws {
        let gate = Gate()
        var provider = StandInProvider(count: 4, gate: gate)
        provider.sharesContent = true
        let identifier = provider.items[3].identifier
        try await withServer(provider) { [provider] path, _ in
            let client = try await clients(1, path, identifier)[0]
            let before = Task { try await client.readAll(identifier) }
            await gate.arrival()
            provider.setPeriod(1)
            try await client.startAccessing(identifier)
            await #expect(throws: ProviderFailure(.notAvailable, "")) { try await before.value }
            try await client.startAccessing(identifier)
            async let after = client.readAll(identifier)
            try #require(await waitUntil { provider.startedExports >= 2 })
            gate.open()
            #expect(try await after == [7, 7, 7])
            await client.close()
        }
    }

    @Test("The statistics of a running server contain waiting, running and rejected exports")
    func figures() async throws {
        try await withOneExport(2) { gate, _, identifier, path in
            let clients = try await clients(3, path, identifier)
            let reading = clients.map { client in Task { try await client.readAll(identifier) } }
            await gate.arrival()
            var figures: [String: UInt64] = [:]
            let hasWaited = try await waitUntil {
                let all = try await clients[0].statistics()
                figures = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.value) })
                return figures["makings-waiting"] == 1 && figures["refused-requests"] == 1
            }
            try #require(hasWaited)
            #expect(figures["makings-under-way"] == 1)
            #expect(figures["connections"] == 3)
            #expect((figures["memory-bytes"] ?? 0) > 1 << 20)
            gate.open()
            for task in reading { _ = await Result { () async throws in try await task.value } }
            for client in clients { await client.close() }
        }
    }

    @Test("The statistics have the names on the protocol page, in its order")
    func figureNames() async throws {
        let path = PackageFolder.path + "/Sources/KeyShareWire/KeyShareWire.docc/Protocol.md"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let table = lines.drop { !$0.contains("| figure | value |") }.dropFirst(2).prefix {
            $0.hasPrefix("  | ")
        }
        let names = table.flatMap { row in
            row.split(separator: "|")[1].matches(of: /`([^`]+)`/).map { String($0.output.1) }
        }
        try await withServer { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            #expect(try await client.statistics().map(\.name) == names)
            await client.close()
        }
    }

    @Test("Evicted content can be read again after access is started again")
    func evicted() throws {
        let item = StandInProvider.file("AB", size: 3)
        var peer = ScriptedPeer()
        _ = try peer.grant(item)
        _ = try peer.read("AB", 0, 10)
        let content: [UInt8] = [1, 2, 3]
        _ = peer.complete(.content(content))
        peer.session.evict(ContentBudget.Content(content))
        #expect(peer.session.heldBytes == 0)
        #expect(try peer.read("AB", 0, 10) == [.failure(.serverBusy, 1)])
        _ = try peer.grant(item)
        #expect(try peer.read("AB", 0, 10) == [.perform(.content(identifier: "AB"), 1)])
    }

    @Test("A server with a full queue stops within its time limit and starts no queued export")
    func stop() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 4, gate: gate)
        let row = provider.items[3].identifier
        try await withServer(
            provider,
            limits: {
                $0.drain = .milliseconds(50)
                $0.exports.perProcess = 10_000
                $0.exports.total = 10_000
            }
        ) { path, running in
            var peers: [RawPeer] = []
            for _ in 0..<100 {
                let peer = try RawPeer(path: path)
                try await peer.greet()
                for id: UInt32 in 1...16 { try await peer.send(.choose(row: row, types: []), id: id) }
                peers.append(peer)
            }
            await gate.arrival()
            running.cancel()
            try await running.value
            gate.open()
            for peer in peers { #expect(try await peer.rest() == []) }
            #expect(provider.exports == 0)
        }
    }

    @Test("Identifiers are compared byte by byte, and have at most 256 bytes")
    func identifiers() throws {
        // U+212B ANGSTROM SIGN is canonically equivalent to U+00C5.
        let (angstrom, letter) = ("\u{212B}", "\u{C5}")
        #expect(angstrom == letter)
        var peer = ScriptedPeer()
        _ = try peer.grant(StandInProvider.file(letter, size: 3))
        let fetch = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: angstrom)
        #expect(try peer.ask(fetch) == [.failure(.notAvailable, 1)])
        _ = try peer.ask(.stopAccessing(identifier: angstrom))
        #expect(try peer.read(letter, 0, 1) == [.perform(.content(identifier: letter), 1)])
        // U+212A KELVIN SIGN is canonically equivalent to the letter K.
        let kelvin = PasswordService.name.replacingOccurrences(of: "K", with: "\u{212A}")
        #expect(kelvin == PasswordService.name)
        let byService = ProviderRequest.fetchPassword(service: kelvin, identifier: letter)
        #expect(try peer.ask(byService) == [.failure(.notAvailable, 1)])
        let long = String(repeating: "A", count: 257)
        for request: ProviderRequest in [
            .item(identifier: long), .services(identifier: long), .startAccessing(identifier: long),
            .read(identifier: long, offset: 0, length: 1), .stopAccessing(identifier: long),
            .fetchPassword(service: long, identifier: "A"), .fetchPassword(service: "A", identifier: long),
            .enumerate(container: long, cursor: nil, limit: 0),
            .present(types: ["A", long], cursor: nil, limit: 0),
            .choose(row: long, types: []), .choose(row: "A", types: [long]),
        ] {
            #expect(try peer.ask(request) == [.failure(.refused, 1)], "\(request.messageType)")
        }
    }
}
