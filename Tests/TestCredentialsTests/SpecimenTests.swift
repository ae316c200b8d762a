@testable import TestCredentials
import Fixtures
import Foundation
import OpenSSL
import Testing

import KeyShareProvider

@Suite("Test credentials by name")
struct SpecimenTests {
    @Test("are the committed fixtures, byte for byte, when made from the fixtures' seed")
    func fixturesComeOutAgain() async throws {
        let date = try Date(Fixtures.manifest.date, strategy: .iso8601)
        let collection = try await SpecimenCollection(
            at: date, password: "Test material only", from: .seeded(Seed("1")), width: 2)
        for file in collection.files {
            #expect(try Fixtures.bytes(of: file.name) == file.bytes, "\(file.name)")
        }
        #expect(collection.files.count == Fixtures.manifest.files.count + 3)
    }

    @Test("have names of their own, a sentence, and a duty")
    func areDescribed() {
        let all = Specimen.sound + Specimen.faults
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Specimen.faults.count >= 30)
        for specimen in all {
            #expect(specimen.sentence.hasSuffix("."))
            #expect(!specimen.duty.isEmpty)
            #expect(specimen.name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" })
        }
    }

    @Test("are found by name")
    func areFound() {
        #expect(Specimen.fault(named: "expired")?.expectation.verifying == 7)
        #expect(Specimen.fault(named: "signature-modern") == nil)
    }
}
