import ArgumentParser
import SimulatedKeychain

/// The name of an app on the command line.
enum AppName: String, CaseIterable, ExpressibleByArgument {
    case provider
    case files
    case interface
    case token
    case consumer

    /// The app with this name.
    var app: App {
        switch self {
        case .provider: .provider
        case .files: .providerFiles
        case .interface: .providerInterface
        case .token: .providerToken
        case .consumer: .consumer
        }
    }
}
