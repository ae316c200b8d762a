package import KeyShareWire

/// One value of a metric, with the labels that distinguish it from the other values.
package struct MetricSample: Sendable {
    let suffix: String
    let labels: [(name: String, value: String)]
    let value: Double

    /// Creates a sample. The suffix belongs to the parts of a histogram.
    package init(suffix: String = "", labels: [(name: String, value: String)] = [], value: Double) {
        self.suffix = suffix
        self.labels = labels
        self.value = value
    }
}

/// A metric with its samples, in the text format of Prometheus (version 0.0.4).
package struct MetricFamily: Sendable {
    /// The types of metrics that are used here.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    let name: String
    let kind: Kind
    let help: String
    let samples: [MetricSample]

    /// Creates a metric.
    ///
    /// - Parameters:
    ///   - name: The name with its unit, and `_total` for counters.
    ///   - kind: The type.
    ///   - help: One sentence.
    ///   - samples: The values.
    package init(_ name: String, _ kind: Kind, _ help: String, _ samples: [MetricSample]) {
        self.name = name
        self.kind = kind
        self.help = help
        self.samples = samples
    }

    /// The `Content-Type` of the format.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns the text of several metrics. Metrics without samples are omitted.
    package static func text(_ families: [MetricFamily]) -> String {
        families.filter { !$0.samples.isEmpty }.map(\.text).joined()
    }

    private var text: String {
        let lines = samples.map { sample in
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
            let selector = labels.isEmpty ? "" : "{" + labels.joined(separator: ",") + "}"
            return "\(name)\(sample.suffix)\(selector) \(Self.number(sample.value))\n"
        }
        return "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n" + lines.joined()
    }

    private static func number(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func escaped(_ value: String) -> String {
        value.replacingScalars { ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"][$0] }
    }
}

extension ProviderFigure {
    /// The statistic as a metric. Names of later versions become gauges without an explanation.
    ///
    /// The provider chooses the name. Characters that the format does not allow become underscores, because a line break
    /// would begin another metric.
    package var family: MetricFamily {
        let name =
            "keyshare_"
            + String(
                name.unicodeScalars.map { scalar in
                    scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                        ? Character(scalar) : "_"
                })
        let isCounter = Self.counters.contains(self.name)
        return MetricFamily(
            isCounter ? name + "_total" : name, isCounter ? .counter : .gauge,
            Self.explanations[self.name] ?? "A statistic of the provider.",
            [MetricSample(value: Double(value))])
    }

    private static let counters: Set<String> = [
        "answers", "refused-requests", "refused-connections", "abandoned-connections",
    ]

    private static let explanations: [String: String] = [
        "uptime-seconds": "Seconds since the provider started.",
        "memory-bytes": "The memory of the process.",
        "peak-memory-bytes": "The largest memory of the process so far.",
        "connections": "Open connections.",
        "answers": "Replies that were sent.",
        "look-ups-under-way": "Lookups that are running.",
        "look-ups-waiting": "Lookups that wait for a thread.",
        "makings-under-way": "Exports of files and archives that are running.",
        "makings-waiting": "Exports of files and archives that wait for a thread.",
        "key-openings": "Keys that are being opened; most of these wait for the user.",
        "uses-under-way": "Uses of open keys that are running.",
        "uses-waiting": "Uses of open keys that wait for a thread.",
        "content-bytes": "Content that is kept for connections.",
        "unsent-bytes": "Bytes of replies that wait for peers.",
        "refused-requests": "Requests that were refused because of a limit.",
        "refused-connections": "Connections that were refused or closed because of a limit.",
        "abandoned-connections": "Connections that their peers closed before they were served.",
    ]
}
