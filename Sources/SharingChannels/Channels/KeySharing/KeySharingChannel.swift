package import Diagnostics
package import DeviceSimulation
package import Foundation
internal import KeyShareClient
internal import KeyShareConsumer
internal import KeyShareServer
internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import Logging
internal import OpenSSL
internal import SecretMemory
internal import Synchronization

/// The channel of key sharing as of 2025: the sender's file provider lists one item on its socket, the user picks the
/// item for the receiver, and the receiver fetches the password from the password service and then the item.
///
/// Any app may ask, but only an app for which the user picks the item gets it. The credential lies in the sender's own
/// part of the keychain, and the system starts the sender's extension on demand, so that the item is available after a
/// restart, too.
package final class KeySharingChannel: SharingChannel {
    /// The channel's name, `key-sharing-2025`.
    package let name = "key-sharing-2025"
    private let ends: ChannelEndpoints
    private let socket: String
    /// The sender's extension, while it runs in this process.
    private let serving = Mutex<Task<Void, any Error>?>(nil)

    /// Makes the channel between two apps.
    ///
    /// - Parameters:
    ///   - ends: The apps and their device.
    ///   - runtimeDirectory: A folder for the socket if its path in the device's folder is too long; nil for none.
    /// - Throws: `SharingChannelError` `failed` where the socket's path is too long in both folders.
    package init(_ ends: ChannelEndpoints, runtimeDirectory: String?) throws(SharingChannelError) {
        self.ends = ends
        socket = try SharingChannelError.wrapping {
            try ends.device.socketPath(named: Device.channelSocket, runtimeDirectory: runtimeDirectory)
        }
    }

    deinit {
        serving.withLock { $0?.cancel() }
    }

    /// Saves the credential where the sender's extension finds it, and starts the extension.
    ///
    /// - Throws: `SharingChannelError`: `locked`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try OneItemProvider(ends).keep(credential)
            try serve()
        }
        ends.announce()
    }

    /// Lists the items, asks the user to pick, and fetches password and item. An app for which the user picks nothing
    /// asks for the password nevertheless, to show that it gets none.
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

    /// Ends the sender's extension if it runs in this process.
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

    /// Asks for password and item without a pick, as an attacker would.
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

    /// Connects to the sender's extension, and starts it where none runs. It tries three times, because an extension
    /// that another process started may end in between.
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

    /// Limits with long deadlines. The deadlines of an everyday provider guard it against slow peers, and a busy machine
    /// must not be taken for one.
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

    /// The deadline of every step.
    private static let patience = Duration.seconds(120)

    /// Starts the sender's extension, unless it runs in this process or in another one.
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
