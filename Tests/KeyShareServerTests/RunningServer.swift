import Foundation
import KeyShareServer
import LocalSockets
import Logging
import Synchronization
import TestSupport
import Testing

/// Runs a server on a socket in a scratch folder while `body` runs, and checks that it stops cleanly.
///
/// `body` receives the socket's path and the task that runs the server; cancelling the task stops the server. The
/// deadlines are those of `withoutDeadlines`, except for those that `adjust` sets.
func withServer(
    _ provider: StandInProvider = StandInProvider(count: 3),
    acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool = PeerIdentity.isOwnUser,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    limits adjust: (inout ProviderServer.Limits) -> Void = { _ in },
    _ body: (String, Task<Void, any Error>) async throws -> Void
) async throws {
    let scratch = try ScratchFolder()
    var limits = ProviderServer.Limits.withoutDeadlines
    adjust(&limits)
    let path = scratch.path("provider.sock")
    let server = try ProviderServer(
        path: path, service: provider, limits: limits, acceptsPeer: acceptsPeer, logger: logger)
    let running = Task { try await server.run() }
    let result = await Result { () async throws in try await body(path, running) }
    running.cancel()
    try await running.value
    try result.get()
    #expect(!FileManager.default.fileExists(atPath: path), "the socket is still there")
    withExtendedLifetime(scratch) {}
}

/// A log handler that records every line.
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
