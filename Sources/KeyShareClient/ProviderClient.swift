internal import Glibc
package import KeyShareWire
package import KeySharing
package import LocalSockets
internal import NIOCore
internal import NIOPosix
package import SecretMemory

/// A consumer's connection to a provider.
///
/// Requests may be sent from several tasks at once; each call returns the reply to its own request. Grants belong to
/// the connection and end with it. Call `close()` when done; a client that is only released closes later.
///
/// Every request throws `ProviderFailure` where the provider answers with a failure, and `SocketError` where the
/// connection or the answer is at fault: `closed`, `timedOut`, `malformedReply`.
///
/// ```swift
/// let client = try await ProviderClient.connect(path: socket, clientName: "example")
/// let items = try await client.items(in: Item.root)
/// await client.close()
/// ```
package final class ProviderClient: Sendable {
    /// How long a consumer waits, and how much it accepts.
    package struct Limits: Sendable {
        /// The time for the connection and for the answer to the hello, each.
        package var hello: Duration = .seconds(30)
        /// The time for any other answer. It is long because the provider may have to make the file first.
        package var reply: Duration = .seconds(60)
        /// The time for the answer to a use of a key. It is longer than a provider waits for the user.
        package var use: Duration = .seconds(90)
        /// The most bytes of one item's content: the largest archive that `ZipBundles` permits, and a margin.
        package var contentSize = 65 << 20
        /// The time for all pages of a list, or for all chunks of an item behind the first.
        package var whole: Duration = .seconds(120)
        /// The most entries of one list, over all its pages.
        package var listedEntries = 262_144
        /// The most bytes of one list, over all its pages.
        package var listedBytes = 64 << 20

        /// Makes the limits of a consumer in everyday use.
        package init() {}
    }

    /// The provider's answer to the hello.
    package let welcome: Welcome

    private let channel: any Channel
    private let handler: NIOLoopBound<ClientHandler>
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

    /// Ends the event loop. `close()` does not: a request that were sent behind it would never complete.
    deinit {
        group.shutdownGracefully { _ in }
    }

    /// Connects to a provider, checks who serves, and says hello.
    ///
    /// - Parameters:
    ///   - path: The path of the provider's socket.
    ///   - clientName: The name of this consumer in the provider's log.
    ///   - services: The names of the services that will be used.
    ///   - limits: How long to wait and how much to accept.
    ///   - versions: The versions of the protocol to offer.
    ///   - acceptsServer: Tells whether this user may serve. The kernel names the user (docs/rules.md R6.13); the
    ///     check comes before a byte is sent.
    /// - Returns: A client that is ready for requests.
    /// - Throws: `SocketError`: `pathTooLong`, `notRunning`, `wrongOwner`, `timedOut`, `cannotConnect`, `closed`,
    ///   `malformedReply`. `ProviderFailure`: `unsupportedVersion`, `serverBusy`.
    package static func connect(
        path: String, clientName: String = "keyshare-consumer", services: [String] = [PasswordService.name],
        limits: Limits = Limits(), versions: ClosedRange<UInt16> = Wire.versions,
        acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool = PeerIdentity.isOwnUser
    ) async throws -> ProviderClient {
        try SocketPath.check(path)
        // A group of one thread: the shared group would first start a thread for every processor.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let (channel, handler) = try await open(path, limits, acceptsServer, on: group)
            let hello = Hello(
                minimumVersion: versions.lowerBound, maximumVersion: versions.upperBound,
                clientName: clientName, services: services)
            guard case .welcome(let welcome) = try await ask(.hello(hello), within: limits.hello, handler)
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

    /// Connects to the provider that serves on the socket `path`, runs `body`, and closes the connection.
    ///
    /// - Throws: `SocketError`, `ProviderFailure`, and what `body` throws.
    package static func withConnection<Result>(
        path: String, _ body: (ProviderClient) async throws -> Result
    ) async throws -> Result {
        let client = try await connect(path: path)
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
    ///   - cursor: The `nextCursor` of the page before; nil for the first page.
    ///   - limit: The most items to send, or 0 to leave the number to the provider. There may be fewer.
    /// - Returns: The page.
    /// - Throws: `ProviderFailure` `notAvailable` where there is no such container; `SocketError`.
    package func page(
        of container: String, after cursor: String? = nil, limit: UInt16 = 0
    ) async throws -> ItemPage {
        let request = ProviderRequest.enumerate(container: container, cursor: cursor, limit: limit)
        guard case .page(let page) = try await ask(request) else { throw Self.mismatch }
        return page
    }

    /// Requests all items of a container, page after page.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` where there is no such container; `SocketError`, `contentTooLarge`
    ///   and `timedOut` included for a list beyond the limits.
    package func items(in container: String) async throws -> [Item] {
        try await list(size: \.wireSize) { cursor in
            let page = try await page(of: container, after: cursor)
            return (page.items, page.nextCursor)
        }
    }

    /// Requests the description of one item.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` where there is no such item; `SocketError`.
    package func item(_ identifier: String) async throws -> Item {
        guard case .item(let item) = try await ask(.item(identifier: identifier)) else {
            throw Self.mismatch
        }
        return item
    }

    /// Requests the names of an item's services.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` where there is no such item; `SocketError`.
    package func services(for identifier: String) async throws -> [String] {
        guard case .services(let names) = try await ask(.services(identifier: identifier)) else {
            throw Self.mismatch
        }
        return names
    }

    /// Picks an item: the provider grants it to this connection until `stopAccessing` or the end of the connection
    /// (docs/rules.md R6.7).
    ///
    /// - Returns: The size of the item's content in bytes; nil where the provider does not know it yet.
    /// - Throws: `ProviderFailure`: `notAvailable` where there is no such item, `refused` where the connection holds
    ///   too many; `SocketError`.
    @discardableResult
    package func startAccessing(_ identifier: String) async throws -> Int? {
        guard case .granted(let size) = try await ask(.startAccessing(identifier: identifier)) else {
            throw Self.mismatch
        }
        return size
    }

    /// Reads a part of a granted item's content.
    ///
    /// - Parameters:
    ///   - identifier: The item's identifier.
    ///   - offset: Where the part starts, in bytes; a part past the end is empty.
    ///   - length: The part's length, 1 to `Wire.chunkLimit` bytes.
    /// - Returns: The bytes, and the size of the whole content.
    /// - Throws: `ProviderFailure`: `notAvailable` where the item is not granted, and the failures of making the
    ///   content; `SocketError`.
    package func read(
        _ identifier: String, at offset: Int, length: Int = Wire.chunkLimit
    ) async throws -> ContentChunk {
        let request = ProviderRequest.read(
            identifier: identifier, offset: UInt64(clamping: offset), length: UInt32(clamping: length))
        guard case .chunk(let chunk) = try await ask(request) else { throw Self.mismatch }
        return chunk
    }

    /// Reads the whole content of a granted item.
    ///
    /// - Throws: `SocketError`: `contentTooLarge` past `Limits.contentSize`, `timedOut` past `Limits.whole`,
    ///   `malformedReply` where the chunks do not
    ///   make up one content; what `read` throws.
    package func readAll(_ identifier: String) async throws -> [UInt8] {
        var content: [UInt8] = []
        var deadline: ContinuousClock.Instant?
        while true {
            let chunk = try await read(identifier, at: content.count)
            // The provider may make the content before the first chunk; the others come from its memory.
            deadline = deadline ?? .now + limits.whole
            try Self.check(deadline)
            guard chunk.total <= limits.contentSize else {
                throw SocketError(
                    .contentTooLarge, "the content has \(chunk.total) bytes, over \(limits.contentSize)")
            }
            // A chunk has the requested length or the rest. A provider that sent smaller ones could keep its
            // consumer busy for ever.
            guard chunk.bytes.count == min(Wire.chunkLimit, chunk.total - content.count) else {
                throw SocketError(.malformedReply, "the content was cut short")
            }
            content += chunk.bytes
            if content.count == chunk.total { return content }
        }
    }

    /// Fetches the password of a granted item from the service named `service` (docs/rules.md R6.1, R6.8).
    ///
    /// - Throws: `ProviderFailure`: `notAvailable` where the item is not granted or the service has another name,
    ///   `mixedMechanisms` for a legacy export, `refused` while the device keeps the password closed; `SocketError`.
    package func fetchPassword(
        for identifier: String, service: String = PasswordService.name
    ) async throws -> SecretBytes {
        let request = ProviderRequest.fetchPassword(service: service, identifier: identifier)
        guard case .password(let password) = try await ask(request) else { throw Self.mismatch }
        return password
    }

    /// Ends the grant of an item. It succeeds for an item that was not granted, too.
    ///
    /// - Throws: `SocketError`.
    package func stopAccessing(_ identifier: String) async throws {
        guard case .stopped = try await ask(.stopAccessing(identifier: identifier)) else {
            throw Self.mismatch
        }
    }

    /// Requests all rows of the legacy list for `types`, which the provider filters (docs/rules.md R4).
    ///
    /// - Throws: `ProviderFailure`: `usage` for unknown types, `mixedMechanisms` for types of the other mechanism;
    ///   `SocketError`.
    package func present(_ types: [String]) async throws -> [Item] {
        try await list(size: \.wireSize) { cursor in
            let request = ProviderRequest.present(types: types, cursor: cursor, limit: 0)
            guard case .rows(let page) = try await ask(request) else { throw Self.mismatch }
            return (page.items, page.nextCursor)
        }
    }

    /// Has the provider export a row that `present` listed for `types` (docs/rules.md R4.10).
    ///
    /// - Returns: The export, which is granted to this connection already.
    /// - Throws: `ProviderFailure`: `notAvailable` where there is no such row, and the failures of `present`;
    ///   `SocketError`.
    package func choose(_ row: String, types: [String]) async throws -> Item {
        guard case .chosen(let item) = try await ask(.choose(row: row, types: types)) else {
            throw Self.mismatch
        }
        return item
    }

    /// Requests the facts about every identity that decide where it is listed.
    ///
    /// - Throws: `ProviderFailure`, `SocketError`.
    package func identityFacts() async throws -> [IdentitySummary] {
        try await list(size: \.wireSize) { cursor in
            guard case .facts(let page) = try await ask(.describe(cursor: cursor, limit: 0)) else {
                throw Self.mismatch
            }
            return (page.facts, page.nextCursor)
        }
    }

    /// Requests whose the files of a container are; nil from a provider that does not know the request.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` where there is no such container; `SocketError`.
    package func identities(in container: String) async throws -> [IdentitySummary]? {
        do {
            return try await list(size: \.wireSize) { cursor in
                let request = ProviderRequest.identities(container: container, cursor: cursor, limit: 0)
                guard case .identities(let page) = try await ask(request) else { throw Self.mismatch }
                return (page.facts, page.nextCursor)
            }
        } catch let failure as ProviderFailure where failure.code == .unknownRequest {
            return nil
        }
    }
}

// MARK: - The running provider

extension ProviderClient {
    /// Requests figures about the running provider, such as its memory and how much work waits.
    ///
    /// - Throws: `ProviderFailure` `unknownRequest` where the provider does not tell any; `SocketError`.
    package func statistics() async throws -> [ProviderFigure] {
        guard welcome.features.contains(Wire.Feature.statistics) else {
            throw ProviderFailure(.unknownRequest, "this provider tells no figures")
        }
        guard case .statistics(let figures) = try await ask(.statistics) else { throw Self.mismatch }
        return figures
    }

    /// Waits for events of the running provider: what it answers to others.
    ///
    /// - Parameters:
    ///   - last: the number of the last event that is known, from the page before; nil asks where events stand now, and
    ///     is answered at once.
    ///   - wait: how long the provider may wait for events; it waits for ten seconds at most.
    /// - Throws: `ProviderFailure`: `unknownRequest` where the provider tells of none, `refused` where too many are told;
    ///   `SocketError`.
    package func events(after last: UInt64?, wait: Duration = .seconds(10)) async throws -> ProviderEventPage
    {
        guard welcome.features.contains(Wire.Feature.events) else {
            throw ProviderFailure(.unknownRequest, "this provider tells of no events")
        }
        let milliseconds = UInt16(clamping: Int(wait / .milliseconds(1)))
        guard case .events(let page) = try await ask(.events(after: last, wait: milliseconds)) else {
            throw Self.mismatch
        }
        return page
    }
}

// MARK: - Sending

extension ProviderClient {
    func ask(_ request: ProviderRequest, within timeout: Duration? = nil) async throws -> ProviderReply {
        try await Self.ask(request, within: timeout ?? limits.reply, handler)
    }

    /// Sends a request, and returns what will be its reply.
    func future(_ request: ProviderRequest, within timeout: Duration) -> EventLoopFuture<ProviderReply> {
        Self.future(request, within: timeout, handler)
    }

    private static func ask(
        _ request: ProviderRequest, within timeout: Duration, _ handler: NIOLoopBound<ClientHandler>
    ) async throws -> ProviderReply {
        try await future(request, within: timeout, handler).get()
    }

    private static func future(
        _ request: ProviderRequest, within timeout: Duration, _ handler: NIOLoopBound<ClientHandler>
    ) -> EventLoopFuture<ProviderReply> {
        let loop = handler.eventLoop
        let promise = loop.makePromise(of: ProviderReply.self)
        loop.execute { handler.value.send(request, within: TimeAmount(timeout), promise) }
        return promise.futureResult
    }

    private static func open(
        _ path: String, _ limits: Limits,
        _ acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool, on group: MultiThreadedEventLoopGroup
    ) async throws(SocketError) -> (any Channel, NIOLoopBound<ClientHandler>) {
        let deadline = ContinuousClock.now + limits.hello
        var pause = Duration.milliseconds(1)
        while true {
            do {
                return try await openOnce(path, limits, acceptsServer, on: group)
            } catch let error as IOError where error.errnoCode == EAGAIN {
                // The queue of connections that wait for an accept is full (connect(2)); others are served meanwhile.
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
                    .cannotConnect, "\(path) cannot be connected to: \(error)",
                    errno: (error as? IOError)?.errnoCode)
            }
        }
    }

    /// The longest time between two attempts to connect.
    private static let longestPause = Duration.milliseconds(50)
    private static let notAccepted = SocketError(
        .timedOut, "the provider does not accept the connection")

    private static func openOnce(
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

    /// The error for a reply of another type than the request's.
    static let mismatch = SocketError(
        .malformedReply, "the provider's answer does not fit the question")

    /// Requests all pages of a list.
    ///
    /// - Parameters:
    ///   - size: The bytes of an entry.
    ///   - page: Requests the page behind a cursor.
    /// - Throws: `SocketError`: `contentTooLarge` and `timedOut` beyond the limits, `malformedReply` where the pages do
    ///   not come to an end; what `page` throws.
    func list<Entry>(
        size: (Entry) -> Int, _ page: (String?) async throws -> (entries: [Entry], next: String?)
    ) async throws -> [Entry] {
        let deadline = ContinuousClock.now + limits.whole
        var entries: [Entry] = []
        var bytes = 0
        var cursor: String?
        repeat {
            let (more, next) = try await page(cursor)
            entries += more
            bytes += more.reduce(0) { $0 + size($1) }
            guard entries.count <= limits.listedEntries, bytes <= limits.listedBytes else {
                throw SocketError(
                    .contentTooLarge,
                    "the list has over \(limits.listedEntries) entries or \(limits.listedBytes) bytes")
            }
            cursor = try Self.advance(from: cursor, to: next, isEmpty: more.isEmpty)
            if cursor != nil { try Self.check(deadline) }
        } while cursor != nil
        return entries
    }

    private static func check(_ deadline: ContinuousClock.Instant?) throws(SocketError) {
        guard let deadline, ContinuousClock.now > deadline else { return }
        throw SocketError(.timedOut, "the provider's answer does not come to an end in time")
    }

    /// Returns the cursor of the next request; nil at the end.
    ///
    /// - Throws: `malformedReply` for a cursor that repeats and for an empty page that is not the last: listing such
    ///   pages would never end.
    private static func advance(
        from cursor: String?, to next: String?, isEmpty: Bool
    ) throws(SocketError) -> String? {
        guard let next else { return nil }
        guard next != cursor, !isEmpty else {
            throw SocketError(.malformedReply, "the provider's pages do not come to an end")
        }
        return next
    }
}

extension Item {
    /// The bytes of the item's texts.
    fileprivate var wireSize: Int {
        identifier.utf8.count + filename.utf8.count + contentType.utf8.count + parent.utf8.count
    }
}

extension IdentitySummary {
    /// The bytes of the texts that are known of the identity.
    fileprivate var wireSize: Int {
        let names = [details?.subject, details?.commonName, details?.email, details?.edipi]
        return label.utf8.count + serialNumber.utf8.count + names.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }
}
