internal import DeviceSimulation
package import SimulatedKeychain

/// The JSON document of the commands that change the state of the device.
package struct DeviceStateDocument: Codable, Sendable {
    /// The new state of the device, such as `locked`.
    package let state: String

    /// Creates the document for the new state.
    package init(_ state: DeviceState) {
        self.state = state.description
    }
}
