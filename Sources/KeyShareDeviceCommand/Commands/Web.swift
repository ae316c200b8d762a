import ArgumentParser
import CommandSupport
import LocalSockets
import Logging
import LoopbackHTTP
import ServiceLifecycle
import UnixSignals
import WebView

struct Web: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Show the device and its activity in a browser on this machine.",
        discussion: """
            The page shows the document picker, consent, lock state and both keychains, explains why each item can or \
            cannot be picked, and draws each request to the provider as it happens, including those of other commands. \
            It can start a provider, with a fault or a scenario.

            The printed address contains a secret: any process of this user that opens it can do everything that the \
            page can. The page receives no passwords and no keys. SIGTERM and SIGINT end the server.

            EXAMPLE:
              keyshare-device web
              keyshare-device web --listen 127.0.0.1:8080
              keyshare-device web --replay recording.json
            """)

    @Option(
        help: ArgumentHelp(
            "The address to listen on: 127.0.0.1 or [::1], and a port; 0 selects a free port.",
            valueName: "address:port"))
    var listen = "127.0.0.1:0"

    @Option(
        help: ArgumentHelp(
            "Show a recording that the page saved; requires no device.", valueName: "file"),
        completion: .file())
    var replay: String?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = output.console
        let address = try LoopbackAddress(listen)
        let log = LineWriter()
        var logger = Logger(label: "keyshare-device") { StreamLogHandler(label: $0, stream: log) }
        logger.logLevel = console.verbosity == .verbose ? .debug : .warning
        let server: WebServer
        do {
            if let replay {
                server = try await WebServer(
                    replaying: try Recording(file: replay), at: address, logger: logger)
            } else {
                let device = try device.makeDevice(noting: console.note)
                server = try await WebServer(
                    device, socket: try socket.path(of: device), options: commandOptions, at: address,
                    logger: logger)
            }
        } catch let error as SocketError where error.code == .addressInUse {
            throw CommandFailure(
                .inputOutput, code: "address-in-use", error.reason, hint: "choose another port, or 0 for any")
        }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: server),
                    .init(service: Announcement(console: console, log: log, url: server.url)),
                ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        defer { log.flush(patience: .milliseconds(500)) }
        try await group.run()
    }

    /// Prints the address of the page. This is a service because the service group installs its signal handlers before
    /// it starts services: as soon as the user sees the address, a signal shuts the server down gracefully.
    private struct Announcement: Service {
        let console: Console
        let log: LineWriter
        let url: String

        func run() async throws {
            if console.isJSON {
                try console.document(ListeningDocument(listening: url), onOneLine: true)
            } else {
                try console.data(url)
                console.note("open this address in a browser; it contains a secret", to: log)
            }
            try await gracefulShutdown()
        }
    }

    /// The device and socket options of this command, which commands shown on the page must repeat.
    private var commandOptions: String {
        (device.device.map { " --device " + $0.quotedForShell } ?? "")
            + (socket.socket.map { " --socket " + $0.quotedForShell } ?? "")
    }
}
