internal import Foundation
package import OpenSSL

/// The expected time of a run, which mostly depends on its keys: generating an RSA key is thousands of times slower
/// than generating an elliptic-curve key.
package struct ProvisioningEstimate: Sendable {
    /// The number of keys to generate, by algorithm.
    private let keys: [KeyAlgorithm: Int]
    /// The number of certificates to issue and store.
    private let certificates: Int
    /// The number of processors.
    private let processors: Int
    /// The size of the pool of keys; nil if every identity gets a key of its own.
    private let poolSize: Int?
    /// How the user chooses faster keys.
    private let source: Source

    /// The description of the credentials, which determines how the user chooses faster keys.
    package enum Source: Sendable {
        /// The options of a command.
        case options
        /// The keychain, whose credentials are renewed.
        case renewal
        /// A scenario.
        case scenario
    }

    /// Estimates runs of one command.
    ///
    /// - Parameters:
    ///   - runs: The runs.
    ///   - source: The description of the credentials.
    ///   - processors: The number of keys that are generated in parallel.
    package init(
        _ runs: [ProvisioningRun], of source: Source,
        processors: Int = ProcessInfo.processInfo.activeProcessorCount
    ) {
        var keys: [KeyAlgorithm: Int] = [:]
        for run in runs {
            for spec in run.specs { keys[spec.algorithm, default: 0] += run.request.shardPersonCount }
        }
        let pool = runs.compactMap(\.request.keyPool).max()
        self.init(
            keys: pool.map { pool in keys.mapValues { min(pool, $0) } } ?? keys,
            certificates: keys.values.reduce(0, +), processors: processors, poolSize: pool, source: source)
    }

    /// Creates the estimate of a known amount of work.
    package init(
        keys: [KeyAlgorithm: Int], certificates: Int, processors: Int, poolSize: Int? = nil,
        source: Source = .options
    ) {
        self.keys = keys
        self.source = source
        self.certificates = certificates
        self.processors = max(processors, 1)
        self.poolSize = poolSize
    }

    /// The expected time in seconds.
    ///
    /// - Parameter keyTime: Returns the time to generate one key on one processor, in seconds.
    package func seconds(keyTime: (KeyAlgorithm) -> Double = Self.usualTime) -> Double {
        let work = keys.reduce(0) { $0 + Double($1.value) * keyTime($1.key) }
        return (work + Double(certificates) * Self.certificateTime) / Double(processors)
    }

    /// A warning before a run of more than half a minute: the time, and the alternatives. Nil for a shorter run.
    ///
    /// - Parameter keyTime: Returns the time to generate one key on one processor, in seconds.
    package func warning(keyTime: (KeyAlgorithm) -> Double = Self.measuredTime) -> String? {
        // The times of RSA keys are measured only if they matter.
        guard seconds() > Self.longestSilence / 4 else { return nil }
        var times: [KeyAlgorithm: Double] = [:]
        for algorithm in keys.keys { times[algorithm] = keyTime(algorithm) }
        let expected = seconds { times[$0] ?? 0 }
        guard expected > Self.longestSilence else { return nil }
        let names = keys.sorted { $0.value > $1.value }.map {
            "\(Self.number($0.value)) \($0.key.title) keys"
        }
        let processors = "\(processors) \(processors == 1 ? "processor" : "processors")"
        let text = "about \(Self.words(expected)) for \(names.joined(separator: " and ")) on \(processors)"
        guard !keys.keys.allSatisfy(\.isEllipticCurve), poolSize == nil else { return text }
        let count = keys.values.reduce(0, +)
        let curve = Self(keys: [.p256: count], certificates: certificates, processors: self.processors)
        let curveTime = Self.words(curve.seconds())
        switch source {
        case .renewal: return text + "; --key p256 takes \(curveTime)"
        case .scenario: return text + "; the scenario with \u{201C}key: p256\u{201D} takes \(curveTime)"
        case .options:
            let pool = Self(
                keys: keys.mapValues { min($0, Self.suggestedPool) }, certificates: certificates,
                processors: self.processors)
            return text + "; --key p256 takes \(curveTime), and --key-pool \(Self.suggestedPool) "
                + Self.words(pool.seconds { times[$0] ?? 0 })
        }
    }

    /// The usual time to generate one key, in seconds, on a server processor of 2020.
    package static func usualTime(of algorithm: KeyAlgorithm) -> Double {
        switch algorithm {
        case .rsa(let bits): 0.12 * pow(Double(bits) / 2048, 3.5)
        case .p256: 0.0001
        case .p384: 0.001
        }
    }

    /// The time to generate one key on this machine, in seconds, measured with a few keys within half a second.
    package static func measuredTime(of algorithm: KeyAlgorithm) -> Double {
        guard case .rsa = algorithm else { return usualTime(of: algorithm) }
        let small = KeyAlgorithm.rsa(bits: 2048)
        let clock = ContinuousClock()
        let start = clock.now
        var count = 0
        while count < 2 || (count < 16 && clock.now - start < .milliseconds(500)) {
            guard (try? PrivateKey.generate(small)) != nil else { return usualTime(of: algorithm) }
            count += 1
        }
        let factor = (clock.now - start) / .seconds(1) / Double(count) / usualTime(of: small)
        return usualTime(of: algorithm) * factor
    }

    /// A time in words, in one unit: `20 s`, `6 min`, `3 h`.
    static func words(_ seconds: Double) -> String {
        if seconds < 90 { return "\(max(Int(seconds.rounded()), 1)) s" }
        if seconds < 5400 { return "\(Int((seconds / 60).rounded())) min" }
        return "\(number(Int((seconds / 3600).rounded()))) h"
    }

    private static func number(_ value: Int) -> String {
        value.formatted(.number.locale(Locale(identifier: "en_US")))
    }

    /// The longest run, in seconds, for which no warning is printed.
    private static let longestSilence = 30.0
    /// The processor time in seconds for issuing and storing one certificate.
    private static let certificateTime = 0.003
    private static let suggestedPool = 64
}

extension KeyAlgorithm {
    /// The name of the algorithm in a sentence: `RSA-2048`, `P-256`.
    fileprivate var title: String {
        switch self {
        case .rsa(let bits): "RSA-\(bits)"
        case .p256: "P-256"
        case .p384: "P-384"
        }
    }
}
