internal import KeyShareWire
internal import LocalSockets
internal import KeyShareClient
internal import KeyShareServer
internal import SecretMemory
package import DeviceSimulation
package import Foundation
internal import KeySharing
internal import KeyShareConsumer
internal import Logging
internal import OpenSSL
internal import Synchronization

/// As key sharing does since 2025: the sender's file provider lists one item on its socket, the user picks it
/// for the receiver, who fetches the password from the password service and then the item.
///
/// Any app may ask; what keeps others out is that the user must pick the item for them. What is handed over
/// lies in the sender's own part of the keychain, and the system starts the sender's extension whenever
/// somebody asks for it, so that the item is there after a restart too.
package final class KeySharingChannel: SharingChannel {
    /// What the channel is called.
    package let name = "key-sharing-2025"
    private let ends: ChannelEndpoints
    private let socket: String
    private let serving = Mutex<Task<Void, any Error>?>(nil)

    /// The channel between `ends`.
    ///
    /// - Parameter runtimeDirectory: where the socket goes whose path is too long in the device's folder.
    /// - Throws: `SharingChannelError` where the socket's path is too long for either.
    package init(_ ends: ChannelEndpoints, runtimeDirectory: String?) throws(SharingChannelError) {
        self.ends = ends
        socket = try SharingChannelError.wrapping {
            try ends.device.socketPath(named: Device.channelSocket, runtimeDirectory: runtimeDirectory)
        }
    }

    deinit {
        serving.withLock { $0?.cancel() }
    }

    /// Puts the credential where the sender's extension finds it.
    package func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try OneItemProvider(ends).keep(credential)
            try serve()
        }
        ends.announce()
    }

    /// Lists, asks the user to pick, fetches password and item. An app for which nothing was picked asks all
    /// the same.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential? {
        do {
            let client = try await connect(as: app)
            let received: Result<Credential?, any Error>
            do {
                received = .success(try await receive(by: app, from: client, now: now, consent: consent))
            } catch {
                received = .failure(error)
            }
            await client.close()
            return try received.get()
        } catch {
            throw SharingChannelError(error)
        }
    }

    /// Takes the credential out of the sender's keychain.
    package func remove() async throws(SharingChannelError) {
        try SharingChannelError.wrapping { try OneItemProvider.removeCredential(of: ends) }
    }

    /// Ends the sender's extension.
    package func stop() async {
        let task = serving.withLock { $0.take() }
        task?.cancel()
        _ = await task?.result
    }

    private func receive(
        by app: App, from client: ProviderClient, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws -> Credential? {
        let picker = DocumentPicker(client, request: try TypeRequest([], mechanism: .keySharing2025))
        let item: Item
        do {
            item = try await picker.pick(OneItemProvider.filename)
        } catch let error as RequestError where error.code == .noSuchItem {
            return nil
        }
        let isPicked: Bool
        do {
            isPicked = try consent(.pick(item: item.filename, reader: app.bundleIdentifier))
        } catch {
            throw SharingChannelError(.denied, "the user could not be asked: \(error)", cause: error)
        }
        let (bytes, password) = try await isPicked ? client.fetch(item) : Self.fetchUnpicked(item, client)
        guard
            let plain = try SealingKey(password).open(bytes, associatedData: OneItemProvider.associatedData)
        else { throw SharingChannelError(.damaged, "the item does not open under the service's password") }
        return try Credential(plain, at: now)
    }

    private static func fetchUnpicked(
        _ item: Item, _ client: ProviderClient
    ) async throws -> (bytes: [UInt8], password: SecretBytes) {
        do {
            let password = try await client.fetchPassword(for: item.identifier)
            return (try await client.readAll(item.identifier), password)
        } catch let failure as ProviderFailure where failure.code == .notAvailable {
            throw SharingChannelError(.denied, "the user did not pick \(item.filename)", cause: failure)
        }
    }

    /// Connects to the sender's extension, which is started where nobody serves. One that serves for another
    /// process may end in between.
    private func connect(as app: App) async throws -> ProviderClient {
        for _ in 0..<3 {
            try serve()
            do {
                return try await ProviderClient.connect(
                    path: socket, clientName: app.bundleIdentifier, limits: Self.clientLimits)
            } catch let error as SocketError where error.code == .notRunning {
                await stop()
            }
        }
        throw SharingChannelError(.notRunning, "the sender's extension ends as soon as it has started")
    }

    /// Patient ones: those of a provider that many use guard it against peers that hold it up, and a busy
    /// machine must not pass for one.
    private static var limits: ProviderServer.Limits {
        var limits = ProviderServer.Limits()
        limits.hello = patience
        limits.frame = patience
        limits.stalled = patience
        return limits
    }

    private static var clientLimits: ProviderClient.Limits {
        var limits = ProviderClient.Limits()
        limits.hello = patience
        limits.reply = patience
        return limits
    }

    private static let patience = Duration.seconds(120)

    private func serve() throws {
        try serving.withLock { serving in
            guard serving == nil else { return }
            do {
                let server = try ProviderServer(
                    path: socket, service: try OneItemProvider(ends), limits: Self.limits,
                    serverName: ends.sender.bundleIdentifier,
                    logger: Logger(label: name) { _ in SwiftLogNoOpLogHandler() })
                serving = Task { try await server.run() }
            } catch let error as SocketError where error.code == .alreadyRunning {
                return
            }
        }
    }
}
