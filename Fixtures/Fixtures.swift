package import Foundation
package import TestVectors

/// Valid and defective test credentials, with the behaviour of a correct consumer for each. `scripts/fixtures`
/// regenerates them, byte for byte.
///
/// Nothing here is secret: the keys are derived from a public seed.
package enum Fixtures {
    /// The contents of `manifest.json`, which is written by `faults --write`.
    package typealias Manifest = TestVectorSuite.Manifest
    /// The entry of one file in the manifest.
    package typealias Entry = TestVectorSuite.Entry

    /// The manifest. If it cannot be read, it contains no files, and a test fails.
    package static let manifest: Manifest =
        (try? JSONDecoder().decode(Manifest.self, from: Data(contentsOf: url(of: "manifest.json"))))
        ?? Manifest(date: "", trust: "", revocations: "", vectors: [])

    /// The entry of a file; nil if the manifest does not contain the file.
    package static func entry(_ file: String) -> Entry? {
        manifest.vectors.first { $0.file == file }
    }

    /// The location of a file.
    package static func url(of file: String) -> URL {
        (Bundle.module.resourceURL ?? Bundle.module.bundleURL).appendingPathComponent("Files")
            .appendingPathComponent(file)
    }

    /// The bytes of a file.
    ///
    /// - Throws: The error of the file system.
    package static func bytes(of file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: url(of: file)))
    }
}
