internal import DeviceSimulation
internal import Diagnostics
package import SimulatedKeychain

/// The JSON document of `keyshare-device status`.
package struct DeviceStatusDocument: Codable, Sendable {
    /// The number of identities of the provider or of the consumer. Counting them opens no keychain item.
    package struct Side: Codable, Sendable {
        /// The number of identities; nil if the keychain cannot be read.
        package let identities: Int?

        /// Creates the count for the provider or the consumer. `identities` is nil if the keychain cannot be read.
        package init(identities: Int?) {
            self.identities = identities
        }
    }

    /// The state of the provider's service.
    package struct Service: Codable, Sendable {
        /// Whether a process listens at the socket.
        package let serving: Bool
        /// The path of the socket; nil if the device cannot have a socket.
        package let socket: String?
        /// The listening process according to the kernel; nil if there is none.
        package let processID: Int32?
        /// The statistics of the running provider, keyed by their names in the protocol documentation; nil if no
        /// provider is running or the provider reports none.
        package let figures: [String: UInt64]?

        /// Creates the state of the service from the provider's socket and the process that listens on it.
        package init(socket: String?, processID: Int32?, figures: [String: UInt64]? = nil) {
            serving = processID != nil
            self.socket = socket
            self.processID = processID
            self.figures = figures
        }
    }

    /// The version of this command, with date and commit if it is not a release.
    package let version: String
    /// The folder of the device.
    package let folder: String
    /// The state of the device, such as `locked`.
    package let state: String
    /// The bundle identifiers of the installed apps and extensions.
    package let apps: [String]
    /// The provider's identities.
    package let provider: Side
    /// The number of the provider's test authorities; nil if the keychain cannot be read.
    package let authorities: Int?
    /// The consumer's identities.
    package let consumer: Side
    /// The service of the provider.
    package let service: Service

    /// Creates the status of a device.
    package init(
        version: String, folder: String, state: DeviceState, apps: [App], provider: Side, authorities: Int?,
        consumer: Side,
        service: Service
    ) {
        self.version = version
        self.folder = folder
        self.state = state.description
        self.apps = apps.map(\.bundleIdentifier)
        self.provider = provider
        self.authorities = authorities
        self.consumer = consumer
        self.service = service
    }

    /// The names and values of the fields, for text output.
    package var fields: [(name: String, value: String)] {
        func count(_ number: Int?) -> String { number.map(String.init) ?? "unknown" }
        let place = service.socket.map { " \($0)" } ?? ""
        let serving =
            service.processID.map { "yes, at\(place), process \($0)" }
            ?? "no\(place.isEmpty ? "" : "; it would listen at\(place)")"
        return [
            (name: "folder", value: folder), (name: "state", value: state),
            (name: "installed", value: apps.joined(separator: ", ")),
            (
                name: "provider",
                value: "\(count(provider.identities)) identities, \(count(authorities)) authorities"
            ),
            (name: "consumer", value: "\(count(consumer.identities)) identities"),
            (name: "serving", value: serving),
        ] + load + [(name: "version", value: version)]
    }

    /// The rows for the load of the running provider; empty if the provider reports no statistics.
    private var load: [(name: String, value: String)] {
        guard let figures = service.figures else { return [] }
        func figure(_ name: String) -> UInt64 { figures[name] ?? 0 }
        func counted(_ name: String, _ one: String) -> String {
            Diagnostics.counted(Int(clamping: figure(name)), one, one + "s")
        }
        return [
            (
                name: "memory",
                value: "\(figure("memory-bytes") >> 20) MiB, peak \(figure("peak-memory-bytes") >> 20) MiB"
            ),
            (
                name: "work",
                value: "\(figure("makings-under-way")) running, \(figure("makings-waiting")) waiting, "
                    + counted("connections", "connection")
            ),
            (
                name: "refused",
                value: counted("refused-requests", "request") + ", "
                    + counted("refused-connections", "connection")
            ),
        ]
    }
}
