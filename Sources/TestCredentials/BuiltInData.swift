internal import Foundation

/// The data files that are embedded in the module's code: `Data/Profiles` and `Data/Scenarios`.
enum BuiltInData {
    /// Reads a data file. If this fails, the process stops with the file's name.
    ///
    /// An unreadable file is a bug in this package, which the first test detects. Continuing without the file would
    /// hide the bug.
    static func read<Value>(_ file: String, _ read: () throws -> Value) -> Value {
        do {
            return try read()
        } catch {
            fatalError("the built-in file \(file) cannot be read: \(error)")
        }
    }
}
