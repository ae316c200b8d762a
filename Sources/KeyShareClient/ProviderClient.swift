internal import Glibc
internal import KeyShareProtocol
package import KeyShareWire
package import KeySharing
package import LocalSockets
internal import NIOCore
internal import NIOPosix
package import SecretMemory

/// A consumer's connection to a provider.
///
/// Several tasks may send requests concurrently. Each call returns the reply to its own request. Grants belong to the
/// connection and end with it. Call `close()` when done. If a client is released without `close()`, its connection
/// closes later.
///
/// Every request throws `ProviderFailure` if the provider replies with a failure, and `SocketError` if the connection
/// fails or the reply is invalid: `closed`, `timedOut`, `malformedReply`.
///
/// ```swift
/// let client = try await ProviderClient.connect(path: socket, clientName: "example")
/// let items = try await client.items(in: Item.root)
/// await client.close()
/// ```
package final class ProviderClient: Sendable {
    /// The consumer's timeouts and size limits.
    package struct Limits: Sendable {
        /// The timeout for connecting, and also for the reply to the hello.
        package var hello: Duration = .seconds(30)
        /// The timeout for any other reply. It is long because the provider may have to generate the file first.
        package var reply: Duration = .seconds(60)
        /// The timeout for the reply to a key use. It is longer than a provider waits for the user.
        package var use: Duration = .seconds(90)
        /// The maximum size of one item's content in bytes: the size of the largest archive that `ZipBundles` permits,
        /// plus a margin.
        package var contentSize = 65 << 20
        /// The timeout for all pages of a list together, for the lists of all containers together, or for all chunks of
        /// an item after the first chunk.
        package var whole: Duration = .seconds(120)
        /// The maximum number of entries of one list, over all its pages.
        package var listedEntries = 262_144
        /// The maximum number of bytes of one list, over all its pages.
        package var listedBytes = 64 << 20
        /// The maximum number of folders at the root that ``ProviderClient/allItems()`` lists. Key sharing has seven.
        package var folders = 64
        /// The factor by which the lists of all containers together may exceed the limits of one list, because an
        /// identity is listed at the root and in several folders.
        package var allLists = 2

        /// Creates the default limits.
        package init() {}
    }

    /// The provider's reply to the hello.
    package let welcome: Welcome

    private let channel: any Channel
    let handler: NIOLoopBound<ClientHandler>
    private let group: MultiThreadedEventLoopGroup
    let limits: Limits

    private init(
        welcome: Welcome, channel: any Channel, handler: NIOLoopBound<ClientHandler>,
        group: MultiThreadedEventLoopGroup, limits: Limits
    ) {
        self.welcome = welcome
        self.channel = channel
        self.handler = handler
        self.group = group
        self.limits = limits
    }

    /// Stops the event loop. `close()` does not, because a request sent afterwards would never complete.
    deinit {
        group.shutdownGracefully { _ in }
    }

    /// Connects to a provider, checks the user ID of the server process, and sends the hello.
    ///
    /// - Parameters:
    ///   - path: The path of the provider's socket.
    ///   - clientName: The name of this consumer in the provider's log.
    ///   - services: The names of the services that the consumer will use.
    ///   - limits: The timeouts and size limits.
    ///   - versions: The protocol versions to offer.
    ///   - acceptsServer: Returns whether to accept a server that runs as this user. The kernel reports the user ID
    ///     (docs/rules.md R6.13), and it is checked before any byte is sent.
    /// - Returns: A client that is ready for requests.
    /// - Throws: `SocketError`: `pathTooLong`, `notRunning`, `wrongOwner`, `timedOut`, `cannotConnect`, `closed`,
    ///   `malformedReply`. `ProviderFailure`: `unsupportedVersion`, `serverBusy`.
    package static func connect(
        path: String, clientName: String = "keyshare-consumer", services: [String] = [PasswordService.name],
        limits: Limits = Limits(), versions: ClosedRange<UInt16> = Wire.versions,
        acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool = PeerIdentity.isOwnUser
    ) async throws -> ProviderClient {
        try SocketPath.check(path)
        // Use a group of one thread. The shared group would start one thread for each processor.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let (channel, handler) = try await openChannel(path, limits, acceptsServer, on: group)
            let hello = Hello(
                minimumVersion: versions.lowerBound, maximumVersion: versions.upperBound,
                clientName: clientName, services: services)
            guard
                case .welcome(let welcome) = try await future(.hello(hello), within: limits.hello, handler)
                    .get()
            else { throw mismatch }
            guard versions.contains(welcome.version) else {
                throw SocketError(
                    .malformedReply,
                    "the provider chose version \(welcome.version), which was not offered")
            }
            return ProviderClient(
                welcome: welcome, channel: channel, handler: handler, group: group, limits: limits)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Connects to the provider that listens on the socket `path`, runs `body`, and closes the connection.
    ///
    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - clientName: The name of this consumer. KeyChain's key grants belong to it.
    ///   - body: Sends requests.
    /// - Throws: `SocketError`, `ProviderFailure`, and the errors of `body`.
    package static func withConnection<Result>(
        path: String, clientName: String = "keyshare-consumer",
        _ body: (ProviderClient) async throws -> Result
    ) async throws -> Result {
        let client = try await connect(path: path, clientName: clientName)
        do {
            let result = try await body(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }

    /// Closes the connection, which ends all its grants. A second call has no effect.
    package func close() async {
        try? await channel.close().get()
    }
}

// MARK: - Requests

extension ProviderClient {
    /// Requests one page of a container's items.
    ///
    /// - Parameters:
    ///   - container: The container's identifier.
    ///   - cursor: The `nextCursor` of the previous page, or nil for the first page.
    ///   - limit: The maximum number of items, or 0 to let the provider choose. The page may have fewer.
    /// - Returns: The page.
    /// - Throws: `ProviderFailure` `notAvailable` if the container does not exist. `SocketError`.
    package func page(
        of container: String, after cursor: String? = nil, limit: UInt16 = 0
    ) async throws -> ItemPage {
        let request = ProviderRequest.enumerate(container: container, cursor: cursor, limit: limit)
        guard case .page(let page) = try await reply(to: request) else { throw Self.mismatch }
        return page
    }

    /// Requests the description of one item.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` if the item does not exist. `SocketError`.
    package func item(_ identifier: String) async throws -> Item {
        guard case .item(let item) = try await reply(to: .item(identifier: identifier)) else {
            throw Self.mismatch
        }
        return item
    }

    /// Requests the names of an item's services.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` if the item does not exist. `SocketError`.
    package func services(for identifier: String) async throws -> [String] {
        guard case .services(let names) = try await reply(to: .services(identifier: identifier)) else {
            throw Self.mismatch
        }
        return names
    }

    /// Picks an item. The provider grants it to this connection until `stopAccessing` or the end of the connection
    /// (docs/rules.md R6.7).
    ///
    /// - Returns: The size of the item's content in bytes, or nil if the provider has not determined it yet.
    /// - Throws: `ProviderFailure`: `notAvailable` if the item does not exist, `refused` if the connection has too many
    ///   grants. `SocketError`.
    @discardableResult
    package func startAccessing(_ identifier: String) async throws -> Int? {
        guard case .granted(let size) = try await reply(to: .startAccessing(identifier: identifier)) else {
            throw Self.mismatch
        }
        return size
    }

    /// Reads a part of a granted item's content.
    ///
    /// - Parameters:
    ///   - identifier: The item's identifier.
    ///   - offset: The offset of the part in bytes. A part past the end is empty.
    ///   - length: The length of the part, 1 to `Wire.chunkLimit` bytes.
    /// - Returns: The bytes, and the size of the whole content.
    /// - Throws: `ProviderFailure`: `notAvailable` if the item is not granted, and the failures of an export.
    ///   `SocketError`.
    package func read(
        _ identifier: String, at offset: Int, length: Int = Wire.chunkLimit
    ) async throws -> ContentChunk {
        let request = ProviderRequest.read(
            identifier: identifier, offset: UInt64(clamping: offset), length: UInt32(clamping: length))
        guard case .chunk(let chunk) = try await reply(to: request) else { throw Self.mismatch }
        return chunk
    }

    /// Reads the whole content of a granted item.
    ///
    /// - Throws: `SocketError`: `contentTooLarge` if the content exceeds `Limits.contentSize`, `timedOut` after
    ///   `Limits.whole`, `malformedReply` if a chunk has the wrong length. Also the errors of `read`.
    package func readAll(_ identifier: String) async throws -> [UInt8] {
        var content: [UInt8] = []
        var deadline: ContinuousClock.Instant?
        while true {
            let chunk = try await read(identifier, at: content.count)
            // The provider may generate the content for the first chunk. It keeps the content in memory for the rest.
            deadline = deadline ?? .now + limits.whole
            try Self.check(deadline)
            guard chunk.total <= limits.contentSize else {
                throw SocketError(
                    .contentTooLarge, "the content has \(chunk.total) bytes, more than \(limits.contentSize)")
            }
            // A chunk has the requested length or is the rest of the content. Otherwise, a provider could keep its
            // consumer busy indefinitely by sending tiny chunks.
            guard chunk.bytes.count == min(Wire.chunkLimit, chunk.total - content.count) else {
                throw SocketError(.malformedReply, "the content is truncated")
            }
            content += chunk.bytes
            if content.count == chunk.total { return content }
        }
    }

    /// Fetches the password of a granted item from the service named `service` (docs/rules.md R6.1, R6.8).
    ///
    /// - Throws: `ProviderFailure`: `notAvailable` if the item is not granted or the service has another name,
    ///   `mixedMechanisms` for a legacy export, `refused` while the password is unavailable on the locked device.
    ///   `SocketError`.
    package func fetchPassword(
        for identifier: String, service: String = PasswordService.name
    ) async throws -> SecretBytes {
        let request = ProviderRequest.fetchPassword(service: service, identifier: identifier)
        guard case .password(let password) = try await reply(to: request) else { throw Self.mismatch }
        return password
    }

    /// Ends the grant of an item. It also succeeds if the item is not granted.
    ///
    /// - Throws: `SocketError`.
    package func stopAccessing(_ identifier: String) async throws {
        guard case .stopped = try await reply(to: .stopAccessing(identifier: identifier)) else {
            throw Self.mismatch
        }
    }

    /// Requests all rows of the legacy list for `types`, which the provider filters (docs/rules.md R4).
    ///
    /// - Throws: `ProviderFailure`: `usage` if a type is unknown, `mixedMechanisms` for types of the other mechanism.
    ///   `SocketError`.
    package func present(_ types: [String]) async throws -> [Item] {
        try await list(size: \.wireSize) { cursor in
            let request = ProviderRequest.present(types: types, cursor: cursor, limit: 0)
            guard case .rows(let page) = try await reply(to: request) else { throw Self.mismatch }
            return (page.items, page.nextCursor)
        }
    }

    /// Requests the export of a row in the list that `present` returned for `types` (docs/rules.md R4.10).
    ///
    /// - Returns: The exported item, which is already granted to this connection.
    /// - Throws: `ProviderFailure`: `notAvailable` if the row does not exist, and the failures of `present`.
    ///   `SocketError`.
    package func choose(_ row: String, types: [String]) async throws -> Item {
        guard case .chosen(let item) = try await reply(to: .choose(row: row, types: types)) else {
            throw Self.mismatch
        }
        return item
    }

    /// Requests a summary of every identity, with the properties that determine which folders list it.
    ///
    /// - Throws: `ProviderFailure`, `SocketError`.
    package func identityFacts() async throws -> [IdentitySummary] {
        try await list(size: \.wireSize) { cursor in
            guard case .facts(let page) = try await reply(to: .describe(cursor: cursor, limit: 0)) else {
                throw Self.mismatch
            }
            return (page.facts, page.nextCursor)
        }
    }

    /// Requests a summary of each identity whose file is in a container, including its holder. Returns nil if the
    /// provider does not support the request.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` if the container does not exist. `SocketError`.
    package func identities(in container: String) async throws -> [IdentitySummary]? {
        do {
            return try await list(size: \.wireSize) { cursor in
                let request = ProviderRequest.identities(container: container, cursor: cursor, limit: 0)
                guard case .identities(let page) = try await reply(to: request) else { throw Self.mismatch }
                return (page.facts, page.nextCursor)
            }
        } catch let failure as ProviderFailure where failure.code == .unknownRequest {
            return nil
        }
    }
}

// MARK: - The running provider

extension ProviderClient {
    /// Requests statistics about the running provider, such as its memory and the length of its queues.
    ///
    /// - Throws: `ProviderFailure` `unknownRequest` if the provider has no statistics. `SocketError`.
    package func statistics() async throws -> [ProviderFigure] {
        guard welcome.features.contains(Wire.Feature.statistics) else {
            throw ProviderFailure(.unknownRequest, "this provider has no statistics")
        }
        guard case .statistics(let figures) = try await reply(to: .statistics) else { throw Self.mismatch }
        return figures
    }

    /// Waits for events of the running provider, such as its replies to other connections.
    ///
    /// - Parameters:
    ///   - last: The number of the last known event, from the previous page. Nil requests the number of the latest
    ///     event, and the reply is sent immediately.
    ///   - wait: The maximum time to wait for events. The provider waits at most ten seconds.
    /// - Throws: `ProviderFailure`: `unknownRequest` if the provider does not report events, `refused` if it has too
    ///   many subscribers. `SocketError`.
    package func events(after last: UInt64?, wait: Duration = .seconds(10)) async throws -> ProviderEventPage
    {
        guard welcome.features.contains(Wire.Feature.events) else {
            throw ProviderFailure(.unknownRequest, "this provider does not report events")
        }
        let milliseconds = UInt16(clamping: Int(wait / .milliseconds(1)))
        guard case .events(let page) = try await reply(to: .events(after: last, wait: milliseconds)) else {
            throw Self.mismatch
        }
        return page
    }
}

// MARK: - Sending

extension ProviderClient {
    func reply(to request: ProviderRequest, within timeout: Duration? = nil) async throws -> ProviderReply {
        try await Self.future(request, within: timeout ?? limits.reply, handler).get()
    }

    /// Sends a request and returns a future of its reply.
    static func future(
        _ request: ProviderRequest, within timeout: Duration, _ handler: NIOLoopBound<ClientHandler>
    ) -> EventLoopFuture<ProviderReply> {
        let loop = handler.eventLoop
        let promise = loop.makePromise(of: ProviderReply.self)
        loop.execute { handler.value.send(request, within: TimeAmount(timeout), promise) }
        return promise.futureResult
    }

    private static func openChannel(
        _ path: String, _ limits: Limits,
        _ acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool, on group: MultiThreadedEventLoopGroup
    ) async throws(SocketError) -> (any Channel, NIOLoopBound<ClientHandler>) {
        let deadline = ContinuousClock.now + limits.hello
        var pause = Duration.milliseconds(1)
        while true {
            do {
                return try await openChannelOnce(path, limits, acceptsServer, on: group)
            } catch let error as IOError where error.errnoCode == EAGAIN {
                // The listener's queue is full (connect(2)). Retry, because the queue gets room when the provider
                // accepts other connections.
                guard ContinuousClock.now < deadline else { throw notAccepted }
                do {
                    try await Task.sleep(for: pause)
                } catch {
                    throw notAccepted
                }
                pause = min(pause * 2, longestPause)
            } catch let error as IOError where [ENOENT, ECONNREFUSED, ENOTSOCK].contains(error.errnoCode) {
                throw SocketError(.notRunning, "no provider listens at \(path)", errno: error.errnoCode)
            } catch ChannelError.connectTimeout {
                throw notAccepted
            } catch {
                throw SocketError(
                    .cannotConnect, "cannot connect to \(path): \(error)",
                    errno: (error as? IOError)?.errnoCode)
            }
        }
    }

    /// The longest pause between two attempts to connect.
    private static let longestPause = Duration.milliseconds(50)
    private static let notAccepted = SocketError(
        .timedOut, "the provider rejected the connection")

    private static func openChannelOnce(
        _ path: String, _ limits: Limits,
        _ acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool, on group: MultiThreadedEventLoopGroup
    ) async throws -> (any Channel, NIOLoopBound<ClientHandler>) {
        let loop = group.next()
        let handler = try await loop.submit {
            NIOLoopBound(ClientHandler(acceptsServer: acceptsServer), eventLoop: loop)
        }.get()
        let channel = try await ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(limits.hello))
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 65_536))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
            .connect(unixDomainSocketPath: path).get()
        return (channel, handler)
    }

    /// The error for a reply whose type does not match the request.
    static let mismatch = SocketError(
        .malformedReply, "the provider's reply does not match the request")

    /// Throws if the deadline of a reply has passed.
    ///
    /// - Throws: `timedOut`.
    static func check(_ deadline: ContinuousClock.Instant?) throws(SocketError) {
        guard let deadline, ContinuousClock.now > deadline else { return }
        throw SocketError(.timedOut, "the provider did not complete its reply in time")
    }
}
