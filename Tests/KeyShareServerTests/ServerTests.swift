import KeyShareProtocol
import KeyShareServer
import TestSupport
import KeyShareClient
import KeyShareWire
import Foundation
import Glibc
import KeySharing
import LocalSockets
import Logging
import OpenSSL
import SecretMemory
import Testing

@Suite("A server and its clients", .timeLimit(.minutes(10)))
struct ServerTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path }

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test("A client browses, picks an item, finds its service, fetches password and content, and stops")
    func course() async throws {
        let provider = StandInProvider(count: 3)
        let item = provider.items[2]
        try await withServer(provider) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            #expect(client.welcome.services == [PasswordService.name])
            #expect(try await client.items(in: Item.root) == provider.items)
            #expect(try await client.item(item.identifier) == item)
            #expect(try await client.services(for: item.identifier).contains(PasswordService.name))
            #expect(try await client.startAccessing(item.identifier) == 2)
            #expect(try await client.fetchPassword(for: item.identifier) == StandInProvider.password)
            #expect(try await client.readAll(item.identifier) == [7, 7])
            try await client.stopAccessing(item.identifier)
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await client.fetchPassword(for: item.identifier)
            }
            await client.close()
            await client.close()
            await #expect(throws: SocketError.self) { try await client.item(item.identifier) }
        }
    }

    @Test("A long listing arrives complete and in order, in pages that fit their frames")
    func pages() async throws {
        var items = StandInProvider(count: 700).items
        // Names that make 256 items far too long for one frame.
        for index in items.indices {
            items[index].filename += String(repeating: "x", count: index % 2_000)
        }
        let provider = StandInProvider(items: items)
        try await withServer(provider) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            #expect(try await client.items(in: Item.root) == items)
            #expect(try await client.present(["com.rsa.pkcs-12"]) == items)
            #expect(try await client.page(of: Item.root, after: "695", limit: 3).items.count == 3)
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await client.items(in: "elsewhere")
            }
            await client.close()
        }
    }

    @Test("A listing fails if one item does not fit in a frame")
    func oversizedItem() async throws {
        var item = StandInProvider.file("long", size: nil)
        item.filename = String(repeating: "x", count: 100_000)
        try await withServer(StandInProvider(items: [item])) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            await #expect(throws: ProviderFailure(.internalError, "")) {
                try await client.items(in: Item.root)
            }
            await client.close()
        }
    }

    @Test("A large item arrives complete, and an item over the client's limit is rejected")
    func largeItem() async throws {
        let content = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let item = StandInProvider.file("large", size: nil)
        try await withServer(StandInProvider(items: [item], contents: ["large": content])) { path, _ in
            var limits = ProviderClient.Limits()
            let client = try await ProviderClient.connect(path: path, clientName: "test", limits: limits)
            #expect(try await client.startAccessing("large") == nil)
            #expect(try await client.readAll("large") == content)
            await client.close()
            limits.contentSize = 4_999_999
            let strict = try await ProviderClient.connect(path: path, clientName: "test", limits: limits)
            try await strict.startAccessing("large")
            let error = await #expect(throws: SocketError.self) { try await strict.readAll("large") }
            #expect(error?.code == .contentTooLarge)
            await strict.close()
        }
    }

    @Test("A legacy export is readable only on the connection that requested it, and has no password service")
    func legacy() async throws {
        let provider = StandInProvider(count: 2)
        try await withServer(provider) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            let rows = try await client.present(["purebred.select.all"])
            let row = try #require(rows.first).identifier
            let export = try await client.choose(row, types: ["purebred.select.all"])
            #expect(try await client.readAll(export.identifier) == [1, 2, 3])
            await #expect(throws: ProviderFailure(.mixedMechanisms, "")) {
                try await client.fetchPassword(for: export.identifier)
            }
            await #expect(throws: ProviderFailure(.mixedMechanisms, "")) {
                try await client.present(["purebred2025.rsa.pkcs-12"])
            }
            let other = try await ProviderClient.connect(path: path, clientName: "other")
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await other.readAll(export.identifier)
            }
            #expect(try await client.identityFacts() == WireSamples.facts)
            #expect(try await client.identities(in: "root") == WireSamples.detailedFacts)
            await client.close()
            await other.close()
        }
    }

    @Test("A grant is valid for only one connection")
    func grantsPerConnection() async throws {
        let provider = StandInProvider(count: 1)
        let identifier = provider.items[0].identifier
        try await withServer(provider) { path, _ in
            let granted = try await ProviderClient.connect(path: path, clientName: "granted")
            let other = try await ProviderClient.connect(path: path, clientName: "other")
            try await granted.startAccessing(identifier)
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await other.fetchPassword(for: identifier)
            }
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await other.readAll(identifier)
            }
            try await other.stopAccessing(identifier)
            #expect(try await granted.fetchPassword(for: identifier) == StandInProvider.password)
            await granted.close()
            await other.close()
        }
    }

    @Test("Each of many requests from many tasks gets its own reply")
    func concurrentRequests() async throws {
        let provider = StandInProvider(count: 100)
        try await withServer(provider) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for item in provider.items {
                    group.addTask {
                        let answer = try await client.item(item.identifier)
                        #expect(answer == item)
                    }
                }
                try await group.waitForAll()
            }
            await client.close()
        }
    }

    @Test("A client with no version in common with the server fails with unsupportedVersion")
    func versions() async throws {
        try await withServer { path, _ in
            await #expect(throws: ProviderFailure(.unsupportedVersion, "")) {
                try await ProviderClient.connect(path: path, clientName: "test", versions: 3...4)
            }
        }
    }

    @Test("A client fails with notRunning if the socket is missing, stale, or another kind of file")
    func notRunning() async throws {
        try Data().write(to: URL(filePath: folder + "/file"))
        let stale = folder + "/stale"
        try makeStaleSocket(at: stale)
        for path in [folder + "/nothing", stale, folder + "/file"] {
            let error = await #expect(throws: SocketError.self) {
                try await ProviderClient.connect(path: path, clientName: "test")
            }
            #expect(error?.code == .notRunning, "\(path)")
        }
        let long = folder + "/" + String(repeating: "x", count: 108 - folder.utf8.count - 1)
        let error = await #expect(throws: SocketError.self) {
            try await ProviderClient.connect(path: long, clientName: "test")
        }
        #expect(error?.code == .pathTooLong)
    }

    @Test("A client that expects another server user fails with wrongOwner")
    func wrongOwner() async throws {
        try await withServer { path, _ in
            let error = await #expect(throws: SocketError.self) {
                try await ProviderClient.connect(
                    path: path, clientName: "test", acceptsServer: { _ in false })
            }
            #expect(error?.code == .wrongOwner)
        }
    }

    @Test("A request fails if the server does not answer within the client's time limit")
    func replyTimeout() async throws {
        let gate = Gate()
        try await withServer(StandInProvider(count: 2, gate: gate)) { path, _ in
            var limits = ProviderClient.Limits()
            limits.reply = .milliseconds(50)
            let client = try await ProviderClient.connect(path: path, clientName: "test", limits: limits)
            let error = await #expect(throws: SocketError.self) { try await client.identityFacts() }
            #expect(error?.code == .timedOut)
            gate.open()
            await client.close()
        }
    }

    @Test("A stopping server answers outstanding requests, closes connections, and removes its socket")
    func gracefulStop() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 4, gate: gate)
        let identifier = provider.items[3].identifier
        try await withServer(provider) { path, running in
            let busy = try await ProviderClient.connect(path: path, clientName: "busy")
            let idle = try RawPeer(path: path)
            try await idle.greet()
            try await busy.startAccessing(identifier)
            async let content = busy.readAll(identifier)
            await gate.arrival()
            running.cancel()
            #expect(try await idle.frame() == nil)
            #expect(!FileManager.default.fileExists(atPath: path))
            gate.open()
            #expect(try await content == [7, 7, 7])
            try await running.value
            let error = await #expect(throws: SocketError.self) {
                try await busy.fetchPassword(for: identifier)
            }
            #expect(error?.code == .closed)
            await busy.close()
        }
    }

    @Test("A stopping server waits for a hanging provider only up to its time limit")
    func stopDeadline() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 4, gate: gate)
        let identifier = provider.items[3].identifier
        try await withServer(provider, limits: { $0.drain = .milliseconds(50) }) { path, running in
            let client = try await ProviderClient.connect(path: path, clientName: "busy")
            try await client.startAccessing(identifier)
            let reading = Task { try await client.readAll(identifier) }
            await gate.arrival()
            running.cancel()
            try await running.value
            let error = await #expect(throws: SocketError.self) { try await reading.value }
            #expect(error?.code == .closed)
            gate.open()
            await client.close()
        }
    }

    @Test("The log contains requests, items and outcomes, but no secrets")
    func log() async throws {
        let lines = RecordingLogHandler.Lines()
        let provider = StandInProvider(count: 2, secret: .success(SecretBytes(utf8: "correct horse")))
        let identifier = provider.items[1].identifier
        var logger = Logger(label: "test") { _ in RecordingLogHandler(lines) }
        logger.logLevel = .trace
        try await withServer(provider, logger: logger) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            try await client.startAccessing(identifier)
            _ = try await client.fetchPassword(for: identifier)
            _ = try await client.readAll(identifier)
            _ = try? await client.item("two\nlines")
            await client.close()
        }
        let all = lines.all.joined(separator: "\n")
        for word in ["connection opened", "uid=\(geteuid())", identifier, "password", "connection closed"] {
            #expect(all.contains(word), "\(word)")
        }
        #expect(!all.contains("correct horse"))
        #expect(!all.contains("two\nlines"))
        #expect(all.contains("u{A}lines"))
    }
}

/// Creates a socket at `path` on which no process listens.
func makeStaleSocket(at path: String) throws {
    close(try makeBoundSocket(at: path))
}

/// Returns a socket that is bound to `path` and does not listen.
func makeBoundSocket(at path: String, _ type: __socket_type = SOCK_STREAM) throws -> CInt {
    let descriptor = socket(AF_UNIX, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
        unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
    }
    let result = unsafe withUnsafePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            unsafe bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    try #require(result == 0)
    return descriptor
}
