import CommandSupport
import DeviceSimulation

extension DeviceOptions {
    /// Changes the state of the device and presents the state that it is in then.
    ///
    /// - Throws: `DeviceError`, what `change` throws, and `CommandFailure` (74) when standard output does not take
    ///   the answer.
    func changeState(_ output: OutputOptions, _ change: (Device) throws -> Void) throws {
        let device = try makeDevice(output.console)
        try change(device)
        let state = try device.state()
        try output.console.present(DeviceStateDocument(state)) {
            output.console.note("the device is \(state)")
        }
    }
}
