internal import CommandSupport
package import DeviceSimulation
internal import Foundation
internal import KeyShareProvider
internal import KeySharing
package import Logging
package import LoopbackHTTP
internal import ServiceLifecycle
internal import TestCredentials

/// The web page of a device, or of a recording, on the loopback address.
package final class WebServer: Service {
    private let server: LoopbackServer
    private let access: WebAccess
    private let routes: WebRoutes

    /// The URL that opens the page; it holds the secret.
    package var url: String { access.url }

    /// Makes the page of a device. It listens and answers once this returns.
    ///
    /// - Parameters:
    ///   - device: the device.
    ///   - socket: the path of the provider's socket.
    ///   - options: the options of this run that commands on the page need, with a blank before each; empty for none.
    ///   - address: where to listen.
    ///   - logger: gets what the server refuses and why it fails.
    /// - Throws: `SocketError` where the address cannot be listened on; `FileError`, `KeychainError` and
    ///   `PasteboardError` where the device cannot be read.
    package convenience init(
        _ device: Device, socket: String, options: String, at address: LoopbackAddress, logger: Logger
    ) async throws {
        try await self.init(at: address, logger: logger) {
            try .live(LivePage(device, socket: socket, options: options))
        }
    }

    /// Makes the page of a recording, which needs no device.
    ///
    /// - Throws: `SocketError` where the address cannot be listened on.
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
    /// - Throws: `FileError` where the device cannot be observed; the errors of NIO where the listening socket fails.
    package func run() async throws {
        let live = routes.live
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.server.run() }
            if let live {
                group.addTask { try await live.run() }
            }
            // Whichever ends first, the other has nothing left to do.
            let result = await group.nextResult()
            group.cancelAll()
            await live?.end()
            try result?.get()
        }
    }
}

/// A page that shows a device as it is.
final class LivePage: Sendable {
    let journal = EventJournal()
    let session: PhoneSession
    private let watch: ProviderWatch
    private let deviceWatch: DeviceWatch

    init(_ device: Device, socket: String, options: String) throws {
        watch = ProviderWatch(socket: socket, journal: journal)
        deviceWatch = try DeviceWatch(device, journal)
        session = PhoneSession(device, socket: socket, journal: journal, watch: watch, options: options)
    }

    /// Watches until the task is cancelled.
    func run() async throws {
        let changed: @Sendable (DeviceWatch.News) -> Void = { [session, journal] news in
            Task {
                await session.forget(news)
                journal.tellOfChange()
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

    /// Ends what waits for the page.
    func end() async {
        await session.end()
        journal.end()
    }
}
