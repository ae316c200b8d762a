import CommandSupport
import DeviceSimulation

/// Changes the device's state and says what it is now.
func change(
    _ options: DeviceOptions, _ output: OutputOptions, _ body: (Device) throws -> Void
) throws {
    let device = try options.openDevice()
    try body(device)
    let state = try device.state()
    if output.json {
        try output.console.document(["state": state.description])
    } else {
        output.console.note("the device is \(state)")
    }
}
