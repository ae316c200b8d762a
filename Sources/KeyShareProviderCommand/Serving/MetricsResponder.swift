import CommandSupport
import KeyShareServer
import LoopbackHTTP

/// Answers HTTP requests for the provider's metrics, in the text format of Prometheus.
struct MetricsResponder: Sendable {
    let server: ProviderServer
    let requests: RequestMetrics

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        guard request.path == "/metrics" else { return .text(404, "the metrics are at /metrics") }
        guard request.method != .post else { return .text(405, "use GET") }
        let families = await server.figures().map(\.family) + requests.families
        return HTTPResponse(
            contentType: MetricFamily.contentType, body: Array(MetricFamily.text(families).utf8),
            mayBeStored: false)
    }
}
