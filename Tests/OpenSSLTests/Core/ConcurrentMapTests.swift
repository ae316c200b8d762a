import Foundation
import OpenSSL
import StandardExtensions
import Testing

@Suite("Transforming elements concurrently", .timeLimit(.minutes(10)))
struct ConcurrentMapTests {
    @Test(
        "For every width, the results are in the order of the elements, and the first error is thrown"
    )
    func concurrentMap() async throws {
        for width in [0, 1, 3, 100] {
            #expect(try await (0..<20).concurrentMap(width: width) { $0 * 2 } == (0..<20).map { $0 * 2 })
        }
        #expect(try await [Int]().concurrentMap(width: 4) { $0 }.isEmpty)
        await #expect(throws: CertificateError(.missing, "")) {
            try await (0..<20).concurrentMap(width: 4) { number in
                if number == 7 { throw CertificateError(.missing, "") }
                return number
            }
        }
    }

    @Test("A random UUID has the version and the variant of random UUIDs")
    func identifiers() {
        var random = RandomSource.seeded(Seed("uuid")).generator()
        for _ in 0..<20 {
            let bytes = UUID(using: &random).uuid
            #expect(bytes.6 >> 4 == 4 && bytes.8 >> 6 == 2)
        }
    }
}
