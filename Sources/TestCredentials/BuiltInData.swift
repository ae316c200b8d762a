internal import Foundation

/// Reads data files that are embedded in a module's code, such as those in `Data/Profiles`.
package enum BuiltInData {
    /// Reads a data file. If this fails, the process stops with the file's name.
    ///
    /// An unreadable file is a bug in this package, which the first test detects. Continuing without the file would
    /// hide the bug.
    package static func read<Value>(_ file: String, _ read: () throws -> Value) -> Value {
        do {
            return try read()
        } catch {
            fatalError("the built-in file \(file) cannot be read: \(error)")
        }
    }
}
