package import KeyShareProvider
package import Foundation
package import OpenSSL

/// A request with where its numbers come from.
package struct ProvisioningRun: Sendable {
    /// Where serial numbers, keys and the rest come from.
    package let sources: ProvisioningSources
    /// The request, with the dates it had when the run began.
    package let request: ProvisioningRequest

    /// A run of a request.
    ///
    /// - Parameters:
    ///   - seed: nil for a random run.
    ///   - purpose: tells runs of the same request apart that do different things.
    ///   - date: the moment that the request counts from; nil for now, which an interrupted run remembers.
    ///   - request: makes the request for the moment.
    /// - Throws: `KeychainError`, and what `request` throws.
    package init(
        in store: ProviderStore, seed: Seed?, purpose: String = "provision", at date: Date?,
        request: (Date) throws -> ProvisioningRequest
    ) throws {
        sources = try ProvisioningSources(in: store, seed: seed, purpose: purpose, at: date) {
            date, isFixed in
            try request(date).fingerprint(withStarts: isFixed)
        }
        self.request = try request(sources.date)
    }
}
