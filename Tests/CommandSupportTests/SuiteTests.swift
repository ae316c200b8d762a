import Foundation
import TestSupport
import Testing

@Suite("The test suites", .timeLimit(.minutes(10)))
struct SuiteTests {
    @Test("Every suite has a time limit, so a test that hangs fails by name")
    func timeLimits() throws {
        let tests = PackageFolder.path + "/Tests"
        let files = FileManager.default.enumerator(atPath: tests)?.compactMap { $0 as? String } ?? []
        var suites = 0
        for file in files where file.hasSuffix("Tests.swift") {
            let text = try String(contentsOfFile: "\(tests)/\(file)", encoding: .utf8)
            for suite in text.matches(of: /(?m)^@Suite(?<traits>[\s\S]*?)(?=^(?:struct|final class|actor)\b)/)
            {
                suites += 1
                #expect(suite.traits.contains(".timeLimit("), "\(file)")
            }
        }
        #expect(suites > 200)
    }
}
