package import Foundation

/// Test credentials, sound and broken, with what a correct consumer makes of each; `scripts/fixtures` remakes
/// them byte for byte.
///
/// Nothing here is secret: the keys follow from a seed that everybody knows.
package enum Fixtures {
    /// What the manifest says of one file.
    package struct Entry: Sendable, Decodable, CustomStringConvertible {
        /// Exit codes of the consumer's commands.
        package struct Expectation: Sendable, Decodable {
            /// Of `import --file`.
            package let importing: Int32
            /// The types for `--require`; none where the import goes without.
            package let requiring: [String]
            /// How many identities the import brings.
            package let identities: Int
            /// Of `verify` afterwards, at the manifest's date; nil where nothing was imported.
            package let verifying: Int32?
            /// The codes of what `inspect` finds odd.
            package let findings: [String]
        }

        package let file: String
        package let password: String
        package let isFault: Bool
        package let sentence: String
        package let duty: String
        package let expectation: Expectation

        package var description: String { file }
    }

    /// What stands in `manifest.json`.
    package struct Manifest: Sendable, Decodable {
        /// The moment for which the expectations hold, ISO 8601.
        package let date: String
        /// The authorities, PEM.
        package let trust: String
        /// Their revocation lists, PEM.
        package let revocations: String
        package let files: [Entry]
    }

    /// The manifest; without files where it cannot be read, which a test notices.
    package static let manifest: Manifest =
        (try? JSONDecoder().decode(Manifest.self, from: Data(contentsOf: url(of: "manifest.json"))))
        ?? Manifest(date: "", trust: "", revocations: "", files: [])

    /// The entry of a file; nil where there is none.
    package static func entry(_ file: String) -> Entry? {
        manifest.files.first { $0.file == file }
    }

    /// Where a file lies.
    package static func url(of file: String) -> URL {
        (Bundle.module.resourceURL ?? Bundle.module.bundleURL).appendingPathComponent("Files")
            .appendingPathComponent(file)
    }

    /// The bytes of a file.
    ///
    /// - Throws: what the file system says.
    package static func bytes(of file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: url(of: file)))
    }
}
