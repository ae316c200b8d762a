import ArgumentParser
import DeviceSimulation

/// An app by the last part of its name.
enum AppName: String, CaseIterable, ExpressibleByArgument {
    case provider
    case files
    case interface
    case consumer

    /// The app.
    var app: App {
        switch self {
        case .provider: .provider
        case .files: .providerFiles
        case .interface: .providerInterface
        case .consumer: .consumer
        }
    }
}
