@testable import OpenSSL
import TestSupport
import Testing

@Suite("Damaged PKCS #12 files", .timeLimit(.minutes(10)))
struct DamageTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)

    @Test("A PKCS #12 file that is truncated at any byte is malformed")
    func truncation() throws {
        let bytes = try PKCS12Samples.written()
        for count in 0..<bytes.count {
            #expect(PKCS12.inspect(Array(bytes[..<count]), password: password).verdict == .malformed)
        }
    }

    @Test("A BER file of indefinite length that is truncated at any byte never passes its MAC")
    func openEnd() throws {
        let bytes = try PKCS12Samples.written()
        for count in 4..<bytes.count {
            let cut = [0x30, 0x80] + bytes[4..<count] + [0, 0]
            let report = PKCS12.inspect(Array(cut), password: password)
            // A file that is truncated exactly before the MAC is a complete file without a MAC.
            #expect(report.verdict != .ok || report.contents.mac == nil)
        }
    }

    @Test(
        "Each of 2,000 seeded mutants has a verdict, and only those with an intact AuthenticatedSafe can be opened"
    )
    func mutants() throws {
        let files = try [
            PKCS12Samples.written(.modern.iterations(1), chain: [PKCS12Samples.second.certificate]),
            PKCS12Samples.written(.compatible.iterations(1)),
        ]
        var generator = Seed("0x5EED").generator()
        for number in 0..<2_000 {
            var mutant = files[number % files.count]
            Damage.mutate(&mutant, using: &generator)
            let report = PKCS12.inspect(mutant, password: password)
            guard report.verdict == .ok, report.contents.mac != nil else { continue }
            let isWhole = report.contents.identities.first?.certificate == PKCS12Samples.first.certificate
            #expect(isWhole, "mutant \(number)")
        }
    }
}

/// Random damage to files, the same for each seed.
enum Damage {
    /// Changes, removes, inserts or repeats bytes in one to four places.
    static func mutate(_ mutant: inout [UInt8], using generator: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            change(&mutant, using: &generator)
        }
    }

    private static func change(_ bytes: inout [UInt8], using generator: inout SeededGenerator) {
        guard let index = bytes.indices.randomElement(using: &generator) else { return }
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 2: bytes.remove(at: index)
        case 3: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
        default:
            let end = min(bytes.count, index + Int.random(in: 1...32, using: &generator))
            bytes.append(contentsOf: bytes[index..<end])
        }
    }
}
