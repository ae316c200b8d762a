import Foundation

@testable import KeySharing

/// Entries of a key store for tests of alias sharing.
enum AliasSamples {
    /// Returns midnight UTC at the start of a day such as `2026-11-22`.
    static func date(_ text: some StringProtocol) throws -> Date {
        try Date("\(text)T00:00:00Z", strategy: .iso8601)
    }

    /// Returns an entry whose certificate consists of 1,000 octets that depend on the alias.
    static func entry(
        _ alias: String, _ type: AliasType, _ notBefore: some StringProtocol, _ notAfter: some StringProtocol,
        warnings: [AliasClassification.Warning] = []
    ) throws -> AliasEntry {
        let seed = Array(alias.utf8)
        return AliasEntry(
            alias: alias,
            certificate: AliasEntry.Certificate(
                der: (0..<1_000).map { seed[$0 % seed.count] &+ UInt8($0 % 251) }, type: type,
                warnings: warnings, notBefore: try date(notBefore), notAfter: try date(notAfter)))
    }

    /// Four generations of signature, authentication and encryption identities, as `provision` creates them, with the
    /// aliases of `alias add --all`. The entries are not sorted.
    static func twelve() throws -> [AliasEntry] {
        try (1...4).flatMap { generation in
            let notBefore = "\(2028 - 3 * generation)-12-31"
            let notAfter = "\(2031 - 3 * generation)-12-31"
            let suffix = generation == 1 ? "" : " #\(generation)"
            return [
                try entry("Purebred Recovered #\(generation)", .encryption, notBefore, notAfter),
                try entry(
                    "Purebred PIV Authentication Certificate" + suffix, .pivAuthentication, notBefore,
                    notAfter),
                try entry(
                    "Purebred Digital Signature Certificate" + suffix, .digitalSignature, notBefore, notAfter),
            ]
        }
    }

    /// The aliases of ``twelve()`` in the order of every query.
    static let twelveAliases =
        ["Purebred Digital Signature Certificate", "Purebred PIV Authentication Certificate"].flatMap {
            name in
            ["", " #2", " #3", " #4"].map { name + $0 }
        } + (1...4).map { "Purebred Recovered #\($0)" }

    /// The four identities that come with the sample provider.
    static func four() throws -> [AliasEntry] {
        [
            try entry(
                "Purebred Digital Signature Certificate", .digitalSignature, "2016-06-07", "2021-06-14"),
            try entry("Purebred Recovered #1", .encryption, "2016-01-19", "2021-06-14"),
            try entry(
                "Purebred PIV Authentication Certificate", .identity, "2016-06-07", "2019-06-08",
                warnings: [.identityInsteadOfPIV]),
            try entry(
                "Purebred Device Certificate", .other, "2016-06-07", "2026-06-05",
                warnings: [.otherInsteadOfDevice]),
        ]
    }

    /// A secret key, which has no certificate, between the fourth and the fifth row of ``twelve()``.
    static let secretKey = AliasEntry(alias: "Purebred M", certificate: nil)
}
