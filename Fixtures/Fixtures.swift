package import Foundation
package import TestVectors

/// Test credentials, sound and broken, with what a correct consumer makes of each; `scripts/fixtures` remakes
/// them byte for byte.
///
/// Nothing here is secret: the keys follow from a seed that everybody knows.
package enum Fixtures {
    /// The contents of `manifest.json`, which is written by `faults --write`.
    package typealias Manifest = TestVectorSuite.Manifest
    /// The entry of one file in the manifest.
    package typealias Entry = TestVectorSuite.Entry

    /// The manifest. It has no files where it cannot be read, which a test notices.
    package static let manifest: Manifest =
        (try? JSONDecoder().decode(Manifest.self, from: Data(contentsOf: url(of: "manifest.json"))))
        ?? Manifest(date: "", trust: "", revocations: "", vectors: [])

    /// The entry of a file; nil where there is none.
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
    /// - Throws: the error of the file system.
    package static func bytes(of file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: url(of: file)))
    }
}
