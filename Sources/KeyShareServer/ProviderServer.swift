internal import Glibc
package import KeyShareWire
package import LocalSockets
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The server of a provider's socket, to be run in a service group.
///
/// The initialiser takes the socket, so that consumers may connect once it has returned. `run()` answers them until
/// the group shuts down gracefully or the task is cancelled. The server then accepts no new connection, finishes
/// outstanding requests for at most `Limits.drain`, and removes the socket.
///
/// One event loop serves all connections. Passwords are answered on it; everything else is asked of the provider off
/// it. A second loop would gain nothing: both would wait for the provider's one keychain. Look-ups and what takes long
/// to make have threads of their own, on which processes take turns.
package final class ProviderServer: Service {
    /// What a server grants its peers: times, counts and sizes. `Protocol.md` of `KeyShareWire`
    /// gives the reason for each.
    package struct Limits: Sendable {
        /// The time from the accept to the end of the hello.
        package var hello: Duration = .seconds(2)
        /// The time from the first byte of a frame to its last.
        package var frame: Duration = .seconds(5)
        /// The time that a connection may stay without an outstanding request.
        package var idle: Duration = .seconds(60)
        /// The time that replies may wait for a peer that does not read.
        package var stalled: Duration = .seconds(5)
        /// The time that a stopping server gives to outstanding requests.
        package var drain: Duration = .seconds(5)

        /// The number of connections that may ask for events.
        package var subscribers = 16
        /// The number of events that are kept for connections that are behind.
        package var events = 4_096
        /// The longest time that a request for events waits.
        package var eventWait: Duration = .seconds(10)

        /// The number of connections; the process's descriptor limit may lower it.
        package var connections = 4_096
        /// The number of connections of one process.
        package var connectionsPerPeer = 1_024
        /// The number of requests of one connection that are outstanding. Beyond it, nothing more is read.
        package var outstandingRequests = 16
        /// The bytes of one connection that wait to be sent. Beyond it, nothing more is read or answered.
        package var unsentBytes = 65_536
        /// The bytes of all connections that wait for peers that do not read. Beyond it, connections are closed.
        package var totalUnsentBytes = 64 << 20
        /// The number of items that one connection may use at a time.
        package var grants = 64
        /// The bytes of content that are kept for the reads of one connection.
        package var snapshotBytes = 128 << 20
        /// The bytes of content that are kept for all connections. What several connections hold counts once.
        package var totalSnapshotBytes = 256 << 20
        /// The questions that a look-up answers, such as pages of items.
        package var lookUps = WorkAdmission.Limits(
            underWayPerProcess: 2, perProcess: 4_096, total: 8_192)
        /// The files and archives that the provider makes for its peers.
        package var makings = WorkAdmission.Limits(
            underWayPerProcess: 2, perProcess: 64, total: 256, bytes: 128 << 20, smallBytes: 256 << 10)
        /// The keys that are opened for uses, which may wait for the user. All of them are under way at a time.
        package var openings = WorkAdmission.Limits(
            underWayPerProcess: 64, perProcess: 64, total: 256, bytes: 16 << 20)
        /// The uses of keys that are open.
        package var uses = WorkAdmission.Limits(
            underWayPerProcess: 2, perProcess: 1_024, total: 4_096, bytes: 64 << 20)
        /// The messages of one connection that arrive in parts and are not ended.
        package var messages = 8
        /// The time that a stopped server gives to steps of work that run.
        package var step: Duration = .milliseconds(500)
        /// The number of items in one page; fewer where they do not fit a frame.
        package var pageItems = 256

        /// Makes the limits of a provider in everyday use.
        package init() {}
    }

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
    /// The event loop and the connections on it; nil while the server does not run.
    private let serving = Mutex<(loop: ClosableEventLoop, registry: NIOLoopBound<ConnectionRegistry>)?>(nil)

    /// Takes the socket at `path`, and makes its folder where it is missing.
    ///
    /// - Parameters:
    ///   - path: The socket's path, at most 107 bytes. Its folder must belong to this user and be closed to others.
    ///   - inherited: A descriptor that listens already, to be used instead of `path`. The service manager that
    ///     opened it keeps its name; the server closes the descriptor.
    ///   - service: The provider that answers.
    ///   - limits: The limits for peers.
    ///   - serverName: The provider's name in the reply to the hello.
    ///   - services: The names of the services that the provider has.
    ///   - fault: Something to do wrong on purpose, for tests of consumers; nil for nothing.
    ///   - acceptsPeer: Tells whether this user may connect. The kernel names the user (docs/rules.md R6.13); the check
    ///     comes before a byte is read.
    ///   - logger: The log. It gets types, sizes, identifiers and outcomes, never content or passwords.
    /// - Throws: `SocketError`: `pathTooLong`, `unsafeFolder`, `notASocket`, `alreadyRunning`, `system`.
    package init(
        path: String, inherited: CInt? = nil, service: any ProviderService,
        limits: Limits = Limits(),
        serverName: String = "keyshare-provider", services: [String] = [PasswordService.name],
        fault: ConnectionFault? = nil,
        acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool = PeerIdentity.isOwnUser, logger: Logger
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
        // Writing to a peer that has gone would end the process otherwise (signal(7)).
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Raises this process's limit of descriptors as far as the system permits (getrlimit(2)). Call it before a server
    /// is made. Where it fails, the server keeps fewer connections.
    package static func raiseDescriptorLimit() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var descriptors = rlimit()
        guard unsafe getrlimit(resource, &descriptors) == 0 else { return }
        descriptors.rlim_cur = descriptors.rlim_max
        _ = unsafe setrlimit(resource, &descriptors)
    }

    /// Serves until the group shuts down gracefully or the task is cancelled.
    ///
    /// - Throws: `SocketError` `alreadyRan` on a second call; the errors of NIO where the event loop cannot start.
    package func run() async throws {
        guard let descriptor = listener.takeDescriptor() else {
            throw SocketError(.alreadyRan, "this server has run already")
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        // What one request costs is less than a turn of the scheduler: the loop comes before threads that make archives.
        group.next().execute { ThreadTurns.short.apply() }
        let loop = ClosableEventLoop(group.next())
        let executors = WorkExecutors()
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

    /// Ends the grants of all connections if the provider's period of grants has changed (docs/rules.md R6.9, R6.11).
    /// The next request would do so, too; this call drops the content from memory without waiting for one.
    package func endOldGrants() {
        guard let (loop, registry) = serving.withLock({ $0 }) else { return }
        loop.execute { registry.value.endOldGrants() }
    }

    private func serve(
        _ descriptor: CInt, on loop: any EventLoop, _ closableLoop: ClosableEventLoop,
        _ executors: WorkExecutors
    ) async throws {
        let emptied = loop.makePromise(of: Void.self)
        let leavers = LeaverCount()
        let registry = try await loop.submit { [self] in
            NIOLoopBound(
                ConnectionRegistry(
                    service: service, limits: effectiveLimits, serverName: serverName, services: services,
                    fault: fault, logger: logger, emptied: emptied, leavers: leavers, loop: closableLoop,
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
                listening: descriptor, leavers: leavers, acceptsPeer: acceptsPeer,
                events: Acceptor.Events(
                    connected: { connection, peer, done in
                        loop.execute {
                            opener.value.open(connection, peer)
                            done()
                        }
                    },
                    turnedAway: { peer, done in
                        loop.execute {
                            opener.value.noteStranger(peer)
                            done()
                        }
                    },
                    exhausted: { reason in
                        let isFree = loop.submit { opener.value.makeRoom(reason) }
                        return (try? isFree.wait()) ?? false
                    }))
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
            // This is needed where the listening socket failed and no shutdown was asked for.
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

    /// The limits, with no more connections than the process has descriptors for. Up to 64 descriptors are left for
    /// the provider's files.
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

/// Something that a server does wrong on purpose, so that consumers can be tested against it.
package enum ConnectionFault: Sendable, Hashable {
    /// The server speaks these versions of the protocol and no other.
    case versions(ClosedRange<UInt16>)
    /// The server ends the connection in the middle of a reply of this type.
    case cut(Wire.MessageType)
}
