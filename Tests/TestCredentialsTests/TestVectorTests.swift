@testable import TestCredentials
import Fixtures
import Foundation
import OpenSSL
import Testing

import KeyShareProvider

@Suite("Test vectors")
struct TestVectorTests {
    @Test("The suite of the fixtures' seed is the committed fixtures, byte for byte")
    func fixturesComeOutAgain() async throws {
        let date = try Date(Fixtures.manifest.date, strategy: .iso8601)
        let suite = try await TestVectorSuite(
            at: date, password: "Test material only", from: .seeded(Seed("1")), width: 2)
        for file in suite.files {
            #expect(try Fixtures.bytes(of: file.name) == file.bytes, "\(file.name)")
        }
        #expect(suite.files.count == Fixtures.manifest.files.count + 3)
    }

    @Test("Each test vector has a name of its own, a sentence, and the behaviour of a correct consumer")
    func areDescribed() {
        let all = TestVector.sound + TestVector.defective
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(TestVector.sound.count == 30)
        #expect(TestVector.defective.count == 73)
        for vector in all {
            #expect(vector.summary.hasSuffix("."))
            #expect(!vector.expectedBehaviour.isEmpty)
            #expect(vector.name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" })
        }
    }

    @Test("A defective test vector is found by its name")
    func areFound() {
        #expect(TestVector.defective(named: "expired")?.expectation.verifying == 7)
        #expect(TestVector.defective(named: "signature-modern") == nil)
    }
}
