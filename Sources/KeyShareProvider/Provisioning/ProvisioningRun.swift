package import Foundation
package import OpenSSL

/// Where a run of provisioning gets its numbers, so that the same request goes on where a run was interrupted.
///
/// From a seed everything is the seed's. Without one, what tells identities apart (serial numbers, names) comes
/// from a secret that the key chain keeps until the run is over, and keys come from the system.
package struct ProvisioningRun: Sendable {
    /// Serial numbers, names and persons.
    package let drawing: RandomSource
    /// Keys and signatures.
    package let keys: RandomSource
    /// The authorities, which runs from the same seed share.
    package let authorities: RandomSource
    /// The request, with the dates it had when the run began.
    package let request: ProvisioningRequest
    private let name: String?

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
        if let seed {
            self.request = try request(date ?? Self.yearStart(Date()))
            let part = seed.child(purpose + self.request.fingerprint(withStarts: true))
            (drawing, keys, authorities, name) = (.seeded(part), .seeded(part), .seeded(seed), nil)
            return
        }
        let now = Date()
        let fingerprint = purpose + (try request(date ?? now)).fingerprint(withStarts: date != nil)
        let note = try store.unfinishedRun(fingerprint) {
            var random = SystemRandomNumberGenerator()
            let secret = (0..<4).map { _ in String(UInt64.random(in: 0 ... .max, using: &random), radix: 16) }
            return SecretBytes(utf8: "\(Int64(now.timeIntervalSince1970)) \(secret.joined())")
        }
        let text = unsafe note.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        let began = text.split(separator: " ").first.flatMap { Double($0) } ?? now.timeIntervalSince1970
        self.request = try request(date ?? Date(timeIntervalSince1970: began))
        (drawing, keys, authorities, name) = (.seeded(Seed(text)), .system, .system, fingerprint)
    }

    /// Says that the run is over, so that the same request starts a new one.
    ///
    /// - Throws: `KeychainError`.
    package func finish(in store: ProviderStore) throws {
        if let name { try store.finishRun(name) }
    }

    /// What a seeded run counts from where no date is given: a moment that is the same all year.
    private static func yearStart(_ date: Date) -> Date {
        let calendar = Calendar.utc
        return calendar.date(from: calendar.dateComponents([.year], from: date)) ?? date
    }
}
