internal import Foundation

/// The data files that are embedded in the module's code: `Data/Profiles` and `Data/Scenarios`.
enum BuiltInData {
    /// Reads a data file and stops the process where that fails, with the file's name.
    ///
    /// A file that cannot be read is a mistake in this package, never in what a user gave; the first test that runs
    /// finds it. Going on without the file would hide it.
    static func read<Value>(_ file: String, _ read: () throws -> Value) -> Value {
        do {
            return try read()
        } catch {
            fatalError("the built-in file \(file) cannot be read: \(error)")
        }
    }
}
