package import SecretMemory
package import DeviceSimulation
package import Foundation
internal import OpenSSL

/// How a legacy export's password reaches the consumer: the UI extension puts it on the pasteboard.
package struct PasteboardPassword: Sendable {
    private let pasteboard: Pasteboard
    private let lifetime: TimeInterval
    private let now: @Sendable () -> Date

    /// Opens the device's pasteboard.
    ///
    /// - Parameters:
    ///   - lifetime: after how many seconds a password is gone.
    ///   - now: the device's clock.
    /// - Throws: `PasteboardError`.
    package init(
        _ device: Device, lifetime: TimeInterval = Pasteboard.standardLifetime,
        now: @escaping @Sendable () -> Date
    ) throws(PasteboardError) {
        pasteboard = try Pasteboard(device: device)
        self.lifetime = lifetime
        self.now = now
    }

    /// Puts a password on the pasteboard, in place of what is there.
    ///
    /// - Throws: `PasteboardError`.
    package func put(_ password: SecretBytes) throws(PasteboardError) {
        try pasteboard.write(password, owner: .providerInterface, now: now(), lifetime: lifetime)
    }
}

extension App {
    /// The provider's UI extension, which shows the legacy list and may use the pasteboard; the file provider
    /// extension may not.
    package static let providerInterface: App = {
        var app = App.provider
        app.bundleIdentifier += ".interface"
        app.kind = .fileProviderInterface
        return app
    }()
}
