internal import Foundation
internal import KeyShareWire
internal import NIOCore

/// The events that subscribers are told of: the latest few thousand, each with a number.
///
/// Nothing is kept while no connection has asked for events. A subscriber that is too slow finds that events between were dropped, and
/// how many; nobody waits for it. It is used on the server's one event loop only.
final class EventFeed {
    /// A request for events that waits.
    private struct Subscriber {
        var after: UInt64
        var answer: (ProviderReply) -> Void
        var timeout: Scheduled<Void>
    }

    /// How long events are collected before they are told, so that many of them cost one message.
    private static let collecting = TimeAmount.milliseconds(25)
    /// The bytes of events in one message, so that it fits the frame with its other fields.
    private static let pageSize = Wire.replyLimit - 1_024

    private let eventLoop: any EventLoop
    private let limits: ProviderServer.Limits
    private var events = CircularBuffer<ProviderEvent>()
    /// The number of the last event.
    private var last: UInt64 = 0
    private var subscribers: [Int: Subscriber] = [:]
    private var isFlushScheduled = false
    /// The connections that have asked for events.
    private var watchers: Set<Int> = []
    /// The time of the feed's beginning, by the clock of the event loop and by the calendar.
    private let origin = (deadline: NIODeadline.now(), date: Date().timeIntervalSince1970)

    init(_ eventLoop: any EventLoop, limits: ProviderServer.Limits) {
        self.eventLoop = eventLoop
        self.limits = limits
    }

    /// Whether somebody wants to be told of events.
    var isActive: Bool { !watchers.isEmpty }

    /// The time of the event loop as microseconds since 1970.
    func microseconds(_ time: NIODeadline) -> UInt64 {
        let elapsed = (time - origin.deadline).nanoseconds / 1_000
        return UInt64(max(0, origin.date * 1_000_000)) &+ UInt64(bitPattern: elapsed)
    }

    /// Keeps an event for those who subscribe.
    func append(_ event: ProviderEvent) {
        if events.count >= limits.events { events.removeFirst() }
        events.append(event)
        last += 1
        scheduleFlush()
    }

    /// Answers a request for events: at once where it asks where they stand, otherwise when there are some or the time
    /// is over.
    ///
    /// - Parameters:
    ///   - connection: the connection that asks.
    ///   - after: the number of the last event that it knows; nil where it knows none.
    ///   - wait: how long to wait for events.
    ///   - answer: sends the reply where it comes later.
    /// - Returns: The reply where it comes at once; nil where `answer` is called.
    func subscribe(
        _ connection: Int, after: UInt64?, wait: TimeAmount, answer: @escaping (ProviderReply) -> Void
    ) -> ProviderReply? {
        guard watchers.count < limits.subscribers || watchers.contains(connection) else {
            return .failure(ProviderFailure(.refused, "too many are told of events already"))
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

    /// Forgets a connection that has ended.
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
