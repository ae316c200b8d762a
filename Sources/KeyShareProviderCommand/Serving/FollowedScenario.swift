import DeviceSimulation
import KeyShareProvider
import Synchronization

/// The scenario that a running provider follows, as the device stores it. A reload reads it again.
final class FollowedScenario: Sendable {
    private let device: Device
    private let isIgnored: Bool
    private let current: Mutex<ServiceBehaviour?>

    /// Reads the scenario of a device, unless it is to be ignored.
    ///
    /// - Throws: `FileError` if the provider's settings cannot be read.
    init(of device: Device, isIgnored: Bool) throws {
        self.device = device
        self.isIgnored = isIgnored
        current = Mutex(isIgnored ? nil : try ServiceBehaviour.stored(on: device))
    }

    /// The behaviour that the scenario specifies; nil if the provider follows none.
    var behaviour: ServiceBehaviour? { current.withLock { $0 } }

    /// Reads the scenario again. Returns both behaviours if it has changed.
    ///
    /// - Throws: `FileError` if the provider's settings cannot be read; the behaviour then stays as it was.
    func reread() throws -> (former: ServiceBehaviour?, current: ServiceBehaviour?)? {
        guard !isIgnored else { return nil }
        let new = try ServiceBehaviour.stored(on: device)
        let former = current.withLock { current in
            defer { current = new }
            return current
        }
        return former == new ? nil : (former, new)
    }
}
