import Foundation
import Testing

@testable import KeySharing

@Suite("AliasPick", .timeLimit(.minutes(10)))
struct AliasPickTests {
    private static let recovered = (1...4).map { "Purebred Recovered #\($0)" }

    @Test("A pick returns the expected alias, or the reason why no alias matches")
    func vectors() throws {
        let twelve = try AliasSamples.twelve()
        let four = try AliasSamples.four()
        let short = try AliasSamples.entry(
            "Aa", .identity, "2026-01-01", "2029-01-01", warnings: [.identityInsteadOfPIV])
        let twin = try AliasSamples.entry("Other signature", .digitalSignature, "2025-12-31", "2028-12-31")
        let unordered = try AliasSamples.entry(
            "Aa", .identity, "2026-06-01", "2029-06-01", warnings: [.nameOrder, .identityInsteadOfPIV])
        let piv = "Purebred PIV Authentication Certificate"
        let signature = "Purebred Digital Signature Certificate"
        let table: [(String, [AliasEntry], String, AliasPick.Purpose, [String], String?)] = [
            ("S1", twelve, "2026-11-22", .authentication, [piv], nil),
            ("S2", twelve, "2026-11-22", .signing, [signature], nil),
            ("S3", twelve, "2026-11-22", .decryption, Self.recovered, nil),
            ("S4", twelve, "2024-01-01", .signing, [signature + " #2"], nil),
            (
                "S5", twelve, "2030-01-01", .authentication, [],
                "all 4 certificates of the type PIV Authentication or Identity have expired"
            ),
            ("S6", twelve, "2030-01-01", .decryption, Self.recovered, nil),
            ("S7", four, "2018-01-01", .authentication, [piv], nil),
            ("S8", four, "2018-01-01", .device, [], "no certificate has the type Device"),
            ("S9", twelve + [short], "2026-11-22", .authentication, [piv], nil),
            ("S10", twelve + [twin], "2026-11-22", .signing, ["Other signature"], nil),
            ("S11", twelve + [unordered], "2026-11-22", .signing, [signature], nil),
        ]
        for (name, entries, date, purpose, aliases, reason) in table {
            let pick = AliasPick(purpose, from: entries, at: try AliasSamples.date(date))
            #expect(pick.aliases == aliases, "\(name)")
            #expect(pick.reason == reason, "\(name)")
        }
    }

    @Test("A pick warns about aliases that another type may hide")
    func suspects() throws {
        let date = try AliasSamples.date("2018-01-01")
        let device = AliasPick(.device, from: try AliasSamples.four(), at: date)
        #expect(
            device.suspects == [
                "Purebred Device Certificate": [.otherInsteadOfDevice],
                "Purebred PIV Authentication Certificate": [.identityInsteadOfPIV],
            ])
        let login = AliasPick(.authentication, from: try AliasSamples.four(), at: date)
        #expect(login.suspects == ["Purebred Device Certificate": [.otherInsteadOfDevice]])
        #expect(AliasPick(.signing, from: try AliasSamples.twelve(), at: date).suspects.isEmpty)
    }

    @Test("The reason counts expired certificates and those that are not yet valid")
    func reasons() throws {
        let twelve = try AliasSamples.twelve()
        func reason(_ entries: some Sequence<AliasEntry>, _ date: String) throws -> String? {
            AliasPick(.signing, from: Array(entries), at: try AliasSamples.date(date)).reason
        }
        #expect(
            try reason(twelve.prefix(3), "2030-01-01")
                == "the only certificate of the type Digital Signature has expired")
        #expect(
            try reason(twelve.prefix(3), "2000-01-01")
                == "the only certificate of the type Digital Signature is not yet valid")
        #expect(
            try reason(twelve, "2000-01-01")
                == "none of the 4 certificates of the type Digital Signature is valid: 0 expired, 4 not yet valid"
        )
        #expect(try reason([], "2000-01-01") == "no certificate has the type Digital Signature")
    }

    /// An independent implementation of the pick, which removes all other candidates one by one.
    private static func expected(
        _ purpose: AliasPick.Purpose, _ entries: [AliasEntry], at date: Date
    ) -> [String] {
        func rows(_ type: AliasType) -> [(alias: [UInt8], from: Date, until: Date)] {
            entries.compactMap { entry in
                guard let certificate = entry.certificate, certificate.type == type else { return nil }
                return (Array(entry.alias.utf8), certificate.notBefore, certificate.notAfter)
            }
        }
        func best(_ type: AliasType) -> [String] {
            var best: (alias: [UInt8], from: Date, until: Date)?
            for row in rows(type) where !(row.until < date || row.from > date) {
                if let other = best, row.from < other.from { continue }
                if let other = best, row.from == other.from, other.alias.lexicographicallyPrecedes(row.alias)
                {
                    continue
                }
                best = row
            }
            return best.map { [String(decoding: $0.alias, as: UTF8.self)] } ?? []
        }
        switch purpose {
        case .authentication:
            return best(.pivAuthentication).isEmpty ? best(.identity) : best(.pivAuthentication)
        case .signing: return best(.digitalSignature)
        case .device: return best(.device)
        case .decryption:
            return rows(.encryption).map(\.alias).sorted { $0.lexicographicallyPrecedes($1) }
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test(
        "The pick of each purpose follows the rules in two thousand stores",
        arguments: AliasPick.Purpose.allCases)
    func sweep(purpose: AliasPick.Purpose) throws {
        var state: UInt64 = 31
        func next(_ count: Int) -> Int {
            // The multiplier and the increment of Knuth's MMIX generator.
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        var picked = 0
        for _ in 0..<2_000 {
            let entries = (0..<next(7)).map { index in
                let start = Double(next(4))
                return AliasEntry(
                    alias: "\(["a", "B", "é", "e\u{301}"][next(4)])\(index)",
                    certificate: next(8) == 0
                        ? nil
                        : AliasEntry.Certificate(
                            der: [], type: AliasType.allCases[next(6)],
                            notBefore: Date(timeIntervalSince1970: start),
                            notAfter: Date(timeIntervalSince1970: start + Double(next(3)))))
            }
            let date = Date(timeIntervalSince1970: Double(next(6)))
            let pick = AliasPick(purpose, from: entries, at: date)
            #expect(pick.aliases == Self.expected(purpose, entries, at: date))
            #expect((pick.obstacle == nil) == !pick.aliases.isEmpty)
            picked += pick.aliases.count
        }
        #expect(picked > 100)
    }
}
