package import DeviceSimulation

/// The JSON document of `keyshare-device status`.
package struct DeviceStatusDocument: Codable, Sendable {
    /// What the keychain holds of one side; nothing of it is opened.
    package struct Side: Codable, Sendable {
        /// How many identities the side holds; nil where the keychain cannot be read.
        package let identities: Int?

        /// Describes a side that holds so many identities.
        package init(identities: Int?) {
            self.identities = identities
        }
    }

    /// Whether a provider serves, and where.
    package struct Service: Codable, Sendable {
        /// Whether a process listens at the socket.
        package let serving: Bool
        /// The path of the socket; nil where no socket can be made for the device.
        package let socket: String?
        /// The process that listens, as the kernel names it; nil where none does.
        package let processID: Int32?
        /// What the running provider tells of itself, by the names in the protocol's description; nil where none runs,
        /// or it does not tell.
        package let figures: [String: UInt64]?

        /// Describes the socket of a provider and who listens at it.
        package init(socket: String?, processID: Int32?, figures: [String: UInt64]? = nil) {
            serving = processID != nil
            self.socket = socket
            self.processID = processID
            self.figures = figures
        }
    }

    /// The folder of the device.
    package let folder: String
    /// The state that the device is in, such as `locked`.
    package let state: String
    /// The bundle identifiers of the apps and extensions that are installed.
    package let apps: [String]
    /// What the provider's side holds.
    package let provider: Side
    /// How many authorities of test credentials the provider keeps; nil where the keychain cannot be read.
    package let authorities: Int?
    /// What the consumer's side holds.
    package let consumer: Side
    /// The service of the provider.
    package let service: Service

    /// The status of a device by its parts.
    package init(
        folder: String, state: DeviceState, apps: [App], provider: Side, authorities: Int?, consumer: Side,
        service: Service
    ) {
        self.folder = folder
        self.state = state.description
        self.apps = apps.map(\.bundleIdentifier)
        self.provider = provider
        self.authorities = authorities
        self.consumer = consumer
        self.service = service
    }

    /// The names of the fields with their values, for text.
    package var fields: [(name: String, value: String)] {
        func count(_ number: Int?) -> String { number.map(String.init) ?? "unknown" }
        let place = service.socket.map { " \($0)" } ?? ""
        let serving =
            service.processID.map { "yes, at\(place), process \($0)" }
            ?? "no\(place.isEmpty ? "" : "; it would at\(place)")"
        return [
            (name: "folder", value: folder), (name: "state", value: state),
            (name: "installed", value: apps.joined(separator: ", ")),
            (
                name: "provider",
                value: "\(count(provider.identities)) identities, \(count(authorities)) authorities"
            ),
            (name: "consumer", value: "\(count(consumer.identities)) identities"),
            (name: "serving", value: serving),
        ] + load
    }

    /// The load of the running provider; empty where it does not tell.
    private var load: [(name: String, value: String)] {
        guard let figures = service.figures else { return [] }
        func figure(_ name: String) -> UInt64 { figures[name] ?? 0 }
        return [
            (
                name: "memory",
                value: "\(figure("memory-bytes") >> 20) MiB, at most \(figure("peak-memory-bytes") >> 20) MiB"
            ),
            (
                name: "work",
                value: "\(figure("makings-under-way")) under way, \(figure("makings-waiting")) waiting, "
                    + "\(figure("connections")) connections"
            ),
            (
                name: "refused",
                value: "\(figure("refused-requests")) requests, \(figure("refused-connections")) connections"
            ),
        ]
    }
}
