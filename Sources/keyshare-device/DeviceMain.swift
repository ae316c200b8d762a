import CommandSupport
import KeyShareDeviceCommand

@main
enum DeviceMain {
    static func main() async { await DeviceCommand.main() }
}
