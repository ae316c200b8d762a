internal import Foundation
internal import OpenSSL
package import TestCredentials

extension ProvisioningEstimate {
    /// Estimates the run of a scenario.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - processors: The number of keys that are generated in parallel.
    package init(_ run: ScenarioRun, processors: Int = ProcessInfo.processInfo.activeProcessorCount) {
        var keys: [KeyAlgorithm: Int] = [:]
        for entry in run.entries {
            for algorithm in entry.run.specs.map(\.algorithm) + entry.defects.map(\.algorithm) {
                keys[algorithm, default: 0] += entry.run.request.personCount
            }
        }
        self.init(
            keys: keys, certificates: keys.values.reduce(0, +), processors: processors, source: .scenario)
    }
}
