internal import Foundation
internal import KeyShareProtocol
internal import KeyShareWire
internal import NIOCore

/// The latest few thousand events for subscribers, each with a sequence number.
///
/// No events are kept while no connection subscribes. A slow subscriber receives the number of dropped events; the
/// server never waits for it. It is used only on the server's one event loop.
final class EventFeed {
    /// A pending request for events.
    private struct Subscriber {
        var after: UInt64
        var answer: (ProviderReply) -> Void
        var timeout: Scheduled<Void>
    }

    /// How long events are collected before they are sent, so that many events share one message.
    private static let collecting = TimeAmount.milliseconds(25)
    /// The maximum size of the events in one message, in bytes, which leaves room for its other fields.
    private static let pageSize = Wire.replyLimit - 1_024

    private let eventLoop: any EventLoop
    private let limits: ProviderServer.Limits
    private var events = CircularBuffer<ProviderEvent>()
    /// The number of the last event.
    private var last: UInt64 = 0
    private var subscribers: [Int: Subscriber] = [:]
    private var isFlushScheduled = false
    /// The connections that subscribe to events.
    private var watchers: Set<Int> = []
    /// The start of the feed, as event-loop time and as calendar time.
    private let origin = (deadline: NIODeadline.now(), date: Date().timeIntervalSince1970)

    init(_ eventLoop: any EventLoop, limits: ProviderServer.Limits) {
        self.eventLoop = eventLoop
        self.limits = limits
    }

    /// Whether any connection subscribes to events.
    var isActive: Bool { !watchers.isEmpty }

    /// Converts an event-loop time to microseconds since 1970.
    func microseconds(_ time: NIODeadline) -> UInt64 {
        let elapsed = (time - origin.deadline).nanoseconds / 1_000
        return UInt64(max(0, origin.date * 1_000_000)) &+ UInt64(bitPattern: elapsed)
    }

    /// Keeps an event for subscribers.
    func append(_ event: ProviderEvent) {
        if events.count >= limits.events { events.removeFirst() }
        events.append(event)
        last += 1
        scheduleFlush()
    }

    /// Answers a request for events. A request without a number is answered immediately with the current number. Any
    /// other request is answered when events exist or `wait` has passed.
    ///
    /// - Parameters:
    ///   - connection: The requesting connection.
    ///   - after: The number of the last event that it received; nil if it received no event.
    ///   - wait: The maximum time to wait for events.
    ///   - answer: Sends a delayed reply.
    /// - Returns: The immediate reply; nil if `answer` is called later.
    func subscribe(
        _ connection: Int, after: UInt64?, wait: TimeAmount, answer: @escaping (ProviderReply) -> Void
    ) -> ProviderReply? {
        guard watchers.count < limits.subscribers || watchers.contains(connection) else {
            return .failure(ProviderFailure(.refused, "too many connections already subscribe to events"))
        }
        watchers.insert(connection)
        guard let after else {
            return .events(ProviderEventPage(events: [], last: last, lost: 0))
        }
        let timeout = eventLoop.assumeIsolated().scheduleTask(in: wait) { [weak self] in
            guard let self else { return }
            deliver(to: connection)
        }
        subscribers[connection] = Subscriber(after: min(after, last), answer: answer, timeout: timeout)
        scheduleFlush()
        return nil
    }

    /// Removes a connection that has ended.
    func remove(_ connection: Int) {
        subscribers.removeValue(forKey: connection)?.timeout.cancel()
        if watchers.remove(connection) != nil, watchers.isEmpty { events.removeAll() }
    }

    private func scheduleFlush() {
        guard !isFlushScheduled, subscribers.values.contains(where: { $0.after < last }) else { return }
        isFlushScheduled = true
        eventLoop.assumeIsolated().scheduleTask(in: Self.collecting) { [weak self] in
            guard let self else { return }
            isFlushScheduled = false
            for (connection, subscriber) in subscribers where subscriber.after < last {
                deliver(to: connection)
            }
        }
    }

    private func deliver(to connection: Int) {
        guard let subscriber = subscribers.removeValue(forKey: connection) else { return }
        subscriber.timeout.cancel()
        let first = last - UInt64(events.count)
        let start = max(subscriber.after, first)
        var page: [ProviderEvent] = []
        var size = 0
        for event in events.dropFirst(Int(start - first)) {
            size += event.wireSize
            guard size <= Self.pageSize else { break }
            page.append(event)
        }
        subscriber.answer(
            .events(
                ProviderEventPage(
                    events: page, last: start + UInt64(page.count), lost: start - subscriber.after)))
    }
}
