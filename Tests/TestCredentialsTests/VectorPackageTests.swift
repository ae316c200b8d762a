import Foundation
import OpenSSL
import TestVectors
import Testing

@Suite("The test vectors in one document", .timeLimit(.minutes(10)))
struct VectorPackageTests {
    private static let names = [
        "signature-modern", "absent-password", "key-only", "garbage", "two-types", "empty-zip", "no-mac",
    ]

    private func package(seed: String = "1") async throws -> VectorPackage {
        let vectors = TestVector.all.filter { Self.names.contains($0.name) }
        let suite = try await TestVectorSuite(
            vectors,
            TestVectorSuite.Settings(
                at: Date(timeIntervalSince1970: 1_767_225_600), password: "secret",
                from: .seeded(Seed(seed))), width: 2)
        return VectorPackage(suite, of: vectors)
    }

    @Test("The same seed and date produce the same bytes, and another seed produces different bytes")
    func isReproducible() async throws {
        let first = try await package().json()
        #expect(try await package().json() == first)
        #expect(try await package(seed: "2").json() != first)
    }

    @Test("A test has the result and the identities of its file, and archives are not in the document")
    func tests() async throws {
        let package = try await package()
        let tests = package.testGroups.flatMap(\.tests)
        #expect(package.numberOfTests == 6 && tests.count == 6)
        let results = Dictionary(uniqueKeysWithValues: tests.map { ($0.name, $0.result) })
        #expect(
            results == [
                "signature-modern": .valid, "absent-password": .valid, "two-types": .valid,
                "key-only": .acceptable, "garbage": .invalid, "no-mac": .invalid,
            ])
        let counts = Dictionary(uniqueKeysWithValues: tests.map { ($0.name, $0.identities.count) })
        #expect(counts["signature-modern"] == 1 && counts["two-types"] == 2 && counts["no-mac"] == 0)
        #expect(package.testGroups.map(\.profile).contains("unreadable"))
        #expect(package.testGroups.first?.profile == "modern")
        let flags = Set(tests.flatMap(\.flags))
        #expect(package.notes.keys.sorted() == flags.sorted())
    }

    @Test("For a file without a password, the field password is null, not empty or missing")
    func absentPassword() async throws {
        let document = try JSONSerialization.jsonObject(with: Data(try await package().json()))
        let groups = try #require((document as? [String: Any])?["testGroups"] as? [[String: Any]])
        let tests = groups.flatMap { $0["tests"] as? [[String: Any]] ?? [] }
        let absent = try #require(tests.first { $0["name"] as? String == "absent-password" })
        #expect(absent["password"] is NSNull)
        let usual = try #require(tests.first { $0["name"] as? String == "signature-modern" })
        #expect(usual["password"] as? String == "secret")
    }

    @Test("Every flag of a test vector has a note, and every note belongs to a flag of some test vector")
    func flags() {
        let flags = TestVector.all.filter { !$0.groups.contains(.archives) }.flatMap(\.flags)
        #expect(Set(flags) == Set(VectorNote.all.keys))
        for vector in TestVector.all {
            #expect(!vector.flags.isEmpty && Set(vector.flags).count == vector.flags.count)
        }
        let usual = TestVector.all.filter { $0.flags == ["Usual"] && $0.groups.contains(.faults) }
        #expect(usual.allSatisfy { $0.groups.contains(.archives) }, "\(usual.map(\.name))")
    }
}
