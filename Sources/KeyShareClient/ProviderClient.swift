package import KeyShareWire
package import LocalSockets
package import SecretMemory
internal import Glibc
package import KeySharing
internal import NIOCore
internal import NIOPosix

/// A consumer's connection to a provider.
///
/// Requests may be made from several tasks at once; each reply finds its request. Grants belong to the
/// connection and end with it. Call `close()` when done; a client that is merely dropped closes too, later.
package final class ProviderClient: Sendable {
    /// What the provider said to the hello.
    package let welcome: Welcome

    private let channel: any Channel
    private let handler: NIOLoopBound<ClientHandler>
    private let group: MultiThreadedEventLoopGroup
    private let limits: ClientLimits

    private init(
        welcome: Welcome, channel: any Channel, handler: NIOLoopBound<ClientHandler>,
        group: MultiThreadedEventLoopGroup, limits: ClientLimits
    ) {
        self.welcome = welcome
        self.channel = channel
        self.handler = handler
        self.group = group
        self.limits = limits
    }

    /// Only here, where nobody can ask any more: a loop that is gone would leave a request without an end.
    deinit {
        group.shutdownGracefully { _ in }
    }

    /// Connects, makes sure of who serves, and says hello.
    ///
    /// - Parameters:
    ///   - path: The provider's socket.
    ///   - clientName: What the provider's log will call this consumer.
    ///   - services: The services that will be used.
    ///   - limits: How long to wait, how much to take.
    ///   - versions: The versions of the protocol to offer.
    ///   - acceptsServer: Who may serve, by the kernel's word; asked before a byte is sent.
    /// - Returns: The client, ready for requests.
    /// - Throws: `notRunning`, `wrongOwner`, `unsupportedVersion`, `timedOut`, `pathTooLong`, and what else
    ///   a connection may meet.
    package static func connect(
        path: String, clientName: String, services: [String] = [PasswordService.name],
        limits: ClientLimits = ClientLimits(), versions: ClosedRange<UInt16> = Wire.versions,
        acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool = PeerIdentity.isOwnUser
    ) async throws(ConnectionError) -> ProviderClient {
        guard SocketPath.isUsable(path) else {
            throw ConnectionError(
                .pathTooLong,
                "the socket's path has \(path.utf8.count) bytes, and an address holds \(SocketPath.maximumLength)"
            )
        }
        // A thread of its own: the shared group would start one for every processor first.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do throws(ConnectionError) {
            let (channel, handler) = try await open(path, limits, acceptsServer, on: group)
            let hello = Hello(
                minimumVersion: versions.lowerBound, maximumVersion: versions.upperBound,
                clientName: clientName, services: services)
            let reply = try await ask(.hello(hello), within: limits.hello, handler)
            guard case .welcome(let welcome) = reply, versions.contains(welcome.version) else {
                throw unexpected(reply)
            }
            return ProviderClient(
                welcome: welcome, channel: channel, handler: handler, group: group, limits: limits)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Closes the connection, which ends every grant. Calling it twice does no harm.
    package func close() async {
        try? await channel.close().get()
    }
}

// MARK: - Requests

// Every one of them throws `provider` with the provider's failure, `closed` and `timedOut`.
extension ProviderClient {
    /// A page of a container's items.
    ///
    /// - Parameters:
    ///   - container: The container's identifier.
    ///   - cursor: What the page before gave as `nextCursor`; nil for the first.
    ///   - limit: The most items to send; 0 leaves it to the provider. There may be fewer.
    /// - Returns: The page.
    /// - Throws: `provider` with `notAvailable` where there is no such container.
    package func page(
        of container: String, after cursor: String? = nil, limit: UInt16 = 0
    ) async throws(ConnectionError) -> ItemPage {
        let request = ProviderRequest.enumerate(container: container, cursor: cursor, limit: limit)
        guard case .page(let page) = try await ask(request) else { throw Self.unfitting }
        return page
    }

    /// All items of a container, page after page.
    package func items(in container: String) async throws(ConnectionError) -> [Item] {
        var items: [Item] = []
        var cursor: String?
        repeat {
            let page = try await page(of: container, after: cursor)
            items += page.items
            cursor = try Self.advance(from: cursor, to: page.nextCursor, isEmpty: page.items.isEmpty)
        } while cursor != nil
        return items
    }

    /// One item.
    package func item(_ identifier: String) async throws(ConnectionError) -> Item {
        guard case .item(let item) = try await ask(.item(identifier: identifier)) else {
            throw Self.unfitting
        }
        return item
    }

    /// The names of an item's services.
    package func services(for identifier: String) async throws(ConnectionError) -> [String] {
        guard case .services(let names) = try await ask(.services(identifier: identifier)) else {
            throw Self.unfitting
        }
        return names
    }

    /// Picks an item: it is granted to this connection from here to `stopAccessing` or the end.
    ///
    /// - Returns: The size of its content in bytes, where it is known.
    @discardableResult
    package func startAccessing(_ identifier: String) async throws(ConnectionError) -> Int? {
        guard case .granted(let size) = try await ask(.startAccessing(identifier: identifier)) else {
            throw Self.unfitting
        }
        return size
    }

    /// A stretch of a granted item's content.
    ///
    /// - Parameters:
    ///   - identifier: The item.
    ///   - offset: Where it starts, in bytes; past the end it is empty.
    ///   - length: 1 to `Wire.chunkLimit` bytes.
    /// - Returns: The stretch, and the size of the whole.
    /// - Throws: `provider` with `notAvailable` where the item is not granted.
    package func read(
        _ identifier: String, at offset: Int, length: Int = Wire.chunkLimit
    ) async throws(ConnectionError) -> ContentChunk {
        let request = ProviderRequest.read(
            identifier: identifier, offset: UInt64(clamping: offset), length: UInt32(clamping: length))
        guard case .chunk(let chunk) = try await ask(request) else { throw Self.unfitting }
        return chunk
    }

    /// The whole content of a granted item.
    ///
    /// - Throws: `contentTooLarge` past `ClientLimits.contentSize`, `malformedReply` where the chunks do not
    ///   make up one content.
    package func readAll(_ identifier: String) async throws(ConnectionError) -> [UInt8] {
        var content: [UInt8] = []
        while true {
            let chunk = try await read(identifier, at: content.count)
            guard chunk.total <= limits.contentSize else {
                throw ConnectionError(
                    .contentTooLarge, "the content has \(chunk.total) bytes, over \(limits.contentSize)")
            }
            // What was asked for or the rest: by smaller pieces a provider could keep its consumer for ever.
            guard chunk.bytes.count == min(Wire.chunkLimit, chunk.total - content.count) else {
                throw ConnectionError(.malformedReply, "the content was cut short")
            }
            content += chunk.bytes
            if content.count == chunk.total { return content }
        }
    }

    /// The password of a granted item, from the service of this name.
    package func fetchPassword(
        for identifier: String, service: String = PasswordService.name
    ) async throws(ConnectionError) -> SecretBytes {
        let request = ProviderRequest.fetchPassword(service: service, identifier: identifier)
        guard case .password(let password) = try await ask(request) else { throw Self.unfitting }
        return password
    }

    /// Ends the grant of an item; of one that was not granted too.
    package func stopAccessing(_ identifier: String) async throws(ConnectionError) {
        guard case .stopped = try await ask(.stopAccessing(identifier: identifier)) else {
            throw Self.unfitting
        }
    }

    /// Legacy: all rows for these types.
    package func present(_ types: [String]) async throws(ConnectionError) -> [Item] {
        var rows: [Item] = []
        var cursor: String?
        repeat {
            let request = ProviderRequest.present(types: types, cursor: cursor, limit: 0)
            guard case .rows(let page) = try await ask(request) else { throw Self.unfitting }
            rows += page.items
            cursor = try Self.advance(from: cursor, to: page.nextCursor, isEmpty: page.items.isEmpty)
        } while cursor != nil
        return rows
    }

    /// Legacy: makes the export of a row that `present` gave for these types; it is granted already.
    package func choose(_ row: String, types: [String]) async throws(ConnectionError) -> Item {
        guard case .chosen(let item) = try await ask(.choose(row: row, types: types)) else {
            throw Self.unfitting
        }
        return item
    }

    /// The facts of all identities that decide where they are listed.
    package func identityFacts() async throws(ConnectionError) -> [IdentitySummary] {
        var facts: [IdentitySummary] = []
        var cursor: String?
        repeat {
            guard case .facts(let page) = try await ask(.describe(cursor: cursor, limit: 0)) else {
                throw Self.unfitting
            }
            facts += page.facts
            cursor = try Self.advance(from: cursor, to: page.nextCursor, isEmpty: page.facts.isEmpty)
        } while cursor != nil
        return facts
    }
}

// MARK: - Asking

extension ProviderClient {
    private func ask(_ request: ProviderRequest) async throws(ConnectionError) -> ProviderReply {
        try await Self.ask(request, within: limits.reply, handler)
    }

    /// The reply to a request; a failure is thrown.
    private static func ask(
        _ request: ProviderRequest, within timeout: Duration, _ handler: NIOLoopBound<ClientHandler>
    ) async throws(ConnectionError) -> ProviderReply {
        let loop = handler.eventLoop
        let promise = loop.makePromise(of: ClientHandler.Answer.self)
        loop.execute { handler.value.ask(request, within: TimeAmount(timeout), promise) }
        let answer: ClientHandler.Answer
        do {
            answer = try await promise.futureResult.get()
        } catch {
            throw ConnectionError(.closed, "the connection is closed")
        }
        let reply = try answer.get()
        if case .failure(let failure) = reply { throw ConnectionError(failure) }
        return reply
    }

    private static func open(
        _ path: String, _ limits: ClientLimits,
        _ acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool, on group: MultiThreadedEventLoopGroup
    ) async throws(ConnectionError) -> (any Channel, NIOLoopBound<ClientHandler>) {
        let loop = group.next()
        do {
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
        } catch let error as IOError where [ENOENT, ECONNREFUSED, ENOTSOCK].contains(error.errnoCode) {
            throw ConnectionError(.notRunning, "no provider listens at \(path)")
        } catch ChannelError.connectTimeout {
            throw ConnectionError(.timedOut, "the provider does not accept the connection")
        } catch {
            throw ConnectionError(.system, "\(path) cannot be connected to: \(error)")
        }
    }

    private static let unfitting = ConnectionError(
        .malformedReply, "the provider's answer does not fit the question")

    private static func unexpected(_ reply: ProviderReply) -> ConnectionError {
        guard case .welcome(let welcome) = reply else { return unfitting }
        return ConnectionError(
            .unsupportedVersion, "the provider chose version \(welcome.version), which was not offered")
    }

    /// The cursor to go on with. A provider that gives the same one again, or empty pages, would be listed
    /// for ever.
    private static func advance(
        from cursor: String?, to next: String?, isEmpty: Bool
    ) throws(ConnectionError) -> String? {
        guard let next else { return nil }
        guard next != cursor, !isEmpty else {
            throw ConnectionError(.malformedReply, "the provider's pages do not come to an end")
        }
        return next
    }
}
