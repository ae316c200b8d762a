import KeyShareProtocol
import KeyShareWire
import KeySharing
import LocalSockets
import NIOCore
import NIOEmbedded
import PersistentToken
import TestSupport
import Testing

@testable import KeyShareClient

@Suite("The replies that a client awaits", .timeLimit(.minutes(10)))
struct ClientHandlerTests {
    private let channel = EmbeddedChannel()
    private let handler = ClientHandler { _ in true }

    init() throws {
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func send(_ request: ProviderRequest) -> EventLoopFuture<ProviderReply> {
        let promise = channel.eventLoop.makePromise(of: ProviderReply.self)
        handler.send(request, within: .seconds(60), promise)
        return promise.futureResult
    }

    /// The number of the request that was sent last.
    private func sentID() throws -> UInt32 {
        var request = try #require(try channel.readOutbound(as: ByteBuffer.self))
        return try #require(try Frame.next(from: &request, limit: Wire.longRequestLimit)).requestID
    }

    private func receive(_ reply: ProviderReply, _ id: UInt32) throws {
        try channel.writeInbound(ByteBuffer(bytes: try WireSamples.bytes(reply, id: id)))
    }

    /// The error of a request that is sent now.
    private func nextError() -> SocketError.Code? {
        let error = #expect(throws: SocketError.self) { try send(.statistics).wait() }
        return error?.code
    }

    @Test("A late reply is ignored, and a second reply to the same request ends the connection")
    func lateReply() throws {
        let late = send(.statistics)
        let id = try sentID()
        channel.embeddedEventLoop.advanceTime(by: .seconds(61))
        #expect(throws: SocketError(.timedOut, "")) { try late.wait() }
        try receive(.stopped, id)
        let prompt = send(.statistics)
        let next = try sentID()
        try receive(.stopped, next)
        #expect(try prompt.wait() == .stopped)
        // The timer of an answered request does not expire later.
        channel.embeddedEventLoop.advanceTime(by: .seconds(61))
        try receive(.stopped, next)
        #expect(nextError() == .malformedReply)
    }

    @Test("A failure of an unknown request is malformed, and one without a request ends the connection")
    func strayFailures() throws {
        let failure = ProviderFailure(.serverBusy, "busy")
        try receive(.failure(failure), 99)
        #expect(nextError() == .malformedReply)
        let other = EmbeddedChannel()
        let handler = ClientHandler { _ in true }
        try other.pipeline.syncOperations.addHandler(handler)
        try other.writeInbound(
            ByteBuffer(bytes: try WireSamples.bytes(.failure(failure), id: Wire.noRequest)))
        let promise = other.eventLoop.makePromise(of: ProviderReply.self)
        handler.send(.statistics, within: .seconds(60), promise)
        #expect(throws: failure) { try promise.futureResult.wait() }
    }

    @Test("The announced length of requests is used only between the protocol's limits")
    func requestLimits() throws {
        for (limit, longest) in [
            (1, Wire.requestLimit), (1 << 30, Wire.longRequestLimit), (10_000, 10_000),
        ] {
            let hello = Hello(minimumVersion: 2, maximumVersion: 2, clientName: "", services: [])
            _ = send(.hello(hello))
            let welcome = Welcome(version: 2, serverName: "", services: [], requestLimit: limit)
            try receive(.welcome(welcome), try sentID())
            let empty = ProviderRequest.useUpdate(handle: 1, data: [])
            let overhead = try WireSamples.bytes(empty).count
            for excess in [0, 1] {
                let data = [UInt8](repeating: 7, count: longest - overhead + excess)
                let future = send(.useUpdate(handle: 1, data: data))
                guard excess > 0 else {
                    _ = try sentID()
                    continue
                }
                #expect(throws: ProviderFailure(.refused, "")) { try future.wait() }
            }
        }
    }

    @Test("The size of a listed entry includes all of its texts")
    func sizes() {
        let item = Item(
            identifier: "a", filename: "bb", kind: .zip, contentType: "cccc", parent: "dddddddd", size: nil,
            created: WireSamples.items[0].created)
        #expect(item.wireSize == 15)
        let summary = WireSamples.detailedFacts[0]
        let details = [
            summary.details?.subject, summary.details?.commonName, summary.details?.email,
            summary.details?.edipi,
        ]
        let texts = [summary.label, summary.serialNumber] + details.compactMap(\.self)
        #expect(summary.wireSize == texts.reduce(0) { $0 + $1.utf8.count })
    }
}
