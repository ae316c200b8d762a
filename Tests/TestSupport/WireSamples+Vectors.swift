import Foundation
import Testing

extension WireSamples {
    /// Reads the frozen bytes of a protocol version, keyed by the name of the sample.
    package static func vectors(of version: Int = 1) throws -> [String: [UInt8]] {
        let file = PackageFolder.path + "/Tests/KeyShareWireTests/Vectors/version-\(version).txt"
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        var vectors: [String: [UInt8]] = [:]
        for line in lines where !line.hasPrefix("#") {
            let parts = line.split(separator: " ")
            try #require(parts.count == 2, "a vector is a name and hex")
            let digits = Array(parts[1])
            vectors[String(parts[0])] = try stride(from: 0, to: digits.count, by: 2).map {
                try #require(UInt8(String(digits[$0..<$0 + 2]), radix: 16))
            }
        }
        return vectors
    }
}
