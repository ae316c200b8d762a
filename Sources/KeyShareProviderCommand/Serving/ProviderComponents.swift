import DeviceSimulation
import Foundation
import KeyShareProvider
import KeyShareServer
import ServiceLifecycle
import SimulatedKeychain

/// The parts of a running provider.
struct ProviderComponents {
    let provider: Provider
    let tokenExtension: TokenExtension
    let pasteboard: Pasteboard
    let server: ProviderServer

    /// Rereads the password, the device's state and the token's registrations, and notifies subscribed consumers. Grants
    /// end only if the password or the state requires it.
    func reload(_ store: ProviderStore) {
        // If the password cannot be read now, the next request tries again and reports the error.
        try? provider.refresh()
        provider.followDeviceState()
        tokenExtension.forgetStale()
        server.endExpiredGrants()
        store.announceChange()
    }

    /// Returns the server, and the services that respond to notifications of the device and to expiry times.
    ///
    /// - Throws: `FileError` if a notification cannot be observed.
    func services(on device: Device) throws -> [ServiceGroupConfiguration.ServiceConfiguration] {
        [
            .init(service: server),
            .init(
                service: try NotificationWatch(device, .passwordChanged) {
                    // If the password cannot be read now, the next request tries again and reports the error.
                    try? provider.refresh()
                    server.endExpiredGrants()
                    tokenExtension.forget()
                }),
            .init(service: PasteboardSweep(pasteboard: pasteboard)),
            .init(
                service: try NotificationWatch(device, .deviceStateChanged) {
                    server.endExpiredGrants()
                    provider.followDeviceState()
                    tokenExtension.forgetStale()
                }),
            .init(service: try NotificationWatch(device, .tokensChanged) { tokenExtension.forgetStale() }),
            .init(service: OpenKeySweep(token: tokenExtension)),
        ]
    }
}

/// Runs `act` when another process posts a notification.
private struct NotificationWatch: Service {
    private let device: Device
    private let changes: Observations
    private let act: @Sendable () -> Void

    init(_ device: Device, _ name: NotificationName, act: @escaping @Sendable () -> Void) throws {
        self.device = device
        self.act = act
        changes = try Notifications(device: device).observe(name)
    }

    func run() async throws {
        for await _ in changes.cancelOnGracefulShutdown() {
            act()
        }
        // Notifications of password changes, locks and restarts can no longer arrive, so the provider must stop.
        if !Task.isShuttingDownGracefully && !Task.isCancelled { throw device.gone }
    }
}

/// Wipes the pasteboard's item when it expires, regardless of the app that copied it.
private struct PasteboardSweep: Service {
    let pasteboard: Pasteboard

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // An unreadable pasteboard is reported to the apps that use it.
                let expiry = try? pasteboard.wipeExpired(now: Date())
                let wait = min(max(expiry?.timeIntervalSinceNow ?? Self.interval, 0.01), Self.interval)
                try? await Task.sleep(for: .seconds(wait))
            }
        }
    }

    /// The maximum time between two checks, in seconds. Other processes may copy an item at any time.
    private static let interval = 5.0
}

/// Closes each open key when its time expires, even if no request arrives.
private struct OpenKeySweep: Service {
    let token: TokenExtension

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let wait = min(
                    max(token.forgetStale() ?? Self.interval, .milliseconds(10)), Self.interval)
                try? await Task.sleep(for: wait)
            }
        }
        token.forget()
    }

    /// The maximum time between two checks. Requests may open a key at any time.
    private static let interval = Duration.seconds(5)
}
