import TestSupport
import KeyShareServer
import LocalSockets
import Foundation
import Logging
import Synchronization
import Testing

/// A folder of mode 0700 with a short name, removed at the end.
func withScratchFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = "/tmp/keyshare-\(UInt32.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// Runs a server on a socket in a scratch folder round `body`, and sees it stop cleanly.
///
/// `body` gets the socket's path and the task that runs the server, whose cancellation is the stop.
func withServer(
    _ provider: FakeProvider = FakeProvider(count: 3),
    acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool = PeerIdentity.isOwnUser,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    limits adjust: (inout ProviderServer.Limits) -> Void = { _ in },
    _ body: (String, Task<Void, any Error>) async throws -> Void
) async throws {
    try await withScratchFolder { folder in
        // No deadline but those a test sets: a busy machine is nobody's fault.
        var limits = ProviderServer.Limits()
        limits.hello = .seconds(600)
        limits.frame = .seconds(600)
        limits.idle = .seconds(600)
        limits.stalled = .seconds(600)
        adjust(&limits)
        let path = folder + "/provider.sock"
        let server = try ProviderServer(
            path: path, service: provider, limits: limits, acceptsPeer: acceptsPeer, logger: logger)
        let running = Task { try await server.run() }
        do {
            try await body(path, running)
        } catch {
            running.cancel()
            _ = await running.result
            throw error
        }
        running.cancel()
        try await running.value
        #expect(!FileManager.default.fileExists(atPath: path), "the socket is still there")
    }
}

/// Keeps every line that is logged.
struct RecordingLogHandler: LogHandler {
    final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(_ lines: Lines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        lines.add("\(event.message) \(all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })")
    }
}
