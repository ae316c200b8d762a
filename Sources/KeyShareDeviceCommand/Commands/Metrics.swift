import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareWire

struct Metrics: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Print the running provider's statistics in the text format of Prometheus.",
        discussion: """
            The output suits the textfile collector of node_exporter. Requests by type, and the time they take, are only in \
            the metrics that the provider itself serves (keyshare-provider serve --metrics).

            EXAMPLE:
              keyshare-device metrics
              keyshare-device metrics >keyshare.prom
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try socket.path(of: try device.untouchedDevice())
        guard let figures = try await ProviderFigures.fetched(from: path) else {
            throw CommandFailure(
                .providerUnavailable, "the provider has no statistics",
                hint: "start a provider of this version")
        }
        try output.console.present(MetricsDocument(figures)) {
            for line in MetricFamily.text(figures.map(\.family)).split(separator: "\n") {
                try output.console.data(String(line))
            }
        }
    }
}

/// The JSON output of `metrics`: the statistics as in `status`.
struct MetricsDocument: Encodable {
    let figures: [String: UInt64]

    init(_ figures: [ProviderFigure]) {
        self.figures = Dictionary(
            figures.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}
