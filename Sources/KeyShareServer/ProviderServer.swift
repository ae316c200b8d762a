internal import Glibc
package import KeyShareProtocol
package import KeyShareWire
package import LocalSockets
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The server of a provider's socket, to be run in a service group.
///
/// The initializer opens the socket, so consumers may connect as soon as it returns. `run()` serves them until the
/// group shuts down gracefully or the task is cancelled. The server then accepts no new connections, finishes
/// outstanding requests for at most `Limits.drain`, and removes the socket.
///
/// One event loop serves all connections. Password requests are answered on the loop; all other requests call the
/// provider on other threads. A second loop would gain nothing: both would wait for the provider's one keychain.
/// Lookups, exports and key uses have separate threads, on which processes take turns.
package final class ProviderServer: Service {
    /// The limits that a server sets for its clients: times, counts and sizes. Counts and sizes are maximums.
    /// `Protocol.md` of `KeyShareWire` gives the reason for each.
    package struct Limits: Sendable {
        /// The maximum time from accepting a connection to the end of the hello.
        package var hello: Duration = .seconds(2)
        /// The maximum time from the first byte of a frame to its last.
        package var frame: Duration = .seconds(5)
        /// The maximum time without an outstanding request.
        package var idle: Duration = .seconds(60)
        /// The maximum time that replies wait for a client that does not read.
        package var stalled: Duration = .seconds(5)
        /// The time that a stopping server allows for outstanding requests.
        package var drain: Duration = .seconds(5)

        /// The number of connections that may subscribe to events.
        package var subscribers = 16
        /// The number of events that are kept for slow subscribers.
        package var events = 4_096
        /// The longest time that a request for events waits.
        package var eventWait: Duration = .seconds(10)

        /// The number of connections; the process's descriptor limit may lower it.
        package var connections = 4_096
        /// The number of connections from one process.
        package var connectionsPerPeer = 1_024
        /// The number of outstanding requests of one connection. At the limit, no further requests are read.
        package var outstandingRequests = 16
        /// The number of unsent bytes of one connection. Above the limit, no further requests are read or answered.
        package var unsentBytes = 65_536
        /// The number of unsent bytes of all connections. Above the limit, connections are closed.
        package var totalUnsentBytes = 64 << 20
        /// The number of items that may be granted to one connection at the same time.
        package var grants = 64
        /// The bytes of content that are kept in memory for one connection's reads.
        package var snapshotBytes = 128 << 20
        /// The bytes of content that are kept in memory for all connections. Content that several connections hold
        /// counts once.
        package var totalSnapshotBytes = 256 << 20
        /// Calls that need only a lookup, such as pages of items.
        package var lookups = CallAdmission.Limits(
            underWayPerProcess: 2, perProcess: 4_096, total: 8_192)
        /// Exports: the files and archives that the provider creates for its clients.
        package var exports = CallAdmission.Limits(
            underWayPerProcess: 2, perProcess: 64, total: 256, bytes: 128 << 20, smallBytes: 256 << 10)
        /// Calls that open a key for a key use, and may wait for the user. They run concurrently.
        package var keyOpenings = CallAdmission.Limits(
            underWayPerProcess: 64, perProcess: 64, total: 256, bytes: 16 << 20)
        /// Key uses whose key is already open.
        package var keyUses = CallAdmission.Limits(
            underWayPerProcess: 2, perProcess: 1_024, total: 4_096, bytes: 64 << 20)
        /// The number of unfinished multipart messages of one connection.
        package var messages = 8
        /// The time that a stopped server allows for running steps.
        package var step: Duration = .milliseconds(500)
        /// The number of items in one page; fewer if they do not fit in a frame.
        package var pageItems = 256

        /// Creates the default limits.
        package init() {}
    }

    /// Receives events with the IDs of their requests; the ID is nil if a connection opens or closes. It runs on the
    /// server's event loop, so it must not block.
    package typealias Observer = @Sendable (_ event: ProviderEvent, _ requestID: UInt32?) -> Void

    /// The path of the socket.
    package var path: String { listener.path }

    private let listener: Listener
    private let service: any ProviderService
    private let limits: Limits
    private let serverName: String
    private let services: [String]
    private let fault: ConnectionFault?
    private let acceptsPeer: @Sendable (PeerIdentity) -> Bool
    private let logger: Logger
    private let observer: Observer?
    /// The event loop and the connections on it; nil while the server does not run.
    private let serving = Mutex<(loop: ClosableEventLoop, registry: NIOLoopBound<ConnectionRegistry>)?>(nil)

    /// Opens the socket at `path`, and creates its folder if it is missing.
    ///
    /// - Parameters:
    ///   - path: The socket's path, at most 107 bytes. Only this user may own and enter its folder.
    ///   - inherited: A descriptor that is already listening, to be used instead of `path`. The service manager that
    ///     opened it still owns its name; the server closes the descriptor.
    ///   - service: The provider that answers the requests.
    ///   - limits: The limits for clients.
    ///   - serverName: The provider's name in the reply to the hello.
    ///   - services: The names of the services that the provider offers.
    ///   - fault: A deliberate fault, for tests of consumers; nil if there is none.
    ///   - acceptsPeer: Returns whether this user may connect. The kernel reports the user (docs/rules.md R6.13). The
    ///     check precedes the first read.
    ///   - logger: The log. It receives types, sizes, identifiers and outcomes, never content or passwords.
    ///   - observer: Receives every event; nil if nothing observes them.
    /// - Throws: `SocketError`: `pathTooLong`, `unsafeFolder`, `notASocket`, `alreadyRunning`, `system`.
    package init(
        path: String, inherited: CInt? = nil, service: any ProviderService,
        limits: Limits = Limits(),
        serverName: String = "keyshare-provider", services: [String] = [PasswordService.name],
        fault: ConnectionFault? = nil,
        acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool = PeerIdentity.isOwnUser, logger: Logger,
        observer: Observer? = nil
    ) throws(SocketError) {
        if let inherited {
            listener = try Listener(inherited: inherited)
        } else {
            listener = try Listener(path: path)
        }
        self.service = service
        self.limits = limits
        self.serverName = serverName
        self.services = services
        self.fault = fault
        self.acceptsPeer = acceptsPeer
        self.logger = logger
        self.observer = observer
        // Otherwise, writing to a client that has disconnected would end the process (signal(7)).
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Raises this process's descriptor limit as far as the system permits (getrlimit(2)). Call it before you create a
    /// server. If it fails, the server keeps fewer connections.
    package static func raiseDescriptorLimit() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var descriptors = rlimit()
        guard unsafe getrlimit(resource, &descriptors) == 0 else { return }
        descriptors.rlim_cur = descriptors.rlim_max
        _ = unsafe setrlimit(resource, &descriptors)
    }

    /// Serves until the group shuts down gracefully or the task is cancelled.
    ///
    /// - Throws: `SocketError` `alreadyRan` on a second call; NIO's errors if the event loop cannot start.
    package func run() async throws {
        guard let descriptor = listener.takeDescriptor() else {
            throw SocketError(.alreadyRan, "this server has already run")
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        // One request costs less than a time slice, so the loop has priority over threads that create archives.
        group.next().execute { ThreadPriority.shortSlices.apply() }
        let loop = ClosableEventLoop(group.next())
        let executors = CallExecutors()
        let result: Result<Void, any Error>
        do {
            result = .success(try await serve(descriptor, on: group.next(), loop, executors))
        } catch {
            result = .failure(error)
        }
        listener.close()
        loop.close()
        await executors.stop(patience: limits.step)
        try await group.shutdownGracefully()
        try result.get()
    }

    /// Ends the grants of all connections if the provider's grant period has changed (docs/rules.md R6.9, R6.11). The
    /// next request would also do this; this call drops the content from memory without waiting for a request.
    package func endExpiredGrants() {
        guard let (loop, registry) = serving.withLock({ $0 }) else { return }
        loop.execute { registry.value.endExpiredGrants() }
    }

    /// Returns the server's statistics, in the order in which `Protocol.md` of `KeyShareWire` explains them; empty while
    /// the server does not run. The event loop reads them, so a reply also shows that the loop runs.
    package func figures() async -> [ProviderFigure] {
        guard let (loop, registry) = serving.withLock({ $0 }) else { return [] }
        return await withCheckedContinuation { continuation in
            loop.execute {
                continuation.resume(returning: registry.value.figures)
            } otherwise: {
                continuation.resume(returning: [])
            }
        }
    }

    private func serve(
        _ descriptor: CInt, on loop: any EventLoop, _ closableLoop: ClosableEventLoop,
        _ executors: CallExecutors
    ) async throws {
        let emptied = loop.makePromise(of: Void.self)
        let abandoned = AbandonedConnectionCount()
        let registry = try await loop.submit { [self] in
            NIOLoopBound(
                ConnectionRegistry(
                    service: service, limits: effectiveLimits, serverName: serverName, services: services,
                    fault: fault, logger: logger, observer: observer, emptied: emptied, abandoned: abandoned,
                    loop: closableLoop,
                    executors: executors, eventLoop: loop),
                eventLoop: loop)
        }.get()
        serving.withLock { $0 = (closableLoop, registry) }
        defer { serving.withLock { $0 = nil } }
        let opener = try await loop.submit {
            NIOLoopBound(ConnectionOpener(registry.value, on: loop), eventLoop: loop)
        }.get()
        let acceptor: Acceptor
        do {
            acceptor = try Acceptor(
                listening: descriptor, abandoned: abandoned, events: acceptorEvents(opener, on: loop))
        } catch {
            Glibc.close(descriptor)
            emptied.succeed()
            throw error
        }
        logger.info("listening", metadata: ["socket": "\(path)"])
        try await withTaskCancellationOrGracefulShutdownHandler {
            let accepting: Result<Void, SocketError>
            do throws(SocketError) {
                accepting = .success(try await acceptor.run())
            } catch {
                accepting = .failure(error)
            }
            // This is needed if the listening socket failed without a shutdown request.
            loop.execute { registry.value.drain() }
            try await emptied.futureResult.get()
            try accepting.get()
        } onCancelOrGracefulShutdown: { [listener, limits] in
            listener.unlinkSocket()
            acceptor.stop()
            loop.execute {
                registry.value.drain()
                loop.assumeIsolated().scheduleTask(in: TimeAmount(limits.drain)) {
                    registry.value.closeAll()
                }
            }
        }
        logger.info("stopped", metadata: ["socket": "\(path)"])
    }

    /// Returns the events of an acceptor. They run on its thread, and pass each connection, or the report that it was
    /// rejected, to the event loop.
    private func acceptorEvents(
        _ opener: NIOLoopBound<ConnectionOpener>, on loop: any EventLoop
    ) -> Acceptor.Events {
        Acceptor.Events(
            started: { ThreadPriority.accepting.apply() },
            connected: { [acceptsPeer] connection, done in
                let peer = PeerIdentity(descriptor: connection)
                guard let peer, acceptsPeer(peer) else {
                    Glibc.close(connection)
                    loop.execute {
                        opener.value.logRejectedPeer(peer)
                        done()
                    }
                    return true
                }
                loop.execute {
                    opener.value.openConnection(connection, peer)
                    done()
                }
                return true
            },
            exhausted: { reason in
                let isFree = loop.submit { opener.value.makeRoom(reason) }
                return (try? isFree.wait()) ?? false
            })
    }

    /// The limits, with the number of connections reduced to the available descriptors. Up to 64 descriptors are
    /// reserved for the provider's files.
    private var effectiveLimits: Limits {
        var limits = limits
        var descriptors = rlimit()
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors) == 0 {
            let count = Int(clamping: descriptors.rlim_cur)
            limits.connections = min(limits.connections, max(count - min(64, count / 2), 1))
        }
        return limits
    }
}

/// A deliberate fault of a server, for tests of consumers.
package enum ConnectionFault: Sendable, Hashable {
    /// The server supports only these versions of the protocol.
    case versions(ClosedRange<UInt16>)
    /// The server ends the connection in the middle of a reply of this type.
    case cut(Wire.MessageType)
}
