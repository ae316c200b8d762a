import Fixtures
import Foundation
import OpenSSL
import TestSupport
@testable import TestVectors
import Testing

import KeyShareProvider

@Suite("Test vectors", .timeLimit(.minutes(10)))
struct TestVectorTests {
    @Test("The fixtures' seed produces the committed fixtures, byte for byte")
    func fixturesComeOutAgain() async throws {
        let date = try Date(Fixtures.manifest.date, strategy: .iso8601)
        let suite = try await TestVectorSuite(
            TestVector.all,
            .init(at: date, password: TestVectorSuite.usualPassword, from: .seeded(Seed("1"))), width: 2)
        for file in suite.files {
            #expect(try Fixtures.bytes(of: file.name) == file.bytes, "\(file.name)")
        }
        #expect(suite.files.count == Fixtures.manifest.vectors.count + 3)
    }

    @Test("Each test vector has a unique name, a description, and the behaviour of a correct consumer")
    func areDescribed() {
        let all = TestVector.all
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(TestVector.all.count - TestVector.defective.count == 213)
        #expect(TestVector.defective.count == 205)
        for vector in all {
            #expect(vector.summary.hasSuffix("."))
            #expect(!vector.expectedBehaviour.isEmpty)
            #expect(vector.reason.hasSuffix("."))
            #expect(!vector.groups.isEmpty)
            #expect(vector.name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" })
        }
    }

    @Test("Every defective test vector has its own reason")
    func haveReasons() {
        let usual = TestVector.sound.first?.reason
        let unexplained = TestVector.defective.filter { $0.reason == usual }
        #expect(unexplained.map(\.name) == [])
    }

    @Test("The manifest conforms to its schema")
    func schema() throws {
        struct Schema: Decodable {
            struct Definition: Decodable {
                let required: [String]?
                let properties: [String: Property]?
            }
            struct Property: Decodable { let `const`: Int? }
            let required: [String]
            let properties: [String: Property]
            let definitions: [String: Definition]
            private enum CodingKeys: String, CodingKey {
                case required, properties
                case definitions = "$defs"
            }
        }
        let path = PackageFolder.path + "/docs/manifest.schema.json"
        let schema = try JSONDecoder().decode(Schema.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        let manifest = try #require(
            JSONSerialization.jsonObject(with: Data(try Fixtures.bytes(of: "manifest.json")))
                as? [String: Any])
        #expect(Set(manifest.keys) == Set(schema.required))
        #expect(Set(manifest.keys) == Set(schema.properties.keys))
        #expect(schema.properties["version"]?.const == TestVectorSuite.Manifest.currentVersion)
        let definition = try #require(schema.definitions["vector"])
        let (required, known) = (Set(definition.required ?? []), Set((definition.properties ?? [:]).keys))
        for vector in try #require(manifest["vectors"] as? [[String: Any]]) {
            #expect(required.subtracting(vector.keys).isEmpty, "\(vector)")
            #expect(Set(vector.keys).subtracting(known).isEmpty, "\(vector)")
        }
    }

    @Test("A defective test vector is found by its name")
    func areFound() {
        #expect(TestVector.defective(named: "expired")?.expectation.verifying == 7)
        #expect(TestVector.defective(named: "signature-modern") == nil)
    }
}
