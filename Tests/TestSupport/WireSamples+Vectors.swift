import Foundation

extension WireSamples {
    /// A line of the vectors that is not a name and hexadecimal digits.
    package struct MalformedVector: Error {
        /// The line.
        package let line: String
    }

    /// The frozen bytes of a version, by the name of the sample.
    ///
    /// - Throws: `MalformedVector`; an error of Foundation if the file cannot be read.
    package static func vectors(of version: Int = 1) throws -> [String: [UInt8]] {
        let file = PackageFolder.path + "/Tests/KeyShareWireTests/Vectors/version-\(version).txt"
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        var vectors: [String: [UInt8]] = [:]
        for line in lines where !line.hasPrefix("#") {
            let parts = line.split(separator: " ")
            guard parts.count == 2 else { throw MalformedVector(line: String(line)) }
            let digits = Array(parts[1])
            vectors[String(parts[0])] = try stride(from: 0, to: digits.count, by: 2).map { place in
                guard let byte = UInt8(String(digits[place..<min(place + 2, digits.count)]), radix: 16) else {
                    throw MalformedVector(line: String(line))
                }
                return byte
            }
        }
        return vectors
    }
}
