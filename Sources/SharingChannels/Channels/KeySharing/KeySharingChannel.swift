internal import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import KeyShareClient
internal import KeyShareConsumer
internal import KeyShareProtocol
internal import KeyShareServer
internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import Logging
internal import OpenSSL
internal import SecretMemory
package import SimulatedKeychain
internal import Synchronization

/// The channel of key sharing as of 2025. The sender's file provider lists one item on its socket, and the user picks
/// the item for the receiver. The receiver fetches the password from the password service and then the item.
///
/// Any app may request the item, but an app receives it only if the user picks the item for that app. The credential is
/// in the sender's own keychain group. The system starts the sender's extension on demand, so the item is also
/// available after a restart.
package final class KeySharingChannel: SharingChannel {
    /// The channel's name, `key-sharing-2025`.
    package let name = "key-sharing-2025"
    private let ends: ChannelEndpoints
    private let socket: String
    /// The sender's extension, while it runs in this process.
    private let serving = Mutex<Task<Void, any Error>?>(nil)

    /// Creates the channel between two apps.
    ///
    /// - Parameters:
    ///   - ends: The apps and their device.
    ///   - runtimeDirectory: The folder for the socket if the path in the device's folder is too long, or nil if there
    ///     is no such folder.
    /// - Throws: `SharingChannelError` `failed` if the socket's path is too long in both folders.
    package init(_ ends: ChannelEndpoints, runtimeDirectory: String?) throws(SharingChannelError) {
        self.ends = ends
        socket = try SharingChannelError.wrapping {
            try ends.device.socketPath(named: Device.channelSocket, runtimeDirectory: runtimeDirectory)
        }
    }

    deinit {
        serving.withLock { $0?.cancel() }
    }

    /// Stores the credential in the keychain of the sender's extension and starts the extension.
    ///
    /// - Throws: `SharingChannelError`: `locked`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try OneItemProvider(ends).keep(credential)
            try serve()
        }
        ends.announce()
    }

    /// Lists the items, asks the user to pick one, and fetches the password and the item. If the user declines, the app
    /// requests the password anyway, to verify that the provider rejects the request.
    ///
    /// - Throws: `SharingChannelError`: `denied`, `locked`, `expired`, `damaged`, `notRunning`, `failed`.
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

    /// Deletes the credential from the sender's keychain.
    ///
    /// - Throws: `SharingChannelError`: `damaged`, `failed`.
    package func remove() async throws(SharingChannelError) {
        try SharingChannelError.wrapping { try OneItemProvider.removeCredential(of: ends) }
    }

    /// Stops the sender's extension if it runs in this process.
    package func stop() async {
        let task = serving.withLock { $0.take() }
        task?.cancel()
        _ = await task?.result
    }

    private func receive(
        by app: App, from client: ProviderClient, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws -> Credential? {
        let picker = DocumentPicker(client, request: try TypeRequest([], under: .keySharing2025))
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
        else { throw SharingChannelError(.damaged, "the service password does not decrypt the item") }
        return try Credential(plain, at: now)
    }

    /// Requests the password and the item without a pick, as an attacker would.
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

    /// Connects to the sender's extension and starts it if it is not running. Tries three times, because an extension
    /// that another process started may end in the meantime.
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
        throw SharingChannelError(.notRunning, "the sender's extension ends immediately after it starts")
    }

    /// Limits with long deadlines. The default deadlines protect a provider from slow peers, and a busy machine must
    /// not be mistaken for a slow peer.
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

    /// The time limit for every step of a transfer.
    private static let patience = Duration.seconds(120)

    /// Starts the sender's extension unless it already runs in this process or another.
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
