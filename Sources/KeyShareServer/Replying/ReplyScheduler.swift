internal import NIOCore

/// The connections that have sent requests in one turn of the event loop. They are answered together at its end.
///
/// All requests arrive before the answers begin, so one check of the device and its keychain is valid for all of them,
/// and their replies go to the kernel together (`VectoredWriter`).
final class ReplyScheduler {
    private let service: any ProviderService
    private let eventLoop: any EventLoop
    private let batch = VectoredWriter()
    private var connections: [ConnectionHandler] = []

    init(service: any ProviderService, eventLoop: any EventLoop) {
        self.service = service
        self.eventLoop = eventLoop
    }

    /// Answers the requests of a connection: immediately if it is the server's only connection, otherwise at the end of
    /// this turn of the event loop.
    func schedule(_ connection: ConnectionHandler) {
        if connection.registry.isSingle {
            service.withStateSnapshot {
                connection.registry.endExpiredGrants()
                connection.processRequests(at: .now())
            }
            return
        }
        connections.append(connection)
        if connections.count == 1 {
            eventLoop.assumeIsolated().execute { [self] in processAll() }
        }
    }

    /// Answers everything that was read so far in this turn of the event loop. Call this before you decide whether a
    /// connection is idle or late.
    func processAll() {
        guard !connections.isEmpty else { return }
        let connections = connections
        // Connections whose requests arrive from now on belong to the next turn.
        self.connections.removeAll(keepingCapacity: true)
        service.withStateSnapshot {
            connections[0].registry.endExpiredGrants()
            let now = NIODeadline.now()
            var unfinished = connections.startIndex
            /// Writes the pending replies. Then processes the requests that the connections before index `end` deferred
            /// because of unsent bytes.
            func finish(before end: Int) {
                batch.submit()
                for index in unfinished..<end { connections[index].processRequests(at: now) }
                unfinished = end
            }
            for (index, connection) in connections.enumerated() {
                connection.beginProcessing(at: now, writingTo: batch)
                // Replies must not wait for the signatures of other connections.
                if batch.isFull || connection.computed > 0 { finish(before: index + 1) }
            }
            finish(before: connections.endIndex)
        }
    }
}
