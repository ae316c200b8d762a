package import KeyShareProvider
internal import SecretMemory
package import Foundation
package import OpenSSL

/// Where a run of provisioning gets its numbers, so that the same request goes on where a run was interrupted.
///
/// From a seed everything is the seed's. Without one, what tells identities apart (serial numbers, names) comes
/// from a secret that the keychain keeps until the run is over, and keys come from the system.
package struct ProvisioningSources: Sendable {
    /// Serial numbers, names and persons.
    package let drawing: RandomSource
    /// Keys and signatures.
    package let keys: RandomSource
    /// The authorities, which runs from the same seed share.
    package let authorities: RandomSource
    /// The moment that the request counts from: the one it had when the run began.
    package let date: Date
    private let name: String?

    /// The sources of a run.
    ///
    /// - Parameters:
    ///   - seed: nil for a random run.
    ///   - purpose: tells runs of the same request apart that do different things.
    ///   - date: the moment that the request counts from; nil for now, which an interrupted run remembers.
    ///   - fingerprint: names what is asked for at a moment; where the moment is not fixed the clock chose it,
    ///     and another one must give the same name.
    /// - Throws: `KeychainError`, and what `fingerprint` throws.
    init(
        in store: ProviderStore, seed: Seed?, purpose: String, at date: Date?,
        fingerprint: (_ date: Date, _ isFixed: Bool) throws -> String
    ) throws {
        if let seed {
            self.date = date ?? Self.yearStart(Date())
            let part = seed.child(purpose + (try fingerprint(self.date, true)))
            (drawing, keys, authorities, name) = (.seeded(part), .seeded(part), .seeded(seed), nil)
            return
        }
        let now = Date()
        let name = purpose + (try fingerprint(date ?? now, date != nil))
        let note = try store.unfinishedRun(name) {
            var random = RandomSource.system.generator()
            let secret = (0..<4).map { _ in String(UInt64.random(in: 0 ... .max, using: &random), radix: 16) }
            return SecretBytes(utf8: "\(Int64(now.timeIntervalSince1970)) \(secret.joined())")
        }
        let text = unsafe note.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        let began = text.split(separator: " ").first.flatMap { Double($0) } ?? now.timeIntervalSince1970
        self.date = date ?? Date(timeIntervalSince1970: began)
        (drawing, keys, authorities, self.name) = (.seeded(Seed(text)), .system, .system, name)
    }

    /// Says that the run is over, so that the same request starts a new one.
    ///
    /// - Throws: `KeychainError`.
    package func finish(in store: ProviderStore) throws {
        if let name { try store.finishRun(name) }
    }

    /// What a seeded run counts from where no date is given: a moment that is the same all year.
    package static func yearStart(_ date: Date) -> Date {
        let calendar = Calendar.utc
        return calendar.date(from: calendar.dateComponents([.year], from: date)) ?? date
    }
}
