internal import CommandSupport
internal import Foundation
internal import Synchronization

/// Stores events, and sends new events and notifications of other changes to every open page.
///
/// The journal never waits for a page. A page that reads slowly loses events. The gaps in the event numbers show how
/// many events it lost.
package final class EventJournal: Sendable {
    private struct State {
        var events: [SharingEvent] = []
        var last = 0
        var pages: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
        var lastPage = 0
        /// The names of the clients, keyed by the number of their open connection.
        var clients: [Int: String] = [:]
    }

    private let state = Mutex(State())

    /// Creates a journal without events.
    package init() {}

    /// Adds events and sends them to the pages.
    package func append(_ events: [SharingEvent]) {
        state.withLock { state in
            for var event in events {
                state.last += 1
                event.number = state.last
                if let connection = event.connection {
                    if event.kind == "hello" { state.clients[connection] = event.subject }
                    event.client = state.clients[connection]
                    if event.kind == "closed" { state.clients[connection] = nil }
                }
                state.events.append(event)
                guard !state.pages.isEmpty, let message = Self.message(event) else { continue }
                for page in state.pages.values { page.yield(message) }
            }
            if state.events.count > WebLimits.events * 2 {
                state.events.removeFirst(state.events.count - WebLimits.events)
            }
        }
    }

    /// Forgets the names of the clients. Called when a provider has ended, because the next provider numbers its
    /// connections from 1 again.
    func forgetConnections() {
        state.withLock { $0.clients = [:] }
    }

    /// Notifies the pages that the state of the device, the provider or an import has changed.
    func announceChange() {
        state.withLock { state in
            for page in state.pages.values { page.yield(Array("event: state\ndata: {}\n\n".utf8)) }
        }
    }

    /// Sends every page a comment line, so that dead connections are detected.
    func ping() {
        state.withLock { state in
            for page in state.pages.values { page.yield(Array(": still here\n\n".utf8)) }
        }
    }

    /// Opens the stream of a page, as server-sent events (HTML, 9.2).
    ///
    /// - Parameter number: The number of the last event that the page has.
    /// - Returns: The stored events after that one, and the stream of future events.
    func open(after number: Int) -> (backlog: [UInt8], news: AsyncStream<[UInt8]>) {
        state.withLock { state in
            let (stream, continuation) = AsyncStream<[UInt8]>.makeStream(
                bufferingPolicy: .bufferingNewest(WebLimits.waitingMessages))
            state.lastPage += 1
            let page = state.lastPage
            state.pages[page] = continuation
            continuation.onTermination = { [weak self] _ in
                self?.close(page)
            }
            let backlog = state.events.suffix(WebLimits.events).filter { $0.number > number }
            return (Array("retry: 500\n\n".utf8) + backlog.flatMap { Self.message($0) ?? [] }, stream)
        }
    }

    private func close(_ page: Int) {
        _ = state.withLock { $0.pages.removeValue(forKey: page) }
    }

    /// Ends the streams of all pages.
    func end() {
        let pages = state.withLock { state in
            defer { state.pages = [:] }
            return Array(state.pages.values)
        }
        for page in pages { page.finish() }
    }

    private static func message(_ event: SharingEvent) -> [UInt8]? {
        guard let json = try? DocumentCoding.encode(event, onOneLine: true) else { return nil }
        return Array("id: \(event.number)\ndata: ".utf8) + json + Array("\n\n".utf8)
    }
}
