import CommandSupport
import Diagnostics
import KeyShareProtocol
import KeyShareWire
import Logging
import Synchronization

/// The number of answered requests by type and outcome, and the distribution of the time that the answers took.
final class RequestMetrics: Sendable {
    /// The upper bounds of the distribution's buckets, in microseconds.
    static let bounds: [UInt32] = [
        25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000,
        10_000_000,
    ]

    private struct State {
        /// The number of requests by type and outcome.
        var counts: [String: [String: Int]] = [:]
        /// The distribution of the durations for each type.
        var durations: [String: Distribution] = [:]
    }

    fileprivate struct Distribution {
        var buckets = [Int](repeating: 0, count: RequestMetrics.bounds.count)
        var count = 0
        var microseconds: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Counts a request. Events about connections are ignored.
    func record(_ event: ProviderEvent) {
        guard let type = event.requestName else { return }
        state.withLock { state in
            state.counts[type, default: [:]][event.outcome, default: 0] += 1
            state.durations[type, default: Distribution()].record(event.duration)
        }
    }

    /// The metrics in the order of their labels.
    var families: [MetricFamily] {
        let state = state.withLock { $0 }
        let counts = state.counts.sorted { $0.key < $1.key }.flatMap { type, outcomes in
            outcomes.sorted { $0.key < $1.key }.map { outcome, count in
                MetricSample(labels: [("type", type), ("outcome", outcome)], value: Double(count))
            }
        }
        let durations = state.durations.sorted { $0.key < $1.key }.flatMap { type, distribution in
            distribution.samples(type: type)
        }
        return [
            MetricFamily(
                "keyshare_requests_total", .counter, "Answered requests by type and outcome.", counts),
            MetricFamily(
                "keyshare_request_duration_seconds", .histogram,
                "The time from the arrival of a request to its reply.", durations),
        ]
    }
}

extension RequestMetrics.Distribution {
    fileprivate mutating func record(_ duration: UInt32) {
        if let bucket = RequestMetrics.bounds.firstIndex(where: { duration <= $0 }) { buckets[bucket] += 1 }
        count += 1
        microseconds += UInt64(duration)
    }

    /// The samples of a histogram: each bucket contains those below it, as Prometheus requires.
    fileprivate func samples(type: String) -> [MetricSample] {
        var sum = 0
        var samples: [MetricSample] = []
        for (bound, bucket) in zip(RequestMetrics.bounds, buckets) {
            sum += bucket
            samples.append(
                MetricSample(
                    suffix: "_bucket", labels: [("type", type), ("le", "\(Double(bound) / 1e6)")],
                    value: Double(sum)))
        }
        samples.append(
            MetricSample(suffix: "_bucket", labels: [("type", type), ("le", "+Inf")], value: Double(count)))
        samples.append(
            MetricSample(suffix: "_sum", labels: [("type", type)], value: Double(microseconds) / 1e6))
        samples.append(MetricSample(suffix: "_count", labels: [("type", type)], value: Double(count)))
        return samples
    }
}

extension ProviderEvent {
    /// The name of the request's type; nil if the event is about a connection. A type that no protocol
    /// version defines is `unknown`, so that clients cannot create new metrics.
    var requestName: String? {
        guard case .request(let number) = kind else { return nil }
        return Wire.MessageType(rawValue: number).map { "\($0)" } ?? "unknown"
    }

    /// `ok`, or the name of the failure.
    var outcome: String {
        switch failure {
        case 0: "ok"
        case Wire.tokenFailureCode: "tokenFailure"
        default: FailureCode(rawValue: failure).map { "\($0)" } ?? "unknown"
        }
    }

    /// Logs an answered request. Events about connections are logged by the server.
    func log(to logger: Logger, requestID: UInt32?) {
        guard let name = requestName else { return }
        var fields: Logger.Metadata = [
            "type": "\(name)", "outcome": "\(outcome)", "connection": .stringConvertible(Int(connection)),
            "pid": .stringConvertible(Int(processID)),
            "durationMicroseconds": .stringConvertible(Int(duration)),
            "received": .stringConvertible(Int(received)), "sent": .stringConvertible(Int(sent)),
        ]
        fields["request"] = requestID.map { .stringConvertible(Int($0)) }
        // Clients choose these strings. Escape them, so that they cannot imitate another line of the log.
        if !subject.isEmpty { fields["subject"] = "\(subject.visible)" }
        if !message.isEmpty { fields["message"] = "\(message.visible)" }
        logger.info("request", metadata: fields)
    }
}
