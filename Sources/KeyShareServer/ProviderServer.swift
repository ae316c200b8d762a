package import KeyShareWire
package import LocalSockets
internal import Glibc
internal import KeySharing
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The provider's end of the socket, as a service of a service group.
///
/// The initialiser takes the socket, so that consumers may connect once it has returned; `run()` answers
/// them until the group shuts down gracefully or the task is cancelled. Then nobody new is accepted, what is
/// being answered is finished (for at most `Limits.drain`), and the socket leaves the folder.
///
/// One event loop serves all connections: passwords are answered on it, everything else is asked of the
/// provider off it. A second loop would only make the two compete for what they share.
package final class ProviderServer: Service {
    /// What a server grants its peers: times, counts and sizes. <doc:Protocol> gives the reason for each.
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

        /// The number of connections; the process's descriptor limit may lower it.
        package var connections = 4_096
        /// The number of connections of one process.
        package var connectionsPerPeer = 1_024
        /// The number of requests of one connection that are outstanding. Beyond it, nothing more is read.
        package var outstandingRequests = 16
        /// The bytes of one connection that wait to be sent. Beyond it, nothing more is read or answered.
        package var unsentBytes = 65_536
        /// The number of items that one connection may use at a time.
        package var grants = 64
        /// The bytes of content that are kept for the reads of one connection.
        package var snapshotBytes = 128 << 20
        /// The bytes of content that are kept for all connections.
        package var totalSnapshotBytes = 512 << 20
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
    /// What runs on the event loop, and the way there, while it serves.
    private let serving = Mutex<(entrance: LoopEntrance, connections: NIOLoopBound<Connections>)?>(nil)

    /// Takes the socket at `path`; its folder is made where it is missing.
    ///
    /// - Parameters:
    ///   - path: At most 107 bytes; its folder must be this user's alone.
    ///   - inherited: A socket that listens already, instead of one at `path`: its name, and all that goes with
    ///     it, is that of whoever started this process. Closed by the server.
    ///   - service: The provider.
    ///   - limits: What peers are granted.
    ///   - serverName: What the hello's reply says.
    ///   - services: The names of the services there are.
    ///   - fault: What to do wrong on purpose, for the tests of consumers.
    ///   - acceptsPeer: Who may connect, by the kernel's word; asked before a byte is read.
    ///   - logger: Gets types, sizes, identifiers and outcomes; never content, never a password.
    /// - Throws: `SocketError` where the socket cannot be had.
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
        // A peer that goes away while it is being answered is an error of its connection only.
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Lets this process have as many descriptors as the system permits it, before a server is made; where
    /// that fails there are fewer connections, and no other harm.
    package static func raiseDescriptorLimit() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var descriptors = rlimit()
        guard unsafe getrlimit(resource, &descriptors) == 0 else { return }
        descriptors.rlim_cur = descriptors.rlim_max
        _ = unsafe setrlimit(resource, &descriptors)
    }

    /// Serves until the graceful shutdown or the cancellation of the task.
    ///
    /// - Throws: `SocketError` with `alreadyRan` the second time; what the event loop meets when it starts.
    package func run() async throws {
        guard let descriptor = listener.takeDescriptor() else {
            throw SocketError(.alreadyRan, "this server has run already")
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let entrance = LoopEntrance(group.next())
        let result: Result<Void, any Error>
        do {
            result = .success(try await serve(descriptor, on: group.next(), entrance))
        } catch {
            result = .failure(error)
        }
        listener.close()
        entrance.close()
        try await group.shutdownGracefully()
        try result.get()
    }

    /// Ends the grants of all connections if the provider's period for them has gone by, where no request has
    /// brought that about yet: content that was granted leaves the memory.
    package func endOldGrants() {
        guard let (entrance, connections) = serving.withLock({ $0 }) else { return }
        entrance.execute { connections.value.endOldGrants() }
    }

    private func serve(
        _ descriptor: CInt, on loop: any EventLoop, _ entrance: LoopEntrance
    ) async throws {
        let emptied = loop.makePromise(of: Void.self)
        let connections = try await loop.submit { [self] in
            NIOLoopBound(
                Connections(
                    service: service, limits: effectiveLimits, serverName: serverName, services: services,
                    fault: fault, logger: logger, emptied: emptied, entrance: entrance),
                eventLoop: loop)
        }.get()
        serving.withLock { $0 = (entrance, connections) }
        defer { serving.withLock { $0 = nil } }
        let channel: any Channel
        do {
            channel = try await ServerBootstrap(group: loop)
                // One accept for each time that somebody waits. Trying for more is an error when the last
                // descriptor has just been given out, whether or not there is anybody else.
                .serverChannelOption(.maxMessagesPerRead, value: 1)
                .serverChannelInitializer { [acceptsPeer] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            Doorkeeper(connections: connections.value, acceptsPeer: acceptsPeer))
                    }
                }
                // One read a turn: a peer that sends without end gets no more turns than the others.
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 8_192))
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .withBoundSocket(descriptor).get()
        } catch {
            Glibc.close(descriptor)
            emptied.succeed()
            throw error
        }
        // NIO has listened again, with a shorter queue.
        listen(descriptor, Listener.backlog)
        logger.info("listening", metadata: ["socket": "\(path)"])
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await channel.closeFuture.get()
            // Also where the listening socket has failed and nobody asked for the end.
            loop.execute { connections.value.drain() }
            try await emptied.futureResult.get()
        } onCancelOrGracefulShutdown: { [listener, limits] in
            listener.unlinkSocket()
            loop.execute {
                channel.close(promise: nil)
                connections.value.drain()
                loop.assumeIsolated().scheduleTask(in: TimeAmount(limits.drain)) {
                    connections.value.closeAll()
                }
            }
        }
        logger.info("stopped", metadata: ["socket": "\(path)"])
    }

    /// The limits, with no more connections than the process has descriptors for: some are left for the
    /// files of the provider's work.
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
