import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareWire
import LocalSockets
import SimulatedKeychain

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Show the device: folder, state, number of identities, and whether a provider is running.",
        discussion: """
            The command changes nothing and opens no key. If a provider is running, it also shows the provider's memory, \
            load and rejected requests.

            EXAMPLE:
              keyshare-device status
              keyshare-device status --json
            """)

    @Flag(help: "Exit with code 8 if no provider answers, for health checks.")
    var serving = false

    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let device = try device.untouchedDevice()
        var failure: CommandFailure?
        let keychain = Result { () throws(KeychainError) in try Keychain(existingOn: device, app: .provider) }
        func count(_ app: App, _ group: String? = nil) -> Int? {
            do throws(KeychainError) {
                return try keychain.get()?.seen(by: app).identityAttributes(accessGroup: group).count ?? 0
            } catch {
                failure = failure ?? CommandFailure(error)
                return nil
            }
        }
        let document = DeviceStatusDocument(
            version: CommandMain.version, folder: device.folder, state: try device.state(),
            apps: App.installed, provider: .init(identities: count(.provider, App.publishedGroup)),
            authorities: count(.provider, App.authorityGroup), consumer: .init(identities: count(.consumer)),
            service: await service(of: device))
        if serving, document.service.figures == nil, failure == nil {
            failure = CommandFailure(
                .providerUnavailable, "no provider responds", hint: "start one: keyshare-provider serve")
        }
        try output.console.present(document, failure: failure) {
            try output.console.fields(document.fields, indent: "")
        }
    }

    private func service(of device: Device) async -> DeviceStatusDocument.Service {
        let path = try? socket.path(of: device)
        let listener = path.flatMap(PeerIdentity.listener(at:))
        let figures = listener == nil ? nil : try? await figures(at: path)
        return .init(socket: path, processID: listener?.processID, figures: figures)
    }

    /// Requests the statistics of the provider that listens at `path`; returns nil if no provider answers in time.
    private func figures(at path: String?) async throws -> [String: UInt64]? {
        guard let path else { return nil }
        // A provider that is too busy to answer promptly is shown without statistics.
        return try await ProviderFigures.fetched(from: path).map { figures in
            Dictionary(figures.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
    }
}
