internal import CommandSupport
internal import DeviceSimulation
internal import Foundation
internal import KeyShareClient
internal import KeyShareWire
internal import LocalSockets
internal import Synchronization

/// Watches the provider over its socket: whether the provider is running, and how it answers other clients.
///
/// The connection subscribes to events, and its own requests are not reported as events. The page uses this connection
/// for requests that only serve its explanations, so that the diagram shows only the exchange with consumers.
final class ProviderWatch: Sendable {
    /// The state of the provider's process and of the connection to it.
    struct Status: Sendable {
        /// The ID of the running provider's process, or nil if no provider is running.
        var processID: Int32?
        /// Why the events of a running provider are not available, or nil.
        var failure: CommandFailure?
        /// The connection that subscribes to events, or nil.
        var client: ProviderClient?
    }

    private let socket: String
    private let journal: EventJournal
    private let current = Mutex(Status())

    init(socket: String, journal: EventJournal) {
        self.socket = socket
        self.journal = journal
    }

    var status: Status { current.withLock { $0 } }

    /// Watches the provider until the task is cancelled.
    ///
    /// - Parameter changed: Called when a provider has started or ended.
    func run(changed: @Sendable () -> Void) async {
        while !Task.isCancelled {
            var status = Status()
            do {
                let client = try await ProviderClient.connect(path: socket, clientName: "keyshare-device web")
                status.client = client
                status.processID = PeerIdentity.listener(at: socket)?.processID
                let start = try await client.events(after: nil)
                journal.append([SharingEvent("serving", at: Date())])
                set(status, changed)
                // Closing the connection ends the request that waits for events.
                try await withTaskCancellationHandler {
                    try await follow(client, after: start.last)
                } onCancel: {
                    Task { await client.close() }
                }
            } catch {
                if status.client != nil { journal.append([SharingEvent("stopped", at: Date())]) }
                await status.client?.close()
                journal.forgetConnections()
                status = Status(processID: PeerIdentity.listener(at: socket)?.processID)
                if status.processID != nil { status.failure = CommandFailure(error) }
                set(status, changed)
            }
            try? await Task.sleep(for: .milliseconds(250))
        }
        await status.client?.close()
    }

    private func follow(_ client: ProviderClient, after start: UInt64) async throws {
        var last = start
        while true {
            let page = try await client.events(after: last)
            if page.lost > 0 { journal.append([SharingEvent("lost", at: Date(), subject: "\(page.lost)")]) }
            journal.append(page.events.map(SharingEvent.init))
            last = page.last
        }
    }

    private func set(_ status: Status, _ changed: () -> Void) {
        let isNews = current.withLock { current in
            defer { current = status }
            return current.processID != status.processID || current.failure != status.failure
                || (current.client == nil) != (status.client == nil)
        }
        if isNews { changed() }
    }
}
