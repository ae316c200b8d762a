import CommandSupport
import DeviceSimulation

extension DeviceOptions {
    /// Changes the device, and prints its new state.
    ///
    /// - Parameters:
    ///   - output: The output options.
    ///   - done: A description of the change, printed before the state; nil if the state is sufficient.
    ///   - change: Changes the device.
    func changeState(
        _ output: OutputOptions, done: String? = nil, _ change: (Device) throws -> Void
    ) throws {
        let device = try makeDevice(noting: output.console.note)
        try change(device)
        let state = try device.state()
        try output.console.present(DeviceStateDocument(state)) {
            output.console.note((done.map { $0 + "; " } ?? "") + "the device is \(state)")
        }
    }
}
