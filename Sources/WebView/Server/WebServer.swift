internal import CommandSupport
package import DeviceSimulation
internal import Foundation
internal import KeyShareProvider
internal import KeySharing
package import Logging
package import LoopbackHTTP
internal import ServiceLifecycle

/// The web page of a device, or of a recording, on the loopback address.
package final class WebServer: Service {
    private let server: LoopbackServer
    private let access: WebAccess
    private let routes: WebRoutes

    /// The URL that opens the page; it contains the secret.
    package var url: String { access.url }

    /// Creates the page of a device. The server is listening when this returns.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - socket: The path of the provider's socket.
    ///   - options: The command-line options that the displayed commands need to reach the same device, each with a
    ///     leading space; may be empty.
    ///   - address: The address to listen on.
    ///   - logger: Receives rejected requests and failures.
    /// - Throws: `SocketError` if the address is not available; `FileError`, `KeychainError` and
    ///   `PasteboardError` if the device cannot be read.
    package convenience init(
        _ device: Device, socket: String, options: String, at address: LoopbackAddress, logger: Logger
    ) async throws {
        try await self.init(at: address, logger: logger) {
            try .live(LivePage(device, socket: socket, options: options))
        }
    }

    /// Creates the page of a recording, which needs no device.
    ///
    /// - Throws: `SocketError` if the address is not available.
    package convenience init(
        replaying recording: Recording, at address: LoopbackAddress, logger: Logger
    ) async throws {
        try await self.init(at: address, logger: logger) { .replay(recording) }
    }

    private init(
        at address: LoopbackAddress, logger: Logger, _ make: () throws -> WebRoutes.Source
    ) async throws {
        let source = try make()
        let routes = WebRoutes(source)
        server = try await LoopbackServer(
            address, limits: WebLimits.server, logger: logger, streaming: routes.answer)
        access = WebAccess(host: "\(server.address)", port: server.address.port)
        routes.open(access)
        self.routes = routes
    }

    /// Serves until the service group shuts down gracefully or the task is cancelled.
    ///
    /// - Throws: `FileError` if the device cannot be observed; the errors of NIO if the listening socket fails.
    package func run() async throws {
        let live = routes.live
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.server.run() }
            if let live {
                group.addTask { try await live.run() }
            }
            // When either task ends, cancel the other.
            let result = await group.nextResult()
            group.cancelAll()
            await live?.end()
            try result?.get()
        }
    }
}

/// A page that shows the current state of a device.
final class LivePage: Sendable {
    let journal = EventJournal()
    let session: PhoneSession
    let android: AndroidSession
    private let watch: ProviderWatch
    private let deviceWatch: DeviceWatch

    init(_ device: Device, socket: String, options: String) throws {
        watch = ProviderWatch(socket: socket, journal: journal)
        deviceWatch = try DeviceWatch(device, journal)
        session = PhoneSession(device, socket: socket, journal: journal, watch: watch, options: options)
        android = AndroidSession(
            device, socket: socket, journal: journal, process: session.process,
            commands: CommandLines(options: options))
    }

    /// Watches the device and the provider until the task is cancelled.
    func run() async throws {
        let changed: @Sendable (DeviceWatch.News) -> Void = { [session, journal] news in
            Task {
                await session.forget(news)
                journal.announceChange()
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.watch.run { changed(.listings) } }
            group.addTask { try await self.deviceWatch.run(changed: changed) }
            group.addTask {
                while !Task.isCancelled {
                    try await Task.sleep(for: .seconds(15))
                    self.journal.ping()
                }
            }
            try await group.waitForAll()
        }
    }

    /// Denies pending questions, stops the provider that the page started, and ends the streams of all pages.
    func end() async {
        await session.end()
        journal.end()
    }
}
